"""The types of events that callers can have of an endpoint with all extras."""

from collections.abc import Sequence
from typing import Final

from stepwire.changes import CallerEvent
from stepwire.composition import EXTRAS, switched_on
from stepwire.extras.events.events import added_types, shown_types, task_event
from stepwire.json_text import JsonObject
from stepwire.tasks.task import Task
from tests.changes import saved

ADDED: Final = added_types(switched_on(EXTRAS))
"""Those of other extras than events."""
EVENT_NAMES: Final = tuple(shown_types(one for one in ADDED if one.is_for is None))
"""Of the types that every caller is shown."""


def listed(modes: Sequence[str], *, is_approver: bool = False) -> list[JsonObject]:
    """Return the types as `events/list` shows them to a caller."""
    types = shown_types(one for one in ADDED if one.is_for is None or is_approver)
    return [{"name": name, "delivery": list(modes), **shown} for name, shown in types.items()]


def event_of(before: Task | None, after: Task) -> CallerEvent:
    """Return what a task's caller hears of a change of status, or of progress."""
    event = task_event(saved(before, after))
    assert event is not None
    return event
