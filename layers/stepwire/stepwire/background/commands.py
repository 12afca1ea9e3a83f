"""The one door for operators: a command has a name, fields and a right, and there is one form of answer.

    {"command": NAME, "operator"?: ARN, field: value, ...}
    {"done": what the command returns} or {"refused": why}

The rule: a command is a row of a table. IAM permits commands by their right: an alias of function operator, by which it
must be invoked. So whoever may give some commands need not be able to give the others. What a command returns is for
the operator, and has no data of a caller.

At the end are the core's commands, about tasks; extras add theirs (`hooks.Extra.commands`). A command about all tasks
of a caller does a bounded part, and says where the next one goes on. So it may be interrupted and given again at any
time: what has ended is passed over.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct, ValidationError, convert

from stepwire.engine.assembly import Engine
from stepwire.errors import (
    AtQuota,
    CommandRefused,
    NeedsOperator,
    ProtocolError,
    StoreBusy,
    TaskAlreadyEnded,
    UnknownTask,
    WorkflowsUnavailable,
)
from stepwire.json_text import JsonObject
from stepwire.principal import PRINCIPAL_PATTERN, Principal
from stepwire.rendering import modern_status
from stepwire.tasks.ids import ID_PATTERN, TaskId, TaskKey
from stepwire.tasks.task import Task

TASKS: Final = "tasks"
"""The right to give commands about tasks and lines."""
UNAVAILABLE: Final = "Step Functions does not answer, or may not be asked; nothing was done. Repeat the command."
BUSY: Final = "Others change the same items all the time, so perhaps nothing was done. Repeat the command."
MOST_COUNTED: Final = 100
"""Tasks of one command that counts."""
MOST_CANCELLED: Final = 50
"""Tasks of one command that cancels: a second's worth of the smallest quota of StopExecution."""
BUDGET: Final = timedelta(seconds=15)
"""After that long, no further task is cancelled: the next command goes on."""
_DENIED: Final = "This server may not stop its execution, or may not use the key or the role that this needs."
Owner: TypeAlias = Annotated[Principal, Meta(pattern=rf"\A{PRINCIPAL_PATTERN.pattern}\Z")]
OneTask: TypeAlias = Annotated[TaskId, Meta(pattern=rf"\A{ID_PATTERN.pattern}\Z")]


class Fields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that each command has."""

    operator: str | None = None
    """ARN of whoever gives the command, in their own words: for the audit trail."""


class OfTask(Fields, frozen=True):
    """The fields of a command about one task."""

    owner: Owner
    task_id: OneTask

    @property
    def key(self) -> TaskKey:
        """The task's key."""
        return TaskKey(self.owner, self.task_id)


class Command(Struct, frozen=True):
    """A command, as the table has it."""

    right: str
    """The alias of function operator that may give it."""
    fields: type[Fields]
    act: Callable[[Engine, Any], JsonObject]
    """Does what is commanded, with the fields."""


Commands: TypeAlias = Mapping[str, Command]
"""By their names."""


def obeyed(event: JsonObject, right: str, commands: Commands, engine: Engine) -> JsonObject:
    """Do what an operator commands, and return the answer.

    Refused, in this order: an unknown name; another alias than the command's; fields that are missing, unknown or
    wrong; what the command itself refuses.
    """
    try:
        command, given = _read(event, right, commands)
        return {"done": command.act(engine, given)}
    except CommandRefused as refusal:
        return {"refused": refusal.reason}
    except StoreBusy as fault:
        engine.ports.report(fault)
        return {"refused": BUSY}
    except WorkflowsUnavailable as fault:
        engine.ports.report(fault)
        return {"refused": UNAVAILABLE}


def _read(event: JsonObject, right: str, commands: Commands) -> tuple[Command, Fields]:
    name = str(event.get("command"))
    command = commands.get(name)
    if command is None:
        raise CommandRefused(f"There is no command {name[:100]!r}. The commands are: {', '.join(sorted(commands))}.")
    if right != command.right:
        raise CommandRefused(f"The command {name} is given by the alias {command.right} of this function.")
    try:
        return command, convert({field: one for field, one in event.items() if field != "command"}, command.fields)
    except ValidationError as error:
        known = ", ".join(command.fields.__struct_fields__)
        raise CommandRefused(f"The command {name} has the fields {known}. {error}.") from None


# ------------------------------------------------------------------------------------------------------- about tasks


class _Cancelled(Struct):
    """What came of the tasks of one command."""

    cancelled: int = 0
    ended: int = 0
    failed: list[JsonObject] = []
    last: TaskId | None = None
    """The last task that is done with."""

    def answer(self, after: TaskId | None, *, is_busy: bool = False) -> JsonObject:
        """Return what an operator is answered."""
        counts = {"cancelled": self.cancelled, "ended": self.ended, "failed": self.failed}
        return {**counts, "after": after, "is_busy": is_busy}


class OfCaller(Fields, frozen=True):
    """The fields of a command about the tasks of a caller."""

    owner: Owner
    after: OneTask | None = None
    """The last task that an earlier command is done with."""


def count_tasks(engine: Engine, given: OfCaller) -> JsonObject:
    """Return how many of the next tasks have ended.

    {"running": count, "ended": count, "after": id or null}
    """
    page = engine.recorder.page(given.owner, given.after, MOST_COUNTED)
    running = sum(not task.has_ended for task in page.tasks)
    return {"running": running, "ended": len(page.tasks) - running, "after": page.next_after}


def cancel_tasks(engine: Engine, given: OfCaller) -> JsonObject:
    """Cancel those of the next tasks that have not ended.

    {"cancelled": count, "ended": count, "failed": [{"task_id", "reason"}], "after": id or null, "is_busy": bool}

    `is_busy` says that AWS throttles or does not answer, so that the next command had better wait.
    """
    page = engine.recorder.page(given.owner, given.after, MOST_CANCELLED)
    clock, done = engine.recorder.clock, _Cancelled(last=given.after)
    until = clock.now() + BUDGET
    for task in page.tasks:
        if clock.now() >= until:
            return done.answer(done.last)
        try:
            _cancel(engine, task, given.operator or "unknown", done)
        except (AtQuota, StoreBusy, WorkflowsUnavailable) as fault:
            engine.ports.report(fault)
            return done.answer(done.last, is_busy=True)
        done.last = task.task_id
    return done.answer(page.next_after)


def _cancel(engine: Engine, task: Task, operator: str, done: _Cancelled) -> None:
    if task.has_ended:
        done.ended += 1
        return
    try:
        engine.operations.cancel(task.owner, task.task_id, operator)
    except (TaskAlreadyEnded, UnknownTask):
        done.ended += 1
    except ProtocolError as error:
        done.failed.append({"task_id": task.task_id, "reason": error.message})
    except NeedsOperator:
        done.failed.append({"task_id": task.task_id, "reason": _DENIED})
    else:
        done.cancelled += 1


def redrive(engine: Engine, given: OfTask) -> JsonObject:
    """Let the workflow of an ended task go on as a new task, and return that.

    {"task_id": id, "status": status, "is_new": bool, "has_begun": bool}
    """
    made = engine.follow_ups.redrive(given.key, given.operator)
    return {
        "task_id": made.task.task_id,
        "status": modern_status(made.task),
        "is_new": made.is_new,
        "has_begun": made.has_begun,
    }


COMMANDS: Final[Commands] = {
    "redrive": Command(TASKS, OfTask, redrive),
    "count_tasks": Command(TASKS, OfCaller, count_tasks),
    "cancel_tasks": Command(TASKS, OfCaller, cancel_tasks),
}
