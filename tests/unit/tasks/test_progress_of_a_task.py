"""The progress of a task: it never decreases, and does not depend on the order of events."""

from collections.abc import Iterable
from datetime import datetime
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepwire.tasks.events import ProgressReported, StateEntered, TaskEvent
from stepwire.tasks.task import LONGEST_MESSAGE, ItemCount, Progress, Task, Working
from tests.fakes import START_OF_TIME
from tests.kits import World
from tests.strategies import amounts, asking, events, moments, tasks, working
from tests.unit.tasks.advancing import advanced


def after(reports: Iterable[TaskEvent]) -> Task:
    """Return a task after some events at the same time."""
    return reduce(lambda task, event: advanced(task, event, START_OF_TIME), reports, World().call())


def reported(done: float, message: str | None = None) -> ProgressReported:
    return ProgressReported(Progress(done, 100), message)


@given(tasks(working | asking), events, moments)
def test_progress_never_decreases(task: Task, event: TaskEvent, at: datetime) -> None:
    """T33."""
    then = advanced(task, event, at)

    if task.progress is not None:
        assert then.progress is not None
        assert then.progress == task.progress or then.progress.done > task.progress.done


@given(st.lists(amounts, min_size=1))
def test_reports_in_any_order_lead_to_the_highest_progress(order: list[float]) -> None:
    task = after(reported(done) for done in order)

    assert task.progress == Progress(max(order), 100)


@given(st.lists(amounts, unique=True).flatmap(lambda done: st.tuples(st.just(done), st.permutations(done))))
def test_reports_in_any_order_and_duplicated_lead_to_the_same_message(orders: tuple[list[float], list[float]]) -> None:
    one, other = ([reported(done, f"{done} done") for done in order] for order in orders)

    expected, found = after(one), after([*other, *other])

    assert (found.progress, found.status) == (expected.progress, expected.status)


def test_a_report_without_a_message_keeps_the_last_message() -> None:
    task = after([reported(40, "reading"), reported(50)])

    assert task.status == Working("reading")
    assert task.progress == Progress(50, 100)


def test_a_long_message_is_cut() -> None:
    assert after([reported(1, "x" * 5_000)]).status == Working("x" * LONGEST_MESSAGE)


def test_the_name_of_the_state_never_replaces_a_report() -> None:
    told = after([reported(40, "reading")])

    assert advanced(told, StateEntered("Reading"), START_OF_TIME) is told


def test_the_same_state_again_is_no_change() -> None:
    once = after([StateEntered("Reading")])

    assert advanced(once, StateEntered("Reading"), START_OF_TIME) is once


@pytest.mark.parametrize(
    ("passed", "kept"),
    [
        (["A", "B", "A", "C"], ("B", "A", "C")),
        ([f"{number:03}" for number in range(60)], tuple(f"{number:03}" for number in range(10, 60))),
        (["x" * 500, "y" * 500, "z" * 500], ("y" * 500, "z" * 500)),
        (["x" * 500, "y" * 501, "z" * 500], ("z" * 500,)),
        (["é" * 250, "z" * 501], ("z" * 501,)),
    ],
    ids=["each once", "so many", "so large", "too large", "in bytes"],
)
def test_of_the_states_that_a_workflow_has_passed_the_newest_are_kept(passed: list[str], kept: tuple[str, ...]) -> None:
    task = replace(World().call(), states=())

    for name in passed:
        task = advanced(task, StateEntered(name, passed=(name,)), START_OF_TIME)

    assert task.states == kept


def counted(done: int, total: int = 1_000, failed: int = 0, state: str = "Convert") -> StateEntered:
    return StateEntered(state, ItemCount(done, total, failed))


def test_the_items_of_a_distributed_map_are_progress_with_words() -> None:
    task = after([counted(400), counted(1_000, 2_000, 3)])

    assert task.progress == Progress(1_000, 2_000, is_counted=True)
    assert (
        task.status.message == "The workflow is in its state Convert: 1,000 of 2,000 items are done, 3 of them failed."
    )


def test_an_older_count_of_the_same_items_is_ignored() -> None:
    task = after([counted(400)])

    assert advanced(task, counted(399), START_OF_TIME) is task
    same = advanced(task, counted(400, state="Combine"), START_OF_TIME)
    assert same.status.message == "The workflow is in its state Combine: 400 of 1,000 items are done."


def test_a_second_distributed_map_begins_anew_and_a_plain_state_has_no_count() -> None:
    assert after([counted(400), counted(1, 50)]).progress == Progress(1, 50, is_counted=True)
    assert after([counted(400), StateEntered("Combine")]).progress is None


def test_a_report_of_the_workflow_replaces_a_count_and_is_never_replaced_by_one() -> None:
    told = after([counted(400), reported(40, "converting")])

    assert told.progress == Progress(40, 100)
    assert advanced(told, counted(500), START_OF_TIME) is told
