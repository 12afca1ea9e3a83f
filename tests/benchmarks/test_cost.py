"""The tables of docs/cost.md and of decision 40 are the output of the simulations, which count what the code does.

tests/integration/test_aws_calls*.py checks the calls of each step in `benchmarks.cost.calls`.
"""

import json
from datetime import timedelta
from itertools import product

import pytest

from benchmarks import contention
from benchmarks.cost import idle, prices
from benchmarks.cost.__main__ import DOCUMENT
from benchmarks.cost.tables import TABLES, loads
from stepwire.audit import AuditAction, AuditEntry, EndSource
from stepwire.aws.audit_log import write_audit_entry
from tests.docs.audit_schema import actions_of
from tests.docs.pages import ROOT
from tests.kits import ALICE
from tests.template.chosen import stack
from tests.template.document import resources

SLOW = {"costs", "choices", "one caller", "parts"}


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.long if one in SLOW else ()) for one in TABLES])
def test_each_table_of_the_document_is_the_output_of_the_simulation(name: str) -> None:
    table = TABLES[name]()

    assert f"<!-- {name} -->\n{table}<!-- end -->" in DOCUMENT.read_text(encoding="utf-8"), (
        "python -m benchmarks.cost --update"
    )


def test_the_decision_shows_the_table_of_calls_at_the_same_moment() -> None:
    (record,) = (ROOT / "docs" / "decisions").glob("*-a-slot-and-a-task-stay-two-writes.md")

    assert contention.table() in record.read_text(encoding="utf-8"), "python -m benchmarks.contention"


def test_the_quota_that_is_reached_first_is_that_of_get_execution_history() -> None:
    first = [loads(rate)[0] for rate in (10, 1_000, 100_000)]

    assert [load.quota for load in first] == [prices.HISTORIES] * 3
    assert [load.share > 1 for load in first] == [False, False, True]


def test_an_idle_stack_costs_less_than_two_dollars_a_month_with_the_defaults_as_the_page_says() -> None:
    assert idle.total() < 2
    assert "[less than $2 a month]" in DOCUMENT.with_name("deploying.md").read_text(encoding="utf-8")


WITHOUT_A_TOOL = (AuditAction.REFUSED, AuditAction.PRIMED, AuditAction.RESUMED)


@pytest.mark.parametrize("parameter", ["Alarms", "MetricsDashboard", "SnapStart"])
def test_what_a_parameter_adds_to_the_month_is_counted(parameter: str) -> None:
    assert idle.total(**{parameter: idle.MOST[parameter]}) > idle.total() + 1


def test_each_metric_of_an_alarm_is_counted_because_each_is_charged_for() -> None:
    alarms = [one for one in resources("AWS::CloudWatch::Alarm") if "Condition" not in one.body]

    assert idle.alarm_metrics(stack("iam")) == len(alarms) + 2  # two of them add two metrics


def test_the_pages_name_the_cost_of_the_metrics_of_a_tool(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOL_METRICS", "on")
    of_a_tool = [one for one in actions_of(AuditAction) if one not in WITHOUT_A_TOOL]
    for action, outcome in product(of_a_tool, ("completed", "failed", "cancelled")):
        write_audit_entry(AuditEntry(action, ALICE, "a tool", "an id", outcome, timedelta(seconds=1), EndSource.EVENT))

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    described = [one for line in lines for one in line["_aws"]["CloudWatchMetrics"]]
    metrics = {metric["Name"] for one in described for metric in one["Metrics"]}
    price = f"${prices.METRIC.of(len(metrics)):.2f}"
    assert f"up to {len(metrics)} for each tool, so {price} a month" in DOCUMENT.read_text(encoding="utf-8")
    assert f"up to {price} for each tool" in DOCUMENT.with_name("deploying.md").read_text(encoding="utf-8")
