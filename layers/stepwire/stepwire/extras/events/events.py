"""The types of events that callers can have of their tasks, what they are events of, and what narrows them. Pure.

One change may be an event of two types: the end of a task is `task.finished` and `task.status_changed`. So a change is
recorded once, and its events are written when they are read or delivered. The types are what `events/list` shows and
every other method checks.

A cursor is a position in the record of a caller's events. It is neither secret nor signed: it is bound to its caller,
and opens nothing that the caller may not read.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from msgspec import Struct

from stepwire.changes import CallerEvent, TaskChange, caller_event, type_of_task_event
from stepwire.errors import InvalidCursor, InvalidParams, UnknownTask
from stepwire.hooks import EventType, Extra
from stepwire.json_text import Json, JsonObject, is_object
from stepwire.principal import Principal
from stepwire.protocol.tokens import unwrap, wrap
from stepwire.rendering import timestamp
from stepwire.tasks.ids import TaskId, task_id_of
from stepwire.tasks.task import Progress

FINISHED: Final = "task.finished"
INPUT_REQUIRED: Final = "task.input_required"
PROGRESSED: Final = "task.progressed"
STATUS_CHANGED: Final = "task.status_changed"

WEBHOOK: Final = "webhook"
POLL: Final = "poll"

_STATUSES: Final[JsonObject] = {
    "previousStatus": {"type": ["string", "null"], "description": "null: the task is new."},
    "isError": {"type": "boolean", "description": "Whether the tool failed; of completed tasks only."},
}
_PROGRESS: Final[JsonObject] = {
    "progress": {"type": "number"},
    "total": {"type": "number", "description": "Absent if it is not known."},
}
RETENTION: Final = timedelta(days=7)
"""How long a change is kept, and recorded for a caller who has asked for events."""
SLACK: Final = RETENTION / 2
"""A record stays open longer than was asked for by so much, so that most polls write nothing."""
_SECOND: Final = timedelta(seconds=1)
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
LARGEST_NUMBER: Final = 10**15 - 1
_MARK: Final = "e1"


def _of_statuses(description: str) -> JsonObject:
    return type_of_task_event(description, _STATUSES, "previousStatus")


_TYPES: Final[dict[str, JsonObject]] = {
    FINISHED: _of_statuses("A task has ended: it is completed, failed or cancelled."),
    INPUT_REQUIRED: _of_statuses("A task waits for an answer."),
    PROGRESSED: type_of_task_event("A running task has come about a tenth of its way further.", _PROGRESS, "progress"),
}
_EACH_CHANGE: Final = _of_statuses("A task is new, or its status has changed.")


def shown_types(added: Iterable[EventType]) -> dict[str, JsonObject]:
    """Return what is shown of each type of event: of this extra's, and of those that others add.

    Types for some callers alone come last, and before them the one that most events are of.
    """
    for_all, for_some = dict[str, JsonObject](), dict[str, JsonObject]()
    for one in added:
        (for_some if one.is_for else for_all)[one.name] = one.shown
    return {**_TYPES, **for_all, STATUS_CHANGED: _EACH_CHANGE, **for_some}


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


def filter_of(name: str, known: Sequence[str], arguments: Json) -> Filter:
    """Return the filter of a type.

    Args:
        name: of the type.
        known: the names of the arguments that it takes.
        arguments: what the caller gave.

    Raises:
        InvalidParams: the arguments do not match the type's `inputSchema`.
        UnknownTask: no task of any caller has such an id.
    """
    if arguments is None:
        return Filter(name)
    if not is_object(arguments):
        raise InvalidParams("params.arguments must be an object.")
    values = cast(JsonObject, arguments)
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


def matches(event: CallerEvent, wanted: Filter) -> bool:
    """Tell whether a caller wants to hear of this."""
    is_wanted = wanted.name in event.names and wanted.tool in (None, event.data["tool"])
    return is_wanted and wanted.task_id in (None, event.data.get("taskId"))


def written(event: CallerEvent, name: str) -> JsonObject:
    """Write an event, as one of the types that it is."""
    return {
        "eventId": f"{event.id}.{name.removeprefix('task.')}",
        "name": name,
        "timestamp": timestamp(event.at),
        "data": event.data,
        **({"_meta": event.trace.context} if event.trace else {}),
    }


class Recorded(Struct, frozen=True):
    """An event in the record of its caller."""

    number: int
    """In the order of the events, without gaps while the caller's are recorded."""
    event: CallerEvent


def _step(progress: Progress | None) -> int:
    """Return the events of progress so far: one for each tenth, or for twice as much if no total is known."""
    if progress is None:
        return -1
    if progress.total:
        return int(_STEPS * min(1.0, max(0.0, progress.done / progress.total)))
    return int(min(max(0.0, progress.done), 2.0**53)).bit_length()


def added_types(extras: Iterable[Extra]) -> tuple[EventType, ...]:
    """Return the types that other extras add."""
    return tuple(type_ for one in extras if one.on_change is not None for type_ in one.on_change.types())


def caller_events(services: Any, change: TaskChange, added: Iterable[EventType]) -> Iterator[CallerEvent]:
    """Yield what callers hear of a change: of status, of progress, and what the added types say."""
    event = task_event(change)
    if event is not None:
        yield event
    for one in added:
        yield from one.events(services, change)


def task_event(change: TaskChange) -> CallerEvent | None:
    """Return what the task's caller hears of a change of status, or of progress that is worth it; None of another."""
    if change.is_of_status:
        status = change.status
        narrow = {FINISHED: status in _ENDS, INPUT_REQUIRED: status == "input_required"}
        names = (*(name for name, is_one in narrow.items() if is_one), STATUS_CHANGED)
        is_error: JsonObject = {} if change.is_error is None else {"isError": change.is_error}
        return caller_event(names, change, {"previousStatus": change.previous_status, **is_error})
    before, after = change.before, change.after
    if before is None or after is None or after.has_ended or after.progress is None:
        return None
    if _step(after.progress) <= _step(before.progress):
        return None
    total: JsonObject = {} if after.progress.total is None else {"total": after.progress.total}
    return caller_event((PROGRESSED,), change, {"progress": after.progress.done, **total})


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
