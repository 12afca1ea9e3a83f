"""The tables of docs/cost.md are what the simulation prints, and what it counts is what the code does.

That each step makes the calls of `benchmarks.cost.calls` is held in tests/integration/test_aws_calls*.py.
"""

import pytest

from benchmarks.cost import calls, prices
from benchmarks.cost.__main__ import DOCUMENT
from benchmarks.cost.simulation import Assumptions, Client, every, simulate
from benchmarks.cost.tables import ALARMS, HINTED, TABLES, loads
from tests.template.document import resources

NOTHING_LOST = Assumptions(lost_events=0, state_after=0)
EACH_SECOND = Client("1 s", every(1))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_document_is_what_the_simulation_prints(name: str) -> None:
    table = TABLES[name]()

    assert f"<!-- {name} -->\n{table}<!-- end -->" in DOCUMENT.read_text(encoding="utf-8"), (
        "python -m benchmarks.cost --update"
    )


def test_a_task_is_its_creation_its_polls_its_end_and_its_removal() -> None:
    usage = simulate(100, EACH_SECOND, NOTHING_LOST)

    polls = usage.requests - usage.tasks
    reads = polls * len(calls.POLL) + usage.tasks * calls.END.count("GetItem")

    assert 95 * usage.tasks <= polls <= 106 * usage.tasks
    assert usage.calls("GetItem") == reads
    assert usage.calls("StartExecution") == usage.tasks
    assert usage.invocations == usage.requests + 2 * usage.tasks


def test_a_task_that_tells_its_state_is_looked_at_once_in_the_interval() -> None:
    usage = simulate(600, EACH_SECOND, Assumptions(state_after=60))

    assert usage.calls("GetExecutionHistory") / usage.tasks == pytest.approx(9.5, abs=0.6)


def test_a_lost_event_is_made_up_for_by_one_poll() -> None:
    usage = simulate(10, EACH_SECOND, Assumptions(lost_events=1, state_after=0))

    assert usage.calls("DescribeExecution") == usage.tasks
    assert usage.calls("UpdateItem") == usage.tasks * (calls.CREATE.count("UpdateItem") + 1)


def test_units_follow_the_size_of_an_item() -> None:
    sizes = [Assumptions(item=size, ended_item=size, lost_events=0) for size in (1_024, 8_192)]

    small, large = (simulate(10, HINTED, assumed) for assumed in sizes)

    assert large.written - small.written == (8 - 1) * 2 * small.tasks  # written when it begins and when it ends
    assert large.read == 2 * small.read


def test_a_hint_that_grows_saves_more_the_longer_a_task_runs() -> None:
    saved = [simulate(each, EACH_SECOND).requests / simulate(each, HINTED).requests for each in (10, 600, 3_600)]

    assert saved == sorted(saved)
    assert saved[0] == pytest.approx(1, abs=0.1)
    assert saved[-1] > 10


def test_the_quota_that_binds_first_is_the_history_of_executions() -> None:
    first = [loads(rate)[0] for rate in (10, 1_000, 100_000)]

    assert [load.quota for load in first] == [prices.HISTORIES] * 3
    assert [load.share > 1 for load in first] == [False, False, True]


def test_a_stack_pays_for_as_many_alarms_and_dashboards_as_the_template_has() -> None:
    found = [len(resources(kind)) for kind in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard")]

    assert found == [ALARMS, 1]
