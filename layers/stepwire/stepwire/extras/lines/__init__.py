"""Lines: a tool's limit of executions at once, and the order in which its callers' calls wait for a turn."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from stepwire.hooks import EventType, Extra, ManifestFields, OnChange

if TYPE_CHECKING:
    from stepwire.changes import BusEvent, ChangeServices, TaskChange


def _fields() -> ManifestFields[Any]:
    from stepwire.extras.lines.manifest import FIELDS

    return FIELDS


def _tell(_services: "ChangeServices", change: "TaskChange") -> "Iterable[BusEvent]":
    from stepwire.extras.lines.places import bus_events

    return bus_events(change)


def _types() -> tuple[EventType, ...]:
    from stepwire.extras.lines.places import TYPES

    return TYPES


EXTRA: Final = Extra(name="lines", fields=_fields, on_change=OnChange(tell=_tell, types=_types))
