"""Read a body of server-sent events, more strictly than the format demands."""

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.wire_oracle.comparisons import is_object

# ------------------------------------------------------------------------------------------------------------ streams


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a body: a message, or none in the event that only gives an id."""

    event_id: str | None
    message: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class EventStream:
    """A whole body of events."""

    retry_ms: int | None
    events: tuple[Event, ...]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Give the messages in their order."""
        return [event.message for event in self.events if event.message is not None]

    @property
    def event_ids(self) -> list[str]:
        """Give the ids in their order."""
        return [event.event_id for event in self.events if event.event_id is not None]


def read_stream(body: str) -> EventStream:
    """Read a body of events; raise AssertionError where any reader could read it in another way.

    Narrower than the format: `retry` at the very start or nowhere, one line of data in each event, no comments.
    """
    assert body.endswith("\n\n"), "the body must end with a blank line, or its last event is lost"
    # Not only CR: Python's splitlines, which released clients use, also cuts at U+0085, U+2028 and U+2029.
    assert body.splitlines() == body.split("\n")[:-1], "the body must hold no other line end than LF"
    retry, rest = _retry_of(body)
    blocks = rest.removesuffix("\n\n").split("\n\n") if rest else []
    return EventStream(retry, tuple(_event(block) for block in blocks))


def _retry_of(body: str) -> tuple[int | None, str]:
    """Take the retry off, with the blank line that may follow it."""
    found = re.match(r"retry: ?([0-9]+)\n\n?", body)
    return (int(found[1]), body[found.end() :]) if found else (None, body)


def _event(block: str) -> Event:
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        name, colon, value = line.partition(":")
        assert colon, f"not a field: {line!r}"
        assert name in {"id", "data"}, f"no {name!r} is due in an event"
        assert name not in fields, f"two lines of {name!r} in one event"
        fields[name] = value.removeprefix(" ")
    assert "data" in fields, f"an event without a line of data is dropped by clients: {block!r}"
    return Event(fields.get("id"), _message(fields["data"]) if fields["data"] else None)


def _message(text: str) -> dict[str, Any]:
    try:
        message: Any = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise AssertionError(f"data is not JSON: {error}") from None
    assert is_object(message), "data must be one JSON-RPC message"
    return dict(message)


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
