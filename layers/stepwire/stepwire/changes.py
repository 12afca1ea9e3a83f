"""A change of a task, and what others than its client hear of it. Pure.

Function status_changes reads changes from the table's stream, so that one is told if and only if it was written. The
core tells of changes of status; extras tell of more (`hooks.OnChange`). The rule: what is told has no content of the
task (arguments, result, questions, messages, errors), because who hears it need not be allowed to read the task.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeVar

from msgspec import Struct

from stepwire.audit import Audit
from stepwire.hooks import Extra, OnChange, TableGround
from stepwire.json_text import JsonObject
from stepwire.principal import Principal
from stepwire.rendering import modern_status, timestamp, tool_failed
from stepwire.tasks.ids import created_at_of
from stepwire.tasks.task import Completed, Task
from stepwire.tracing import Trace

STATUS_CHANGE: Final = "Stepwire Task Status Change"
_SECOND: Final = timedelta(seconds=1)
_Built = TypeVar("_Built")
MOMENT: Final[JsonObject] = {"type": "string", "format": "date-time"}
TEXT: Final[JsonObject] = {"type": "string"}
_ARGUMENTS: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "Only tasks of this tool."},
        "taskId": {"type": "string", "description": "Only this task."},
    },
    "additionalProperties": False,
}
_OF_A_TASK: Final[JsonObject] = {
    "taskId": {"type": "string", "description": "Id of the task; fetch it with tasks/get or the tool task_result."},
    "tool": TEXT,
    "status": {"type": "string", "description": "Status of the task; also expired, and removed."},
    "version": {"type": "integer", "description": "Of two events of one task, the higher version is later."},
    "createdAt": MOMENT,
    "lastUpdatedAt": MOMENT,
    "expiresAt": MOMENT,
}


class Removal(Enum):
    """Why a task was removed before it ended."""

    EXPIRED = "expired"
    """Its ttl had passed."""
    REMOVED = "removed"
    """Its workflow could not be started, so the task was taken back; or an operator deleted the item."""


class TaskChange(Struct, frozen=True):
    """Two states of a task, of which one follows the other."""

    before: Task | None
    """None: the task is new."""
    task: Task
    """As it is after the change; a removed task as it was."""
    at: datetime
    """When it was written; of a record of the stream, in whole seconds."""
    removal: Removal | None = None
    """Why the task is no more; None: it is there."""

    @property
    def after(self) -> Task | None:
        """The task after the change; None: it was removed."""
        return None if self.removal else self.task

    @property
    def status(self) -> str:
        """The status of MCP 2026-07-28 after the change, or why the task was removed."""
        return self.removal.value if self.removal else modern_status(self.task)

    @property
    def previous_status(self) -> str | None:
        """The status before it; None for a new task."""
        return None if self.before is None else modern_status(self.before)

    @property
    def is_of_status(self) -> bool:
        """Whether the status changed. The removal of an ended task is no news: its end was told."""
        return not self.task.has_ended if self.removal else self.status != self.previous_status

    @property
    def is_error(self) -> bool | None:
        """Whether the tool failed; None for a task that is not completed."""
        return tool_failed(self.task.status) if isinstance(self.task.status, Completed) else None

    @property
    def happened_at(self) -> datetime:
        """When it happened, as exactly as is known."""
        return self.at if self.removal else self.task.last_updated_at

    @property
    def version(self) -> int:
        """The version of the task after the change; a higher version is later."""
        return self.task.version + (1 if self.removal else 0)

    @property
    def id(self) -> str:
        """The same for the same change.

        A call that is repeated after its task was taken back makes the task anew, with the same id and versions: the
        id has the seconds from the first creation, whose time is in the task's id.
        """
        late = (self.task.created_at - created_at_of(self.task.task_id)) // _SECOND
        return f"{self.task.task_id}-{self.version}" + (f"-{late}" if late else "")


class BusEvent(Struct, frozen=True):
    """What other systems hear of a change, on the event bus."""

    detail_type: str
    detail: JsonObject


class CallerEvent(Struct, frozen=True, omit_defaults=True):
    """What one caller hears of a change, in their own record (MCP Events)."""

    owner: Principal
    names: tuple[str, ...]
    """The types of events that it is: the end of a task is one of two."""
    id: str
    """The same for the same change."""
    at: datetime
    """When it happened."""
    data: JsonObject
    """With `tool`, and with `taskId` if it is about a task of this caller."""
    trace: Trace | None = None
    """What the call that made the task continues."""


class ChangeServices(Struct, frozen=True):
    """What the extras that are on have for what they do with changes, built once for each function instance."""

    ground: TableGround
    extras: tuple[Extra, ...]
    audit: Audit
    report: Callable[[str, Exception], None]
    """Takes what could not be done, and the fault: the change is delivered again."""

    def of(self, build: Callable[[TableGround], _Built]) -> _Built:
        """Return what a function of an extra builds; it is called once for these services."""
        return self.ground.of(build)

    @property
    def listeners(self) -> Iterator[OnChange]:
        """What the extras do with changes, in order of precedence."""
        return (one.on_change for one in self.extras if one.on_change is not None)


def status_event(change: TaskChange) -> BusEvent | None:
    """Return what other systems hear of a change of status; None: the status is the same."""
    if not change.is_of_status:
        return None
    is_error: JsonObject = {} if change.is_error is None else {"is_error": change.is_error}
    return bus_event(STATUS_CHANGE, change, {"previous_status": change.previous_status, **is_error})


def bus_event(detail_type: str, change: TaskChange, said: JsonObject) -> BusEvent:
    """Return an event for other systems: what is said of a change, with the names, ids and times of its task.

    Each change has its own version, so subscribers can drop duplicates and order them.
    """
    task = change.task
    detail: JsonObject = {
        "event_id": change.id,
        "task_id": task.task_id,
        "tool": task.work.tool,
        "status": change.status,
        **said,
        "principal": task.owner,
        "version": change.version,
        "created_at": timestamp(task.created_at),
        "last_updated_at": timestamp(task.last_updated_at),
        "expires_at": timestamp(task.expires_at),
        **(task.origin.trace.context if task.origin.trace else {}),
    }
    return BusEvent(detail_type, detail)


def caller_event(names: tuple[str, ...], change: TaskChange, said: JsonObject) -> CallerEvent:
    """Return an event for the task's caller: what is said of a change, with the names, ids and times of the task."""
    task = change.task
    data: JsonObject = {
        "taskId": task.task_id,
        "tool": task.work.tool,
        "status": change.status,
        **said,
        "version": change.version,
        "createdAt": timestamp(task.created_at),
        "lastUpdatedAt": timestamp(task.last_updated_at),
        "expiresAt": timestamp(task.expires_at),
    }
    return CallerEvent(task.owner, names, change.id, change.happened_at, data, task.origin.trace)


def type_of_task_event(description: str, said: JsonObject, required: str) -> JsonObject:
    """Return the description and the schemas of such a type: of what is said, one member is always there."""
    schema: JsonObject = {"type": "object", "properties": {**_OF_A_TASK, **said}, "required": [*_OF_A_TASK, required]}
    return {"description": description, "inputSchema": _ARGUMENTS, "payloadSchema": schema}
