"""Server-sent events in one whole body: nothing is streamed, and the client comes back for more (SSE polling).

The rules that released clients need: `retry` comes first, every event that has an id has data too, lines end in LF, and
no data holds a character at which some reader would break a line.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

CONTENT_TYPE: Final = "text/event-stream"
# JSON leaves these as they are; Python's splitlines, which some clients read with, takes them for line ends.
_LINE_ENDS: Final = str.maketrans({character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"})


@dataclass(frozen=True)
class ServerSentEvent:
    """One event: JSON text, or nothing, which only brings the id."""

    data: str = ""
    id: str | None = None


def body_of(events: Iterable[ServerSentEvent], retry_ms: int | None = None) -> str:
    """Write a body.

    Args:
        events: in their order.
        retry_ms: how many milliseconds the client shall wait before it comes back.
    """
    retry = "" if retry_ms is None else f"retry: {retry_ms}\n\n"
    return retry + "".join(map(_written, events))


def _written(event: ServerSentEvent) -> str:
    named = "" if event.id is None else f"id: {event.id}\n"
    return f"{named}data: {event.data.translate(_LINE_ENDS)}\n\n"
