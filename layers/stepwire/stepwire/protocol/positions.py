"""Where a client is on a stream that it polls: all of it in the event id, so nobody has to remember.

An id is as trustworthy as any input: it is checked, and the task that it names is looked up under whoever presents it.
"""

from dataclasses import dataclass
from typing import Final

from stepwire.errors import InvalidRequest
from stepwire.json_text import LARGEST_INTEGER, Json
from stepwire.protocol.messages import MessageId, is_id
from stepwire.protocol.opaque import unwrap, wrap

_FORMAT: Final = 1


@dataclass(frozen=True)
class StreamPosition:
    """What a client has got on one stream."""

    message_id: MessageId
    """The JSON-RPC id of the request that opened the stream: its response must bear it, with its type."""
    task_id: str
    is_call: bool
    """Whether a plain `tools/call` opened it; else `tasks/result` did."""
    updated: int
    """The last change of the task that was told, in milliseconds since 1970."""
    progress: float = -1
    """The last progress that was told."""
    asked: int = 0
    """The number of the last question that was asked."""
    polls: int = 0
    """How often the client has come back."""
    has_ended: bool = False
    """Whether the response has been sent."""

    def event_id(self) -> str:
        """Write it as an event's id: printable ASCII, without white space."""
        fields = [
            _FORMAT,
            self.message_id,
            self.task_id,
            int(self.is_call),
            self.updated,
            self.progress,
            self.asked,
            self.polls,
            int(self.has_ended),
        ]
        return wrap(fields)


def position_of(event_id: str) -> StreamPosition:
    """Read an event's id.

    Raises:
        InvalidRequest: it is none of ours.
    """
    match unwrap(event_id):
        case [1, message_id, str(task_id), 0 | 1 as is_call, updated, progress, asked, polls, 0 | 1 as has_ended] if (
            is_id(message_id)
            and _is_number(progress)
            and all(_is_count(count) for count in (updated, asked, polls))
            and not any(isinstance(flag, bool) for flag in (is_call, has_ended))
        ):
            return StreamPosition(message_id, task_id, is_call == 1, updated, progress, asked, polls, has_ended == 1)
        case _:
            raise InvalidRequest("The Last-Event-ID is none that this server has given out.")


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_INTEGER
