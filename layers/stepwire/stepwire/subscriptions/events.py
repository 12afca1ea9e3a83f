"""What may happen to a task, the events that this is, and the arguments that narrow them. Pure.

One change may be an event of two types: the end of a task is `task.finished` and `task.status_changed`. So changes are
recorded, and events are made when they are read or delivered. The types are what `events/list` shows and every other
method checks.

A cursor is a position in the record of a caller's changes. It is neither secret nor signed: it is bound to its caller,
and opens nothing that the caller may not read.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from stepwire.errors import InvalidCursor, InvalidParams, UnknownTask
from stepwire.json_text import Json, JsonObject, is_object
from stepwire.principal import Principal
from stepwire.protocol.tokens import unwrap, wrap
from stepwire.rendering import line_data, modern_status, timestamp, tool_failed
from stepwire.tasks.ids import TaskId, created_at_of, task_id_of
from stepwire.tasks.limits import InLine
from stepwire.tasks.task import Completed, Progress, Task
from stepwire.tracing import Trace

FINISHED: Final = "task.finished"
INPUT_REQUIRED: Final = "task.input_required"
PROGRESSED: Final = "task.progressed"
IN_LINE: Final = "task.in_line"
STATUS_CHANGED: Final = "task.status_changed"
REQUESTED: Final = "approval.requested"

WEBHOOK: Final = "webhook"
POLL: Final = "poll"

_ARGUMENTS: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "Only tasks of this tool."},
        "taskId": {"type": "string", "description": "Only this task."},
    },
    "additionalProperties": False,
}
_TEXT: Final[JsonObject] = {"type": "string"}
_MOMENT: Final[JsonObject] = {"type": "string", "format": "date-time"}
_OF_A_TASK: Final[JsonObject] = {
    "taskId": {"type": "string", "description": "Id of the task; fetch it with tasks/get or the tool task_result."},
    "tool": _TEXT,
    "status": {"type": "string", "description": "Status of the task; also expired, and removed."},
    "version": {"type": "integer", "description": "Of two events of one task, the higher version is later."},
    "createdAt": _MOMENT,
    "lastUpdatedAt": _MOMENT,
    "expiresAt": _MOMENT,
}
_OF_A_CHANGE: Final[JsonObject] = {
    **_OF_A_TASK,
    "previousStatus": {"type": ["string", "null"], "description": "null: the task is new."},
    "isError": {"type": "boolean", "description": "Whether the tool failed; of completed tasks only."},
}
_OF_PROGRESS: Final[JsonObject] = {
    **_OF_A_TASK,
    "progress": {"type": "number"},
    "total": {"type": "number", "description": "Absent if it is not known."},
}
_OF_A_PLACE: Final[JsonObject] = {
    **_OF_A_TASK,
    "position": {"type": "integer", "description": "Its place in line, from 1; 0: its turn has come."},
    "beginsAt": {**_MOMENT, "description": "An estimate; absent where there is none."},
    "paused": {"type": "boolean", "description": "Whether an operator lets nobody begin; absent if not."},
}
_REQUIRED: Final = list(_OF_A_TASK)
_OF_A_QUESTION: Final[JsonObject] = {
    "approvalId": {"type": "string", "description": "Names the question; have it decided with approval_answer."},
    "tool": {"type": "string", "description": "Whose workflow asks."},
    "question": {"type": "string", "description": "Key of the question, as the workflow's author has named it."},
    "happened": {"type": "string", "description": "asked, reminded, or escalated to the second audience."},
    "audience": {"type": "string", "description": "What those are called who may decide it."},
    "approvals": {"type": "integer", "description": "How many people must approve."},
    "askedAt": _MOMENT,
    "expiresAt": _MOMENT,
}
_OF_QUESTIONS: Final[JsonObject] = {
    "description": "A question to others than the caller waits for a decision that you may make.",
    "inputSchema": {
        "type": "object",
        "properties": {"tool": {"type": "string", "description": "Only questions of this tool's work."}},
        "additionalProperties": False,
    },
    "payloadSchema": {"type": "object", "properties": _OF_A_QUESTION, "required": list(_OF_A_QUESTION)},
}
RETENTION: Final = timedelta(days=7)
"""How long a change is kept, and recorded for a caller who has asked for events."""
SLACK: Final = RETENTION / 2
"""A record stays open longer than was asked for by so much, so that most polls write nothing."""
_SECOND: Final = timedelta(seconds=1)
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
LARGEST_NUMBER: Final = 10**15 - 1
_MARK: Final = "e1"


def _type(description: str, properties: JsonObject, also_required: str) -> JsonObject:
    required = [*_REQUIRED, also_required]
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return {"description": description, "inputSchema": _ARGUMENTS, "payloadSchema": schema}


_TYPES: Final[dict[str, JsonObject]] = {
    FINISHED: _type("A task has ended: it is completed, failed or cancelled.", _OF_A_CHANGE, "previousStatus"),
    INPUT_REQUIRED: _type("A task waits for an answer.", _OF_A_CHANGE, "previousStatus"),
    PROGRESSED: _type("A running task has come about a tenth of its way further.", _OF_PROGRESS, "progress"),
    IN_LINE: _type("A task waits in line, has come half of its way there, or has its turn.", _OF_A_PLACE, "position"),
    STATUS_CHANGED: _type("A task is new, or its status has changed.", _OF_A_CHANGE, "previousStatus"),
}
EVENT_NAMES: Final = tuple(_TYPES)
"""Of the types that every caller is shown."""


def listed(modes: tuple[str, ...], *, is_approver: bool = False) -> list[JsonObject]:
    """Return the types of events as `events/list` shows them to a caller, with the modes of delivery."""
    types = _TYPES | ({REQUESTED: _OF_QUESTIONS} if is_approver else {})
    return [{"name": name, "delivery": list(modes), **shown} for name, shown in types.items()]


class Filter(Struct, frozen=True):
    """Which events a caller wants: the type, and optionally one tool or one task."""

    name: str
    tool: str | None = None
    task_id: TaskId | None = None

    @property
    def arguments(self) -> JsonObject:
        """The arguments that make this filter."""
        given = {"tool": self.tool, "taskId": self.task_id}
        return {name: value for name, value in given.items() if value is not None}


def filter_of(name: str, arguments: Json) -> Filter:
    """Return the filter of a known type.

    Raises:
        InvalidParams: the arguments do not match the type's `inputSchema`.
        UnknownTask: no task of any caller has such an id.
    """
    if arguments is None:
        return Filter(name)
    if not is_object(arguments):
        raise InvalidParams("params.arguments must be an object.")
    values = cast(JsonObject, arguments)
    known = ["tool"] if name == REQUESTED else ["tool", "taskId"]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InvalidParams(f"params.arguments.{unknown[0][:40]} is not known: {name} takes {' and '.join(known)}.")
    for key, value in values.items():
        if not isinstance(value, str):
            raise InvalidParams(f"params.arguments.{key} must be a string.")
    task_id = task_id_of(values.get("taskId"))
    if "taskId" in values and task_id is None:
        raise UnknownTask
    return Filter(name, values.get("tool"), task_id)


_ENDS: Final = frozenset({"completed", "failed", "cancelled"})
_STEPS: Final = 10  # events of progress from 0 to 100%


class Removal(Enum):
    """Why a task was removed before it ended."""

    EXPIRED = "expired"
    """Its ttl had passed."""
    REMOVED = "removed"
    """Its workflow could not be started, so the task was taken back; or an operator deleted the item."""


class Requested(Struct, frozen=True):
    """That a question waits for the decision of others, for one of those."""

    approval_id: str
    question: str
    """Its key."""
    happened: str
    audience: str
    """What those are called who may decide it."""
    approvals: int


class Change(Struct, frozen=True, omit_defaults=True):
    """What happened to a task: its status changed, it made progress, it came forward in line, or others are to decide.

    The last is in the records of those who may decide it, and says nothing else of the task: it has no id of a task,
    and its times are those of the question.
    """

    task_id: TaskId
    tool: str
    status: str
    """A status of MCP 2026-07-28, or a value of `Removal`."""
    previous_status: str | None
    """None for a new task; the same as `status` for progress."""
    version: int
    """The task's version after the change; a higher version is later."""
    at: datetime
    """When it happened."""
    created_at: datetime
    last_updated_at: datetime
    expires_at: datetime
    is_error: bool | None = None
    """Whether the tool failed; None for a task that is not completed."""
    progress: Progress | None = None
    """How far the task is; only for progress."""
    in_line: InLine | None = None
    """Where the task stands in line, in position 0 when its turn has come; only for that."""
    trace: Trace | None = None
    """What the call that made the task continues."""
    requested: Requested | None = None
    """A question to others; only for one of those."""

    @property
    def id(self) -> str:
        """The same for the same change.

        A call that is repeated after its task was taken back makes the task anew, with the same id and versions: the
        id has the seconds from the first creation, whose time is in the task's id.
        """
        if self.requested is not None:
            return f"{self.requested.approval_id}-{self.version}"
        late = (self.created_at - created_at_of(self.task_id)) // _SECOND
        return f"{self.task_id}-{self.version}" + (f"-{late}" if late else "")

    def is_of(self, name: str) -> bool:
        """Tell whether this change is an event of a type."""
        others = {REQUESTED: self.requested, PROGRESSED: self.progress, IN_LINE: self.in_line}
        its = [one for one, data in others.items() if data is not None]
        if its or name in others:
            return name in its
        matches = {FINISHED: self.status in _ENDS, INPUT_REQUIRED: self.status == "input_required"}
        return matches.get(name, name == STATUS_CHANGED)

    def matches(self, wanted: Filter) -> bool:
        """Tell whether a caller of this task wants to hear of this change."""
        is_tool = wanted.tool in (None, self.tool)
        return self.is_of(wanted.name) and is_tool and wanted.task_id in (None, self.task_id)

    def event(self, name: str) -> JsonObject:
        """Return this change as an event of a type that it is of."""
        return {
            "eventId": f"{self.id}.{name.removeprefix('task.')}",
            "name": name,
            "timestamp": timestamp(self.at),
            "data": self._data(),
            **({"_meta": self.trace.context} if self.trace else {}),
        }

    def _data(self) -> JsonObject:
        if self.requested is not None:
            return {
                "approvalId": self.requested.approval_id,
                "tool": self.tool,
                "question": self.requested.question,
                "happened": self.requested.happened,
                "audience": self.requested.audience,
                "approvals": self.requested.approvals,
                "askedAt": timestamp(self.created_at),
                "expiresAt": timestamp(self.expires_at),
            }
        shown: JsonObject = {"taskId": self.task_id, "tool": self.tool, "status": self.status}
        if self.progress is not None:
            shown["progress"] = self.progress.done
            shown |= {} if self.progress.total is None else {"total": self.progress.total}
        elif self.in_line is not None:
            shown |= line_data(self.in_line)
        else:
            shown["previousStatus"] = self.previous_status
            shown |= {} if self.is_error is None else {"isError": self.is_error}
        return {
            **shown,
            "version": self.version,
            "createdAt": timestamp(self.created_at),
            "lastUpdatedAt": timestamp(self.last_updated_at),
            "expiresAt": timestamp(self.expires_at),
        }


class OwnedChange(Struct, frozen=True):
    """A change of a caller's task."""

    owner: Principal
    change: Change

    def detail(self) -> JsonObject:
        """Return a change of status, or of the place in line, as Stepwire publishes it for other systems.

        It has no content of the task (arguments, result, questions, messages, errors), because a subscriber need not be
        allowed to read the task. Each change has its own version, so subscribers can drop duplicates and order them.
        """
        change = self.change
        return {
            "event_id": change.id,
            "task_id": change.task_id,
            "tool": change.tool,
            "status": change.status,
            **(_status_detail(change) if change.in_line is None else _place_detail(change.in_line)),
            "principal": self.owner,
            "version": change.version,
            "created_at": timestamp(change.created_at),
            "last_updated_at": timestamp(change.last_updated_at),
            "expires_at": timestamp(change.expires_at),
            **(change.trace.context if change.trace else {}),
        }


def _status_detail(change: Change) -> JsonObject:
    is_error: JsonObject = {} if change.is_error is None else {"is_error": change.is_error}
    return {"previous_status": change.previous_status, **is_error}


def _place_detail(place: InLine) -> JsonObject:
    begins_at = None if place.begins_at is None else timestamp(place.begins_at)
    return {"position": place.position, "begins_at": begins_at, "is_paused": place.is_paused}


class Recorded(Struct, frozen=True):
    """A change in the record of its caller."""

    number: int
    """In the order of the changes, without gaps while the caller's changes are recorded."""
    change: Change


def _step(progress: Progress | None) -> int:
    """Return the events of progress so far: one for each tenth, or for twice as much if no total is known."""
    if progress is None:
        return -1
    if progress.total:
        return int(_STEPS * min(1.0, max(0.0, progress.done / progress.total)))
    return int(min(max(0.0, progress.done), 2.0**53)).bit_length()


def _half(place: InLine | None) -> tuple[int, bool]:
    """Return what changes each time that a place has come half of its way forward."""
    return (0, False) if place is None else (place.position.bit_length(), place.is_paused)


def change_on_save(before: Task | None, after: Task) -> OwnedChange | None:
    """Return the change of a saved task: of its status, or a place in line or progress worth an event; None if none."""
    status, previous = modern_status(after.status), None if before is None else modern_status(before.status)
    if status != previous:
        return _change_of(after, status, previous)
    if before is None or after.has_ended:
        return None
    if _half(after.in_line) != _half(before.in_line):
        return _change_of(after, status, status, in_line=after.in_line or InLine(0))
    if _step(after.progress) <= _step(before.progress):
        return None
    return _change_of(after, status, status, after.progress)


def change_on_removal(last: Task, why: Removal, at: datetime) -> OwnedChange | None:
    """Return the change of a removed task; None if it had ended, because its end was told already."""
    if last.has_ended:
        return None
    found = _change_of(last, why.value, modern_status(last.status))
    return replace(found, change=replace(found.change, version=last.version + 1, at=at))


def _change_of(
    task: Task,
    status: str,
    previous_status: str | None,
    progress: Progress | None = None,
    in_line: InLine | None = None,
) -> OwnedChange:
    change = Change(
        task.task_id,
        task.work.tool,
        status,
        previous_status,
        task.version,
        task.last_updated_at,
        task.created_at,
        task.last_updated_at,
        task.expires_at,
        tool_failed(task.status) if isinstance(task.status, Completed) else None,
        progress,
        in_line,
        task.origin.trace,
    )
    return OwnedChange(task.owner, change)


class Position(Struct, frozen=True):
    """How far a caller has read."""

    number: int
    """The number of the last change that was read or passed over."""
    at: datetime
    """When the caller had read so far."""
    quiet_since: datetime | None = None
    """When a caller who polls last got an event, or began to poll; None: not known."""


class Head(Struct, frozen=True):
    """The end of a caller's record."""

    number: int
    """The number of the last recorded change; before the first, where the numbers of this record begin."""
    since: datetime
    """From when on all changes are recorded."""
    latest: tuple[str, ...] = ()
    """Marks of the changes that were recorded last, in the form of the store: the stream may give them again."""


class Start(Struct, frozen=True):
    """Where reading begins."""

    position: Position
    is_truncated: bool
    """Whether changes between the caller's cursor and this position may have been missed."""


def cursor_of(owner: Principal, position: Position) -> str:
    """Return the cursor of a position."""
    moments = [int(one.timestamp() * 1000) for one in (position.at, position.quiet_since or position.at)]
    return wrap([_MARK, _digest(owner), *moments, position.number])


def position_of(owner: Principal, cursor: str | None) -> Position | None:
    """Return the position of a cursor; None for none.

    Raises:
        InvalidCursor: this server has not given it to this caller.
    """
    if cursor is None:
        return None
    match unwrap(cursor):
        case [str(mark), str(digest), int(at), int(quiet), int(number)] if (mark, digest) == (_MARK, _digest(owner)):
            if 0 <= number <= LARGEST_NUMBER and all(0 <= one < _LATEST.timestamp() * 1000 for one in (at, quiet)):
                return Position(number, *(datetime.fromtimestamp(one / 1000, UTC) for one in (at, quiet)))
        case _:
            pass
    raise InvalidCursor


def start_of(position: Position | None, head: Head, at: datetime, longest: timedelta | None) -> Start:
    """Return where reading begins: at the caller's position, or now if that was missed or is None.

    `longest`: the caller wants no events that are older; None: all.
    """
    if position is None:
        return Start(Position(head.number, at), is_truncated=False)
    if position.at < max(head.since, at - RETENTION):
        return Start(Position(head.number, at), is_truncated=True)
    return Start(position, is_truncated=longest is not None and position.at < at - longest)


def _digest(owner: Principal) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()[:12]
