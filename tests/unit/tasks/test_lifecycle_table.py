"""The table at the head of lifecycle.py is exactly what the code does."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from stepwire.tasks import lifecycle
from stepwire.tasks.client_tasks import ClientTask
from stepwire.tasks.events import (
    AnswersDelivered,
    ClientTaskClosed,
    ClientTaskNoted,
    InputAnswered,
    InputRefused,
    InputRequested,
    ProgressReported,
    StateEntered,
    TaskEvent,
    WorkChecked,
    WorkCompleted,
    WorkConfirmed,
    WorkDeclined,
    WorkFailed,
    WorkStopped,
)
from stepwire.tasks.inputs import Action, Callback, FormElicitation, InputRequest, InputResponse, WorkflowInput
from stepwire.tasks.lifecycle import advance
from stepwire.tasks.task import Cancelled, Completed, InputRequired, Progress, Task, TaskError, Terms, ToolResult
from tests.kits import World

FORM = FormElicitation("Go on?", '{"type":"object","properties":{}}')
RESULT = ToolResult('{"content":[]}', is_error=False)
CLIENT_TASK = ClientTask(1, "a session", "a task")
ACCEPTED = InputResponse(Action.ACCEPT, "{}")
EVENTS: tuple[TaskEvent, ...] = (
    StateEntered("Approve"),
    ProgressReported(Progress(1)),
    InputRequested("again", FORM, Callback("another token")),
    InputAnswered({"first": ACCEPTED}),
    InputAnswered({"first": ACCEPTED, "second": ACCEPTED}),
    InputRefused({"first": "it must be a number"}),
    WorkConfirmed(Terms('{"confirmed":true}')),
    WorkDeclined(RESULT),
    WorkCompleted(RESULT),
    WorkFailed(TaskError(-32603, "it broke")),
    WorkStopped("stopped"),
    WorkChecked(),
    AnswersDelivered(frozenset({"a token"})),
    ClientTaskNoted(CLIENT_TASK),
    ClientTaskClosed(CLIENT_TASK),
)


def documented() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Read the table: an event, the status before it, and the possible statuses after it."""
    lines = (lifecycle.__doc__ or "").split("\n    event ")[1].split("\n\n")[0].splitlines()[2:]
    for line in lines:
        name, *cells = (cell for cell in line.split("  ") if cell.strip())
        for state, cell in zip(("working", "input_required", "unconfirmed"), cells, strict=True):
            yield name.strip(), state, frozenset(one.strip() for one in cell.split(","))


def task_in(state: str) -> Task:
    task = World().call()
    first = InputRequest("first", 1, FORM, Callback("first token"))
    second = InputRequest("second", 2, FORM, Callback("second token"))
    confirmation = InputRequest("first", 1, FORM, WorkflowInput(None))
    match state:
        case "input_required":
            return replace(task, status=InputRequired((first, second)))
        case "unconfirmed":
            return replace(task, status=InputRequired((confirmation,)))
        case _:
            return task


def state_of(task: Task) -> str:
    if task.awaits_confirmation:
        return "unconfirmed"
    return "input_required" if isinstance(task.status, InputRequired) else type(task.status).__name__.lower()


@pytest.mark.parametrize(("name", "state", "expected"), tuple(documented()))
def test_an_event_leads_to_the_documented_states(name: str, state: str, expected: frozenset[str]) -> None:
    task = task_in(state)

    after = {
        state_of(advance(task, event, task.created_at + timedelta(seconds=1)))
        for event in EVENTS
        if type(event).__name__ == name
    }

    assert after == expected


def test_every_event_is_documented() -> None:
    names = [name for name, state, _ in documented() if state == "working"]

    assert sorted(names) == sorted(one.__name__ for one in get_args(TaskEvent))


@pytest.mark.parametrize("status", [Completed(RESULT), Cancelled("stopped")])
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_ended_task_ignores_every_event(event: TaskEvent, status: Completed | Cancelled) -> None:
    """T10, X30."""
    task = replace(task_in("working"), status=status)

    assert advance(task, event, task.created_at + timedelta(seconds=1)) is task
