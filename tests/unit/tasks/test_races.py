"""Several runs of a task: which ends count, which run starts when, and what callers read of it."""

from datetime import timedelta
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepwire.tasks.events import RunEnded, WorkCompleted
from stepwire.tasks.ids import LETTERS, task_key_from_execution
from stepwire.tasks.lifecycle import advance
from stepwire.tasks.runs import (
    LONGEST_ERROR,
    META_RACE,
    Pending,
    Retry,
    RunEnd,
    RunState,
    begun,
    result_meta,
    successes,
)
from stepwire.tasks.task import Task, ToolResult
from tests.fakes import START_OF_TIME
from tests.kits import World
from tests.races import arms, racing

NOW: Final = START_OF_TIME
ENDS: Final = st.sampled_from([one for one in RunState if one is not RunState.OPEN])
RETRY: Final = Retry(2, ("States.ALL",), delay=timedelta(minutes=1))
THEN: Final = WorkCompleted(ToolResult('{"content":[]}', is_error=False))


def a_race(count: int = 2, *delays: float, quorum: int = 1, retry: Retry | None = None) -> Task:
    task = World().call(racing(count, *delays, quorum=quorum, retry=retry))
    return replace(task, runs=begun(arms(count, delays), NOW), ttl=timedelta(days=1), created_at=NOW)


def end(
    letter: str, state: RunState = RunState.FAILED, execution: int = 1, error: str | None = None, text: str = "it broke"
) -> RunEnd:
    return RunEnd(LETTERS.index(letter), execution, 0 if error else 10, state, error, "Busy", text)


def ended(task: Task, *ends: RunEnd) -> Task:
    for one in ends:
        task = advance(task, RunEnded(one, THEN), NOW).task
    return task


def due(task: Task) -> str:
    """Return the letters of the runs that are due."""
    return "".join(LETTERS[index] for index in task.due_runs(NOW))


def to_be_stopped(task: Task) -> str:
    return "".join(LETTERS[index] for index in task.runs_pending(Pending.STOP))


@given(st.integers(2, 5).flatmap(lambda count: st.tuples(st.just(count), st.integers(1, count))), st.data())
def test_in_any_order_of_ends_the_task_ends_once_as_soon_as_the_quorum_is_reached_or_cannot_be(
    size: tuple[int, int], data: st.DataObject
) -> None:
    count, quorum = size
    task, good, bad, final = a_race(count, quorum=quorum), 0, 0, None
    order = data.draw(st.permutations("abcde"[:count]))
    for letter in [*order, *order]:  # each twice
        how = data.draw(ENDS)
        if task.runs[LETTERS.index(letter)].is_open and not task.has_ended:
            good, bad = good + (how is RunState.SUCCEEDED), bad + (how is not RunState.SUCCEEDED)
        task = ended(task, end(letter, how))
        assert task.has_ended is (good >= quorum or bad > count - quorum)
        assert final is None or task is final
        final = task if task.has_ended else None

    assert (task.winner is not None) is (good >= quorum)
    assert sorted(run.place for run in task.runs if run.place) == list(range(1, successes(task.runs) + 1))


def test_a_run_that_has_ended_never_changes() -> None:
    task = ended(a_race(3), end("a"))

    assert ended(task, end("a", RunState.SUCCEEDED)) is task


def test_a_failure_starts_as_many_waiting_runs_as_the_quorum_lacks() -> None:
    one = ended(a_race(5, 0, 0, 30, 20, 10, quorum=2), end("a"))
    two = ended(one, end("b"))

    assert due(one) == "be"
    assert due(two) == "de"
    assert due(ended(a_race(5, 0, 0, 30, 20, 10, quorum=2), end("a", RunState.SUCCEEDED), end("b"))) == "e"


def test_runs_that_become_due_before_an_end_is_saved_are_to_be_stopped() -> None:
    task = ended(a_race(4, 0, 0, 30, 3600), end("a", RunState.SUCCEEDED))

    assert to_be_stopped(task) == "bc"


def test_the_result_says_what_became_of_each_run() -> None:
    race = a_race(5, 0, 0, 0, 3600, retry=RETRY)
    retried = RunEnd(4, 1, 0, RunState.FAILED, "Busy")
    task = ended(race, end("a"), retried, end("b", RunState.SUCCEEDED))

    assert result_meta(task.runs, task.winner, NOW) == {
        META_RACE: {
            "winner": "slow",
            "arms": [
                {"name": "fast", "outcome": "failed"},
                {"name": "slow", "outcome": "succeeded"},
                {"name": "spare", "outcome": "stopped"},
                {"name": "fourth", "outcome": "not_started"},
                {"name": "fifth", "outcome": "stopped"},
            ],
        }
    }


def test_the_errors_of_runs_are_short_enough_for_the_head_of_a_task() -> None:
    task = ended(a_race(3), end("a", text="x" * 1_000))

    assert len(task.runs[0].error) == LONGEST_ERROR


def test_the_names_of_all_executions_lead_to_their_task() -> None:
    task = World().call(racing(5, retry=Retry(10, ("States.ALL",))))

    for index, run in enumerate(task.runs):
        for number in (1, 2, 10):
            changed = replace(run, attempt=replace(run.attempt, execution=number))
            runs = (*task.runs[:index], changed, *task.runs[index + 1 :])
            name = replace(task, runs=runs).execution_of(index).name
            assert task_key_from_execution(name) == task.key
            assert len(name) <= 80 - len("stepwire-pref") + len("sw-") + 10
    assert task_key_from_execution(f"{task.execution.name[:-1]}f") is None
