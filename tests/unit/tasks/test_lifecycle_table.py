"""The table at the head of lifecycle.py is exactly what the code does."""

from collections.abc import Iterator
from datetime import timedelta
from typing import get_args

import pytest
from msgspec.structs import replace

from stepwire.tasks import lifecycle
from stepwire.tasks.client_tasks import ClientTask
from stepwire.tasks.events import (
    AnswersDelivered,
    ArmEnded,
    AttemptEnded,
    ClientTaskClosed,
    ClientTaskNoted,
    InputAnswered,
    InputRefused,
    InputRequested,
    ProgressReported,
    RedriveRefused,
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
from stepwire.tasks.inputs import Action, Callback, FormElicitation, InputRequest, InputResponse, WorkflowInput
from stepwire.tasks.lifecycle import advance
from stepwire.tasks.races import NO_RETRY, Arm, ArmEnd, Race, Standing
from stepwire.tasks.retries import Attempt, Retry
from stepwire.tasks.task import Cancelled, Completed, InputRequired, Progress, Task, TaskError, Terms, ToolResult
from tests.kits import World

FORM = FormElicitation("Go on?", '{"type":"object","properties":{}}')
RESULT = ToolResult('{"content":[]}', is_error=False)
CLIENT_TASK = ClientTask(1, "a session", "a task")
ACCEPTED = InputResponse(Action.ACCEPT, "{}")
ENDS: tuple[WorkEnded, ...] = (
    WorkCompleted(RESULT),
    WorkFailed(TaskError(-32603, "it broke")),
    WorkStopped("stopped"),
)
ENDED = tuple(one for one in Standing if one is not Standing.OPEN)
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
    StartPostponed(),
    WorkBegun(),
    ClientTaskNoted(CLIENT_TASK),
    ClientTaskClosed(CLIENT_TASK),
    *(AttemptEnded(1, 1, "Busy", "Busy", end) for end in ENDS),
    *(AttemptEnded(1, 1, None, "", end) for end in ENDS),
    *(RedriveRefused(1, end) for end in ENDS),
    *(
        ArmEnded(ArmEnd("a", 1, 1, standing, error, "", "broke"), ENDS[0])
        for standing in ENDED
        for error in (None, "Busy")
    ),
)


def documented() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Read the table: an event, the status before it, and the possible statuses after it."""
    lines = (lifecycle.__doc__ or "").split("\n    event ")[1].split("\n\n")[0].splitlines()[2:]
    for line in lines:
        name, *cells = (cell for cell in line.split("  ") if cell.strip())
        for state, cell in zip(("working", "input_required", "unconfirmed"), cells, strict=True):
            named = cell.replace("any end", "completed, failed, cancelled").replace("done", "completed, cancelled")
            yield name.strip(), state, frozenset(one.strip() for one in named.split(","))


def tasks_in(state: str, event: str) -> Iterator[Task]:
    """Return tasks in a state: one, and two that are redriven, with and without a new execution as the last resort."""
    if event == "ArmEnded":
        for others in (Standing.OPEN, Standing.STOPPED):
            for policy in (NO_RETRY, Retry(3, ("States.ALL",))):
                arms = (Arm("one", "a", "", attempt=Attempt(policy)), Arm("two", "b", "", standing=others))
                yield replace(task_in(state), race=Race(arms))
                yield replace(task_in(state, asking_arm="a"), race=Race(arms))
        return
    if event != "RedriveRefused":
        yield task_in(state)
    for may_restart in (True, False):
        policy = Retry(3, ("States.ALL",), redrives=True, may_restart=may_restart)
        yield replace(task_in(state), attempt=Attempt(policy, number=2, redrives=1))


def task_in(state: str, asking_arm: str = "") -> Task:
    task = World().call()
    first = InputRequest("first", 1, FORM, Callback("first token", asking_arm))
    second = InputRequest("second", 2, FORM, Callback("second token", asking_arm))
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
    after = {
        state_of(advance(task, event, task.created_at + timedelta(seconds=1)))
        for task in tasks_in(state, name)
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
