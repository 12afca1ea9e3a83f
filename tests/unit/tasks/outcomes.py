"""The parts of a completed task that the tests of outcomes compare."""

from stepwire.json_text import JsonObject, write
from stepwire.tasks.events import WorkCompleted
from stepwire.tasks.outcomes import (
    ExecutionEnd,
    event_of,
)


def completed(end: ExecutionEnd, output_schema: JsonObject | None = None) -> WorkCompleted:
    """Give the event of an end that must be an answer."""
    event = event_of(end, None if output_schema is None else write(output_schema))
    assert isinstance(event, WorkCompleted)
    return event
