"""The table of the lifecycle is exactly what the code does."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from msgspec.structs import replace

from stepwire.tasks.answers import Action, Audience, Given, InputResponse
from stepwire.tasks.events import (
    AfterEnd,
    Answered,
    AnswersDelivered,
    FollowedUp,
    InputRefused,
    InputRequested,
    LineChecked,
    Noted,
    ProgressReported,
    Readdressed,
    RunEnded,
    RunNotRedriven,
    RunsStopped,
    StartPostponed,
    StateEntered,
    TaskEvent,
    WorkBegun,
    WorkChecked,
    WorkCompleted,
    WorkConfirmed,
    WorkDeclined,
    WorkEnded,
    WorkFailed,
    WorkStopped,
)
from stepwire.tasks.ids import RANDOM_BYTES, new_task_id
from stepwire.tasks.inputs import Callback, FormElicitation, InputRequest, WorkflowInput
from stepwire.tasks.lifecycle import TABLE, State, advance, state_of
from stepwire.tasks.line import InLine
from stepwire.tasks.runs import ONCE, Attempt, Pending, Retry, Run, RunEnd, RunState
from stepwire.tasks.task import InputRequired, Progress, Task, TaskError, Terms, ToolResult
from tests.kits import World

FORM = FormElicitation("Go on?", '{"type":"object","properties":{}}')
RESULT = ToolResult('{"content":[]}', is_error=False)
ACCEPTED = InputResponse(Action.ACCEPT, "{}")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
APPROVERS = Audience("an extra", "finance", needed=1, excluded="c" * 32)
TO_OTHERS = InputRequest("third", 3, FORM, Callback("third token"), audience=APPROVERS)
APPROVED = Given("a" * 32, LONG_AGO, ACCEPTED, "Bob", "a way")
ENDS: tuple[WorkEnded, ...] = (
    WorkCompleted(RESULT),
    WorkFailed(TaskError(-32603, "it broke")),
    WorkStopped("stopped"),
)
LEADING_TO = dict(zip((State.COMPLETED, State.FAILED, State.CANCELLED), ENDS, strict=True))
ENDED = tuple(one for one in RunState if one is not RunState.OPEN)
EVENTS: tuple[TaskEvent, ...] = (
    StateEntered("Approve"),
    ProgressReported(Progress(1)),
    InputRequested("again", FORM, Callback("another token")),
    InputRequested("again", FORM, Callback("another token"), audience=APPROVERS),
    Answered({3: APPROVED}, "an extra"),
    Readdressed({3: replace(APPROVERS, name="finance or the chief")}),
    Answered({1: APPROVED}),
    Answered({1: APPROVED, 2: APPROVED}),
    InputRefused({"first": "it must be a number"}),
    WorkConfirmed(Terms('{"confirmed":true}')),
    WorkDeclined(RESULT),
    WorkCompleted(RESULT),
    WorkFailed(TaskError(-32603, "it broke")),
    WorkStopped("stopped"),
    WorkChecked(),
    AnswersDelivered(frozenset({"a token"})),
    StartPostponed(frozenset({0})),
    WorkBegun(frozenset({0})),
    LineChecked(frozenset({0})),
    LineChecked(frozenset(), InLine(1)),
    Noted("an extra", lambda _task: {"seen": 1}),
    *(RunEnded(RunEnd(0, 1, 1, state, error), end) for end in ENDS for state in ENDED for error in (None, "Busy")),
    *(RunNotRedriven(RunEnd(0, 1, 1, RunState.FAILED), end) for end in ENDS),
    RunsStopped(),
    FollowedUp(new_task_id(LONG_AGO, bytes(RANDOM_BYTES))),
)


def tasks_in(state: State) -> Iterator[Task]:
    """Return tasks in a state: of one run, and of two of which the other runs or was stopped; each also redriven.

    And one with a question to others than its caller.
    """
    task = task_in(state)
    if state is State.INPUT_REQUIRED:
        yield replace(task, status=InputRequired((*task.questions, TO_OTHERS)))
    redriven = Attempt(number=2, redrives=1)
    for attempt, policy in (
        (Attempt(), ONCE),
        (redriven, Retry(3, ("States.ALL",), redrives=True)),
        (redriven, Retry(3, ("States.ALL",), redrives=True, may_restart=False)),
    ):
        run = Run("", "one", attempt=attempt)
        for others in ((), (Run("", "two"),), (Run("", "two", state=RunState.STOPPED),)):
            for asking in (0, 1)[: 1 + len(others)]:
                yield replace(task_in(state, asking), runs=(run, *others), retry=policy)


def task_in(state: State, asking: int = 0) -> Task:
    task = World().call()
    first = InputRequest("first", 1, FORM, Callback("first token", asking))
    second = InputRequest("second", 2, FORM, Callback("second token", asking))
    confirmation = InputRequest("first", 1, FORM, WorkflowInput(None))
    match state:
        case State.INPUT_REQUIRED:
            return replace(task, status=InputRequired((first, second)))
        case State.UNCONFIRMED:
            return replace(task, status=InputRequired((confirmation,)))
        case State.WORKING:
            return task
        case ended:
            return advance(task, LEADING_TO[ended], task.created_at).task


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", TABLE)
def test_an_event_leads_to_the_states_of_the_table(event: type[TaskEvent], state: State) -> None:
    after = {
        state_of(advance(task, one, task.created_at + timedelta(seconds=1)).task)
        for task in tasks_in(state)
        for one in EVENTS
        if type(one) is event
    }

    assert after == (TABLE[event].targets.get(state) or {state})


@pytest.mark.parametrize("event", get_args(AfterEnd))
def test_what_comes_after_an_end_comes_only_then(event: type[AfterEnd]) -> None:
    assert TABLE[event].targets == {state: {state} for state in LEADING_TO}


@pytest.mark.parametrize("state", LEADING_TO)
def test_only_what_comes_after_an_end_changes_an_ended_task(state: State) -> None:
    task = task_in(state)
    pending = replace(task, runs=tuple(replace(run, pending=Pending.STOP) for run in task.runs))

    changing = {type(one) for one in EVENTS if advance(pending, one, pending.created_at).task is not pending}

    assert changing == set(get_args(AfterEnd))


def test_every_event_is_in_the_table() -> None:
    assert set(TABLE) == set(get_args(TaskEvent))
