"""What a stack costs each month when nobody calls, by what it has; the parameters of the template choose that.

The rule: what a stack has is read from the template, with its conditions; nothing is counted by hand.
"""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.cost import calls, prices
from benchmarks.cost.prices import HOURS
from benchmarks.cost.simulation import WHOLE_PROCESSOR, Assumptions, Step, Usage
from stepwire.background.sweep import INTERVAL
from tests import extras
from tests.template.chosen import Stack, stack

_OF_EXTRAS: Final = extras.parts("monthly")
MOST: Final = {
    "Alarms": "all",
    "MetricsDashboard": "tools",
    "SnapStart": "PublishedVersions",
    **{name: value for part in _OF_EXTRAS for name, value in part.MOST.items()},
}
"""The parameters with which a stack shows most, starts fastest, and has what extras do by themselves."""
OPERATIONS_OF_A_TABLE: Final = 5
"""Metrics that a query for all operations of the table finds in an hour in which each of them fails once."""
_RUN: Final = Assumptions().cold_start  # seconds of CPU time: every run of the schedule starts an instance


def parts(**chosen: str) -> dict[str, float]:
    """Return the monthly cost of an idle stack by part, in dollars."""
    made = stack("iam", **chosen)
    return {
        "the secret that signs what clients keep": prices.SECRET.of(len(made.all_of("AWS::SecretsManager::Secret"))),
        "alarms": prices.ALARM.of(alarm_metrics(made)),
        "the dashboard": prices.DASHBOARD.of(len(made.all_of("AWS::CloudWatch::Dashboard"))),
        "the snapshot of one version": _snapshot(made),
        "the runs of the schedule": _runs(),
        "Lambda's polls of queues": _polls(made),
        **{name: cost_of(made) for part in _OF_EXTRAS for name, cost_of in part.PARTS.items()},
    }


def total(**chosen: str) -> float:
    """Return the monthly cost of an idle stack in dollars."""
    return sum(parts(**chosen).values())


def of_requests(a_day: float) -> float:
    """Return the monthly cost of requests that read nothing, which a connected client with nothing to do sends."""
    requests, nothing = a_day * HOURS / 24, Step((), 0, 0)
    return sum(Usage({nothing: requests}, 0, Assumptions()).dollars().values())


def alarm_metrics(made: Stack) -> int:
    """Count the metrics of all alarms, which CloudWatch charges for."""
    return sum(map(_metrics_of, made.all_of("AWS::CloudWatch::Alarm").values()))


def _metrics_of(alarm: Mapping[str, Any]) -> int:
    if "Metrics" not in alarm:
        return 1
    queried = any("SELECT" in one.get("Expression", "") for one in alarm["Metrics"])
    return OPERATIONS_OF_A_TABLE if queried else sum("MetricStat" in one for one in alarm["Metrics"])


def _snapshot(made: Stack) -> float:
    function = made.properties("McpFunction")
    if function["SnapStart"]["ApplyOn"] == "None":
        return 0.0
    return prices.SNAPSHOT_KEPT.of(int(function["MemorySize"]) / 1024 * HOURS * 3_600)


def _polls(made: Stack) -> float:
    """Return the cost of long polls: Lambda keeps five open for each queue, of 20 seconds each (unverified).

    The first million requests of an account are always free, and each queue takes two thirds of it.
    """
    sources = [one["EventSourceArn"] for one in made.all_of("AWS::Lambda::EventSourceMapping").values()]
    queues = sum(f"{queue}.Arn" in sources for queue in made.all_of("AWS::SQS::Queue"))
    return prices.QUEUE_REQUEST.of(max(0, queues * 5 * HOURS * 3_600 / 20 - prices.MILLION))


def _runs() -> float:
    """Return the cost of the runs of the sweep and of function catalog that find nothing to do."""
    runs, assumed = HOURS * 60 / (INTERVAL.total_seconds() / 60), Assumptions()
    every_call = (*calls.SWEEP, *calls.COMPILE)
    writes = every_call.count("PutItem")
    seconds = len(every_call) * assumed.dynamodb
    gigabyte_seconds = 2 * _RUN * WHOLE_PROCESSOR / 1024 + seconds * assumed.background_memory / 1024
    return runs * (
        prices.LAMBDA_REQUEST.of(2)
        + prices.LAMBDA_SECOND.of(gigabyte_seconds)
        + prices.WRITE.of(writes)
        + prices.READ.of(len(every_call) - writes)
        + prices.LOG.of(2 * assumed.audit_line)
    )
