"""An HTTP request and response, independent of any framework, and server-sent events in one complete body.

Nothing is streamed: the client polls for more (SSE polling). Released clients need these rules of a body: `retry` comes
first; an event with an id has a `data` line too; lines end in LF; and no data contains a character at which some reader
breaks a line.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct, field

from stepwire.principal import Caller


class HttpRequest(Struct, frozen=True):
    """A request to the endpoint, from a caller that API Gateway has authenticated."""

    method: str
    headers: Mapping[str, str]
    """By lower-case name; API Gateway joins repeated headers with a comma."""
    body: bytes
    caller: Caller
    query: str = ""
    """Of the URL, as it came."""
    deadline: datetime | None = None
    """When Lambda ends the invocation, after which the client gets no response; None: not known."""


class HttpResponse(Struct, frozen=True):
    """A complete response; its body is never streamed."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


CONTENT_TYPE: Final = "text/event-stream"
# JSON does not escape these, and Python's `splitlines`, which some clients use, breaks lines at them.
_LINE_ENDS: Final = str.maketrans({character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"})


class ServerSentEvent(Struct, frozen=True):
    """One event: JSON text, or no data, which only carries the id."""

    data: str = ""
    id: str | None = None


def body_of(events: Iterable[ServerSentEvent], retry_ms: int | None = None) -> str:
    """Return the body of a response.

    Args:
        events: in their order.
        retry_ms: how long the client must wait before it polls again, in milliseconds.
    """
    retry = "" if retry_ms is None else f"retry: {retry_ms}\n\n"
    return retry + "".join(map(_written, events))


def _written(event: ServerSentEvent) -> str:
    named = "" if event.id is None else f"id: {event.id}\n"
    return f"{named}data: {event.data.translate(_LINE_ENDS)}\n\n"
