"""Trials that watch: how late ends and tags are known, what a trace shows, and what runs while nobody calls."""

import json
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from itertools import product
from typing import Final

from benchmarks.cost import idle, prices
from benchmarks.end_to_end.measure import SECONDS, Followed, delay_of
from benchmarks.end_to_end.stack import ends_of
from benchmarks.end_to_end.ways import Visit, poll_modern, recorded_at
from stepwire.background.sweep import INTERVAL
from tools.first_run.account import Account
from tools.first_run.clock import TooLong
from tools.first_run.trial import Seen, not_here, so

LATEST: Final = 5.0
"""Seconds within which an end should be recorded: EventBridge promises no time, and a poll asks after 60."""
_PHASES: Final = (0.25, 0.75)
_TAG: Final = "stepwire:first-run"
_TOLERANCE: Final = 1.2
_POLLS_AN_HOUR: Final = 5 * 3_600 / 20  # of a queue, as benchmarks/cost/idle.py assumes


def delays(account: Account) -> Seen:
    """Follow tasks to their ends, and compare with when the executions ended."""
    endpoint = account.serving()
    account.called(endpoint)  # the tool is served
    visits = [Visit(endpoint, *one) for one in product(SECONDS, _PHASES)]
    with ThreadPoolExecutor(len(visits)) as threads:
        seen = list(threads.map(poll_modern, visits))
    machine = account.resource(account.tools(), "WaitAndEcho")
    states = account.calls.build_client("stepfunctions")

    def listed() -> dict[str, float] | None:
        found = ends_of(states, machine)
        return found if found.keys() >= {one.task_id for one in seen} else None

    ends = account.clock.until(listed, 5, "Step Functions lists all ends")
    followed = [Followed(one, ends[one.task_id], recorded_at(endpoint, one.task_id)) for one in seen]
    delay, latest = delay_of("polling", followed), max(one.recorded_at - one.ended_at for one in followed)
    return so(
        latest < LATEST,
        f"of {delay.tasks} tasks, an end was recorded after {delay.recorded:.2f} s (median; at most {latest:.2f} s) "
        f"and known to a polling client after {delay.known.median:.2f} s (median; 95%: {delay.late:.2f} s)",
    )


def tags(account: Account) -> Seen:
    """Tag a state machine; wait for the event, and for the list of tagged resources."""
    queue = account.side_stack("listening").outputs["Queue"]
    machine = account.resource(account.tools(), "WaitAndEcho")
    began = account.clock.now()
    account.calls.call("stepfunctions", "TagResource", resourceArn=machine, tags=[{"key": _TAG, "value": "now"}])

    def event() -> bool:
        got = account.calls.call("sqs", "ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
        return any(machine in one["Body"] for one in got)

    def listed() -> bool:
        filters = [{"Key": _TAG, "Values": ["now"]}]
        found = account.calls.call("resourcegroupstaggingapi", "GetResources", TagFilters=filters)
        return any(one["ResourceARN"] == machine for one in found["ResourceTagMappingList"])

    looks = {'the event "Tag Change on Resource"': event, "`tag:GetResources`": listed}
    after: dict[str, str] = dict.fromkeys(looks, "nothing within the time of the trial")
    left = dict(looks)

    def all_seen() -> bool:
        for name in [name for name, look in left.items() if look()]:
            after[name] = f"after {account.clock.now() - began:.0f} s"
            del left[name]
        return not left

    with suppress(TooLong):
        account.clock.until(all_seen, 10, "the tag is known")
    return so(not left, "; ".join(f"{name}: {when}" for name, when in after.items()))


def traces(account: Account) -> Seen:
    """Call with a `traceparent` while tracing is on, and look for its trace in X-Ray."""
    trace, origins = f"{int(time.time()):08x}{secrets.token_hex(12)}", set[str]()

    def has_execution() -> bool:
        wanted = [f"1-{trace[:8]}-{trace[8:]}"]
        for one in account.calls.call("xray", "BatchGetTraces", TraceIds=wanted)["Traces"]:
            origins.update(json.loads(part["Document"]).get("origin", "?") for part in one["Segments"])
        return any("StepFunctions" in origin for origin in origins)

    with account.changed(Tracing="Active") as stack:
        account.called(account.served(stack), {"traceparent": f"00-{trace}-{secrets.token_hex(8)}-01"})
        with suppress(TooLong):
            account.clock.until(has_execution, 3, "the trace has the execution")
    found = ", ".join(sorted(origins)) or "nothing"
    return so("StepFunctions" in found, f"the client's trace in X-Ray has segments of {found}")


def idle_hour(account: Account) -> Seen:
    """Call nothing for a while, and count what ran, as CloudWatch's metrics have it."""
    stack = account.standing()
    functions = account.of_kind(stack, "AWS::Lambda::Function")
    queues = [name.rpartition("/")[2] for name in account.of_kind(stack, "AWS::SQS::Queue")]
    minutes = account.idle_minutes
    account.clock.sleep(account.clock.minute * 2)  # what the last trial began has ended
    began = datetime.now(UTC)
    account.clock.sleep(minutes * account.clock.minute)
    ended = datetime.now(UTC)

    def counted(namespace: str, metric: str, dimension: str, name: str) -> float:
        found = account.calls.call(
            "cloudwatch", "GetMetricStatistics", Namespace=namespace, MetricName=metric, StartTime=began,
            EndTime=ended, Period=60, Statistics=["Sum"], Dimensions=[{"Name": dimension, "Value": name}],
        )["Datapoints"]  # fmt: skip
        return sum(one["Sum"] for one in found)

    account.clock.sleep(account.clock.minute * 5)  # CloudWatch gets metrics of queues some minutes later
    runs = sum(counted("AWS/Lambda", "Invocations", "FunctionName", one) for one in functions)
    polls = sum(counted("AWS/SQS", "NumberOfEmptyReceives", "QueueName", one) for one in queues)
    if not runs + polls:
        return not_here(f"CloudWatch has no metric of {minutes:g} minutes")
    hours = minutes / 60
    expected = 2 * (minutes * 60 // INTERVAL.total_seconds() + 1)
    counts = ((prices.LAMBDA_REQUEST, runs), (prices.QUEUE_REQUEST, polls))
    dollars = [price.of(count / hours * prices.HOURS) for price, count in counts]
    return so(
        runs <= expected and polls <= len(queues) * _POLLS_AN_HOUR * hours * _TOLERANCE,
        f"in {minutes:g} minutes {runs:.0f} invocations (at most {expected:.0f} expected) and {polls:.0f} empty polls "
        f"of {len(queues)} queues: ${dollars[0]:.2f} and ${dollars[1]:.2f} a month by list prices, of "
        f"${idle.total():.2f} in all; the bill itself is in Cost Explorer a day later",
    )
