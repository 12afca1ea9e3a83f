"""The position of a client on a stream that it polls. The event id holds all of it, so the server stores nothing.

An event id is input like any other: it is checked, and its task is looked up among those of the caller that sends it.
"""

from typing import Final

from msgspec import Struct

from stepwire.errors import InvalidRequest
from stepwire.json_text import LARGEST_INTEGER, Json
from stepwire.protocol.messages import MessageId, is_id
from stepwire.protocol.opaque import unwrap, wrap

_FORMAT: Final = 1


class StreamPosition(Struct, frozen=True):
    """How much a client has received of one stream."""

    message_id: MessageId
    """The JSON-RPC id of the request that opened the stream; its response must repeat it with its type."""
    task_id: str
    is_call: bool
    """Whether a `tools/call` without a task opened the stream; else `tasks/result` did."""
    updated: int
    """When the task changed to the last status that was sent, in milliseconds since 1970."""
    progress: float = -1
    """The last progress that was sent."""
    asked: int = 0
    """Sequence number of the last question that was sent."""
    polls: int = 0
    """How often the client has resumed the stream."""
    has_ended: bool = False
    """Whether the response has been sent."""
    ends_at: int = 0
    """When the response comes at the latest, in milliseconds since 1970; 0: when the work ends."""
    told_at: int = 0
    """When progress was told last, or the stream began, in milliseconds since 1970."""
    is_repeat: bool = False
    """Whether the call started nothing, because another call began its task."""
    is_fetch: bool = False
    """Whether a call of `task_result` opened the stream; then it tells no progress: the token is of another call."""

    def event_id(self) -> str:
        """Return the position as an event id: printable ASCII, without white space."""
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
            self.ends_at,
            self.told_at,
            int(self.is_repeat),
            int(self.is_fetch),
        ]
        return wrap(fields)


def position_of(event_id: str) -> StreamPosition:
    """Return the position that an event id holds.

    Raises:
        InvalidRequest: this server did not issue the id.
    """
    match unwrap(event_id):
        case [
            1,
            message_id,
            str(task_id),
            0 | 1 as is_call,
            updated,
            progress,
            asked,
            polls,
            0 | 1 as has_ended,
            ends_at,
            told_at,
            0 | 1 as is_repeat,
            0 | 1 as is_fetch,
        ] if (
            is_id(message_id)
            and _is_number(progress)
            and all(_is_count(count) for count in (updated, asked, polls, ends_at, told_at))
            and not any(isinstance(flag, bool) for flag in (is_call, has_ended, is_repeat, is_fetch))
        ):
            return StreamPosition(
                message_id,
                task_id,
                is_call == 1,
                updated,
                progress,
                asked,
                polls,
                has_ended == 1,
                ends_at,
                told_at,
                is_repeat == 1,
                is_fetch == 1,
            )
        case _:
            raise InvalidRequest("The Last-Event-ID was not issued by this server.")


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_INTEGER
