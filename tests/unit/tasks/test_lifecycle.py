"""The life of a task, as properties of every status and every event."""

from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepwire.tasks.events import (
    InputRefused,
    Noted,
    RunEnded,
    RunNotRedriven,
    StartPostponed,
    TaskEvent,
    WorkBegun,
    WorkConfirmed,
    WorkFailed,
)
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.task import (
    LONGEST_KEPT,
    LONGEST_MESSAGE,
    Failed,
    InputRequired,
    Inputs,
    Task,
    TaskError,
    ToolResult,
)
from tests.kits import World
from tests.strategies import asking, ending_events, ends, events, moments, statuses, tasks, working
from tests.unit.tasks.advancing import advanced

RESULT = ToolResult('{"content":[]}', is_error=False)
ERROR = TaskError(-32603, "it broke")


_OF_RUNS = (RunEnded, RunNotRedriven, StartPostponed, WorkBegun)


def stays_the_same_task(task: Task, event: TaskEvent, after: Task, at: datetime) -> None:
    unchanged = replace(
        after,
        status=task.status,
        last_updated_at=task.last_updated_at,
        checked_at=task.checked_at,
        inputs=task.inputs,
        progress=task.progress,
        notes=task.notes,
        states=task.states,
        runs=task.runs,
        keep_result=task.keep_result,
        in_line=task.in_line,
    )
    assert after.keep_result == task.keep_result or as_of(task, at).has_ended, "nothing to keep if nobody confirmed"
    assert after.runs == task.runs or task.awaits_confirmation or after.has_ended or isinstance(event, _OF_RUNS)
    assert replace(unchanged, work=replace(after.work, terms=task.work.terms)) == task


def lives_longer_only_if_it_ends_in_time_and_then_as_long_as_its_tool_promises(
    task: Task, event: TaskEvent, after: Task, at: datetime
) -> None:
    # What nobody confirmed in time ends without a write (`as_of`): there is nothing to keep.
    is_end = after.has_ended and not as_of(task, at).has_ended and after.last_updated_at < task.expires_at
    promised = max(task.expires_at, after.last_updated_at + task.keep_result) if is_end else task.expires_at
    longest = after.last_updated_at + LONGEST_KEPT if after.has_ended and not task.has_ended else promised
    assert after.expires_at == min(promised, longest)


def changes_the_workflows_input_only_when_it_is_confirmed(
    task: Task, event: TaskEvent, after: Task, at: datetime
) -> None:
    assert after.work == task.work or (isinstance(event, WorkConfirmed) and task.awaits_confirmation)


def has_times_that_never_go_back(task: Task, event: TaskEvent, after: Task, at: datetime) -> None:
    assert after.last_updated_at >= task.last_updated_at
    assert after.checked_at >= task.checked_at


def requires_input_if_and_only_if_a_question_is_open(task: Task, event: TaskEvent, after: Task, at: datetime) -> None:
    assert isinstance(after.status, InputRequired) == bool(after.input_requests)


def keeps_the_notes_of_other_extras(task: Task, event: TaskEvent, after: Task, at: datetime) -> None:
    by = event.by if isinstance(event, Noted) and not task.has_ended else ""
    assert {**after.notes, by: None} == {**task.notes, by: None}


STEP_RULES = (
    keeps_the_notes_of_other_extras,
    stays_the_same_task,
    lives_longer_only_if_it_ends_in_time_and_then_as_long_as_its_tool_promises,
    changes_the_workflows_input_only_when_it_is_confirmed,
    changes_the_workflows_input_only_when_it_is_confirmed,
    has_times_that_never_go_back,
    requires_input_if_and_only_if_a_question_is_open,
)
"""What holds after any event: one test for all, because drawing tasks takes most of the time."""


@given(tasks(statuses), events, moments)
def test_every_step_keeps_every_rule(task: Task, event: TaskEvent, at: datetime) -> None:
    after = advanced(task, event, at)

    for rule in STEP_RULES:
        rule(task, event, after, at)


@given(tasks(statuses), events, moments)
def test_a_repeated_event_leaves_the_status_unchanged(task: Task, event: TaskEvent, at: datetime) -> None:
    """X30: except for a question that is asked again, which counts each time."""
    first = advanced(task, event, at)

    second = advanced(first, event, at)

    assert second.status == first.status or isinstance(event, InputRefused)


@given(tasks(ends), events, moments)
def test_an_ended_task_ignores_any_event(task: Task, event: TaskEvent, at: datetime) -> None:
    """T10, X30."""
    assert advanced(task, event, at) is task


@given(tasks(working | asking), ending_events, moments)
def test_an_end_has_the_time_of_its_event_and_clears_all_questions(task: Task, event: TaskEvent, at: datetime) -> None:
    """No state waits for an answer any more, and tokens are secrets."""
    after = advanced(task, event, at)

    assert after.has_ended
    assert (after.inputs, after.input_requests) == (Inputs(), ())
    unconfirmed = as_of(task, at)
    if unconfirmed.has_ended:
        assert after == unconfirmed
    else:
        assert after.last_updated_at == max(at, task.last_updated_at)


@given(tasks(working | asking), st.lists(st.tuples(events, moments)), ending_events, moments)
def test_the_first_end_wins_over_all_later_events(
    task: Task, history: list[tuple[TaskEvent, datetime]], first: TaskEvent, at: datetime
) -> None:
    """T10, T23: repeated, reordered and contradicting events."""
    ended = advanced(task, first, at)

    after = ended
    for event, later in history:
        after = advanced(after, event, later)

    assert ended.has_ended
    assert after is ended


def test_the_message_of_an_error_is_cut_in_the_status_but_complete_in_the_error() -> None:
    """X12."""
    task = World().call()
    error = TaskError(-32603, "x" * (LONGEST_MESSAGE + 1))

    after = advanced(task, WorkFailed(error), task.created_at)

    assert after.status == Failed(error, "x" * LONGEST_MESSAGE)
