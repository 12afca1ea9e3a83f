"""The tables of docs/cost.md are the output of the simulation, and the simulation counts the calls that the code makes.

tests/integration/test_aws_calls*.py checks the calls of each step in `benchmarks.cost.calls`.
"""

import json
from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from benchmarks.cost import calls, idle, prices
from benchmarks.cost.__main__ import DOCUMENT
from benchmarks.cost.simulation import Assumptions, Client, every, simulate
from benchmarks.cost.tables import HINTED, METRICS_OF_A_TOOL, TABLES, loads
from stepwire.audit import AuditAction, AuditEntry, EndSource
from stepwire.aws.publishing.audit_log import write_audit_entry
from tests.kits import ALICE
from tests.template.chosen import stack
from tests.template.document import resources

NOTHING_LOST = Assumptions(lost_events=0, state_after=0)
EACH_SECOND = Client("1 s", every(1))


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.long if one == "costs" else ()) for one in TABLES]
)
def test_each_table_of_the_document_is_the_output_of_the_simulation(name: str) -> None:
    table = TABLES[name]()

    assert f"<!-- {name} -->\n{table}<!-- end -->" in DOCUMENT.read_text(encoding="utf-8"), (
        "python -m benchmarks.cost --update"
    )


def test_a_task_costs_its_creation_its_polls_its_end_and_its_removal() -> None:
    usage = simulate(100, EACH_SECOND, NOTHING_LOST)

    polls = usage.requests - usage.tasks
    reads = polls * len(calls.POLL) + usage.tasks * calls.END.count("GetItem")

    assert 95 * usage.tasks <= polls <= 106 * usage.tasks
    assert usage.calls("GetItem") == reads
    assert usage.calls("StartExecution") == usage.tasks
    assert usage.invocations == usage.requests + 2 * usage.tasks


def test_the_history_of_a_task_that_shows_its_state_is_read_once_in_the_interval() -> None:
    usage = simulate(600, EACH_SECOND, Assumptions(state_after=60))

    assert usage.calls("GetExecutionHistory") / usage.tasks == pytest.approx(9.5, abs=0.6)


def test_a_lost_event_costs_one_check_by_a_poll() -> None:
    usage = simulate(10, EACH_SECOND, Assumptions(lost_events=1, state_after=0))

    assert usage.calls("DescribeExecution") == usage.tasks
    assert usage.calls("UpdateItem") == usage.tasks * (calls.CREATE.count("UpdateItem") + 1)


def test_units_depend_on_the_size_of_an_item() -> None:
    sizes = [Assumptions(item=size, ended_item=size, lost_events=0) for size in (1_024, 8_192)]

    small, large = (simulate(10, HINTED, assumed) for assumed in sizes)

    assert large.written - small.written == (8 - 1) * 2 * small.tasks  # written when it begins and when it ends
    assert large.read == 2 * small.read


def test_a_growing_poll_hint_saves_more_for_longer_tasks() -> None:
    saved = [simulate(each, EACH_SECOND).requests / simulate(each, HINTED).requests for each in (10, 600, 3_600)]

    assert saved == sorted(saved)
    assert saved[0] == pytest.approx(1, abs=0.1)
    assert saved[-1] > 10


def test_the_quota_that_is_reached_first_is_that_of_get_execution_history() -> None:
    first = [loads(rate)[0] for rate in (10, 1_000, 100_000)]

    assert [load.quota for load in first] == [prices.HISTORIES] * 3
    assert [load.share > 1 for load in first] == [False, False, True]


def test_an_idle_stack_costs_at_most_two_dollars_a_month_with_the_defaults() -> None:
    assert idle.total() <= 2


def test_the_page_that_names_the_cost_of_an_idle_stack_names_that_of_the_simulation() -> None:
    text = DOCUMENT.with_name("deploying.md").read_text(encoding="utf-8")

    assert f"${idle.total():.2f} a month" in text


@pytest.mark.parametrize("parameter", ["Alarms", "MetricsDashboard", "SnapStart"])
def test_what_a_parameter_adds_to_the_month_is_counted(parameter: str) -> None:
    assert idle.total(**{parameter: idle.MOST[parameter]}) > idle.total() + 1


def test_each_metric_of_an_alarm_is_counted_because_each_is_charged_for() -> None:
    alarms = [one for one in resources("AWS::CloudWatch::Alarm") if "Condition" not in one.body]

    assert idle.alarm_metrics(stack("iam")) == len(alarms) + 2  # two of them add two metrics


def test_the_metrics_of_a_tool_are_those_that_the_audit_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for action, outcome in product(AuditAction, ("completed", "failed", "cancelled")):
        tool, source = (None if action is AuditAction.REFUSED else "a tool"), EndSource.EVENT
        write_audit_entry(AuditEntry(action, ALICE, tool, "an id", outcome, timedelta(seconds=1), source))

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    described = [one for line in lines if line["tool"] == "a tool" for one in line["_aws"]["CloudWatchMetrics"]]
    assert len({metric["Name"] for one in described for metric in one["Metrics"]}) == METRICS_OF_A_TOOL


@pytest.mark.parametrize("per_line", [1, 20])
def test_a_line_of_the_log_counts_many_polls(per_line: int) -> None:
    assumed = replace(NOTHING_LOST, polls_per_line=per_line, access_line=0, audit_line=1_000)

    usage = simulate(600, EACH_SECOND, assumed)

    polls = usage.requests - usage.tasks
    assert usage.logged / 1_000 == pytest.approx(3 * usage.tasks + (polls - usage.tasks) / per_line)
