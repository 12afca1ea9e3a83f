"""The one door for operators: a command has a name, fields and a right, and there is one form of answer.

    {"command": NAME, "operator"?: ARN, field: value, ...}
    {"done": what the command returns} or {"refused": why}

The rule: a command is a row of a table. IAM permits commands by their right: an alias of function operator, by which it
must be invoked. So whoever may give some commands need not be able to give the others. What a command returns is for
the operator, and has no data of a caller.

At the end is the core's command, about a task; extras add theirs (`hooks.Extra.commands`).
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct, ValidationError, convert

from stepwire.engine.assembly import Engine
from stepwire.errors import CommandRefused, StoreBusy, WorkflowsUnavailable
from stepwire.json_text import JsonObject
from stepwire.principal import PRINCIPAL_PATTERN, Principal
from stepwire.rendering import modern_status
from stepwire.tasks.ids import ID_PATTERN, TaskId, TaskKey

TASKS: Final = "tasks"
"""The right to give commands about tasks."""
UNAVAILABLE: Final = "Step Functions does not answer, or may not be asked; nothing was done. Repeat the command."
BUSY: Final = "Others change the same items all the time, so perhaps nothing was done. Repeat the command."
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


# -------------------------------------------------------------------------------------------------------- about a task


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


COMMANDS: Final[Commands] = {"redrive": Command(TASKS, OfTask, redrive)}
