"""The types of events that callers can have of an endpoint with all extras."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from stepwire.changes import CallerEvent, Removal, TaskChange
from stepwire.composition import EXTRAS, switched_on
from stepwire.extras.events.events import added_types, shown_types, task_event
from stepwire.json_text import JsonObject
from stepwire.tasks.task import Task
from tests.fakes import START_OF_TIME

ADDED: Final = added_types(switched_on(EXTRAS))
"""Those of other extras than events."""
EVENT_NAMES: Final = tuple(shown_types(one for one in ADDED if one.is_for is None))
"""Of the types that every caller is shown."""


def listed(modes: Sequence[str], *, is_approver: bool = False) -> list[JsonObject]:
    """Return the types as `events/list` shows them to a caller."""
    types = shown_types(one for one in ADDED if one.is_for is None or is_approver)
    return [{"name": name, "delivery": list(modes), **shown} for name, shown in types.items()]


def saved(before: Task | None, after: Task) -> TaskChange:
    """Return the change of a task that was saved."""
    return TaskChange(before, after, START_OF_TIME)


def removed(last: Task, why: Removal, at: datetime) -> TaskChange:
    """Return the change of a task that was removed."""
    return TaskChange(last, last, at, why)


def event_of(before: Task | None, after: Task) -> CallerEvent:
    """Return what a task's caller hears of a change of status, or of progress."""
    event = task_event(saved(before, after))
    assert event is not None
    return event
