"""What is told of a task in line: each time that it has come half of its way there, and when it has its turn."""

from collections.abc import Iterator
from typing import Final

from stepwire.changes import MOMENT, BusEvent, CallerEvent, TaskChange, bus_event, caller_event, type_of_task_event
from stepwire.hooks import EventType
from stepwire.json_text import JsonObject
from stepwire.rendering import line_data, timestamp
from stepwire.tasks.line import InLine

PLACE_CHANGE: Final = "Stepwire Task Place in Line"
IN_LINE: Final = "task.in_line"
_DATA: Final[JsonObject] = {
    "position": {"type": "integer", "description": "Its place in line, from 1; 0: its turn has come."},
    "beginsAt": {**MOMENT, "description": "An estimate; absent where there is none."},
    "paused": {"type": "boolean", "description": "Whether an operator lets nobody begin; absent if not."},
}


def place_after(change: TaskChange) -> InLine | None:
    """Return a task's place in line if that is news, position 0 when its turn has come; else None."""
    before, after = change.before, change.after
    if before is None or after is None or after.has_ended or change.is_of_status:
        return None
    return None if _half(after.in_line) == _half(before.in_line) else after.in_line or InLine(0)


def _half(place: InLine | None) -> tuple[int, bool]:
    """Return what changes each time that a place has come half of its way forward."""
    return (0, False) if place is None else (place.position.bit_length(), place.is_paused)


def bus_events(change: TaskChange) -> Iterator[BusEvent]:
    """Yield what other systems hear of a place in line."""
    place = place_after(change)
    if place is not None:
        begins_at = None if place.begins_at is None else timestamp(place.begins_at)
        said: JsonObject = {"position": place.position, "begins_at": begins_at, "is_paused": place.is_paused}
        yield bus_event(PLACE_CHANGE, change, said)


def _caller_events(_services: object, change: TaskChange) -> Iterator[CallerEvent]:
    place = place_after(change)
    if place is not None:
        yield caller_event((IN_LINE,), change, line_data(place))


_SHOWN: Final = type_of_task_event(
    "A task waits in line, has come half of its way there, or has its turn.", _DATA, "position"
)
TYPES: Final = (EventType(IN_LINE, _SHOWN, _caller_events),)
