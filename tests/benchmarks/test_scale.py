"""Very many tasks and tools: counts hold the figures of docs/performance.md, section Scale, on simulated time."""

from pathlib import Path

import pytest

from benchmarks.cold.aws import Aws, serving
from benchmarks.cold.contenders import CREATE, Tools
from benchmarks.cold.processes import run
from benchmarks.cold.stepwire_forms import forms
from benchmarks.page import PAGE
from benchmarks.scale.catalogs import few_and_many
from benchmarks.scale.pages import COUNTED
from benchmarks.scale.sweeping import INTERVAL, LISTED_AT_ONCE, swept
from benchmarks.scale.sweeping import PAGE as TASKS_OF_A_PAGE
from stepwire.background.sweep import CHECK_BURST, CHECKS_PER_SECOND, MOST_SINGLE_CHECKS


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in ("the sweep", "one principal") else ()) for name in COUNTED],
)
def test_each_table_of_the_page_is_what_is_counted(name: str) -> None:
    assert f"<!-- {name} -->\n{COUNTED[name]()}<!-- end -->" in PAGE.read_text(encoding="utf-8"), (
        "python -m benchmarks.scale --update"
    )


def test_a_task_that_runs_costs_the_sweep_a_hundredth_of_a_read_and_a_thousandth_of_a_list() -> None:
    found = swept(6_000, lost=0, machines=2)

    assert found.calls["BatchGetItem"] == 6_000 / TASKS_OF_A_PAGE
    assert found.calls["ListExecutions"] == 6_000 / LISTED_AT_ONCE
    assert found.calls["GetItem"] == found.calls["DescribeExecution"] == 2 * MOST_SINGLE_CHECKS


@pytest.mark.long
def test_lost_ends_are_found_within_two_intervals_inside_the_quotas() -> None:
    found = swept(6_000, lost=3_000, machines=2)

    assert found.elapsed <= 2 * INTERVAL
    assert found.throttled == 0
    assert found.calls["DescribeExecution"] <= 3_000 + 2 * MOST_SINGLE_CHECKS
    assert found.calls["DescribeExecution"] <= CHECK_BURST + CHECKS_PER_SECOND * found.elapsed.total_seconds()


@pytest.mark.long
def test_a_cold_call_with_500_tools_makes_the_same_calls_as_with_three(tmp_path: Path) -> None:
    stepwire, *_ = forms(tmp_path / "function", Tools.TABLE)
    made = list[tuple[str, ...]]()

    for items in few_and_many(tmp_path):
        with serving(Aws(items)) as aws:
            made.append(run(stepwire, CREATE, aws).aws_calls)

    assert made[0] == made[1]
