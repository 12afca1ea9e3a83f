"""Lines: who waits for a turn at a tool with a limit hears how far it is."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from stepwire.hooks import EventType, Extra, OnChange

if TYPE_CHECKING:
    from stepwire.changes import BusEvent, ChangeServices, TaskChange


def _tell(_services: "ChangeServices", change: "TaskChange") -> "Iterable[BusEvent]":
    from stepwire.extras.lines.places import bus_events

    return bus_events(change)


def _types() -> tuple[EventType, ...]:
    from stepwire.extras.lines.places import TYPES

    return TYPES


EXTRA: Final = Extra(name="lines", on_change=OnChange(tell=_tell, types=_types))
