"""The tokens that clients keep for the server, so that it stores none: opaque text, which any header can hold.

Two kinds. A plain token (a session, a position on a stream, a cursor) is JSON in base64url. Its reader checks it like
any input, and looks its task up among those of the caller that sends it. A signed token is made with the stack's
secret: no client can forge or change it. A requestState is a signed payload (M45); its reader checks what it is bound
to: caller, tool, arguments and time.
An extra may encrypt what it gives to people besides.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from enum import Enum
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct, ValidationError, to_builtins

from stepwire.codec import value_of
from stepwire.errors import InvalidCursor, InvalidRequest, InvalidRequestState
from stepwire.json_text import (
    LARGEST_INTEGER,
    Json,
    JsonObject,
    as_object,
    equal_form,
    load_json,
    parse,
    write,
)
from stepwire.principal import Principal
from stepwire.protocol.messages import LONGEST_ID

# An event id holds the id of a request, and JSON may write each of its characters as six.
LONGEST: Final = 2_560  # characters of a plain token
LONGEST_STATE: Final = 4_096  # characters of a requestState
LONGEST_CURSOR: Final = 256  # characters
PAGE_SIZE: Final = 100  # of what has a URI
_IN_URI: Final = "://"
NO_PROGRESS_SENT: Final = -1.0  # progress begins at 0
_STATE: Final = "stepwire requestState 1"


# ---------------------------------------------------------------------------------------------------------------- plain


def wrap(value: Json) -> str:
    """Return a JSON value as a token: printable ASCII without white space."""
    return encode(write(value).encode())


def unwrap(text: str) -> Json:
    """Return the JSON value of a token; None if the text is no token."""
    if len(text) > LONGEST:
        return None
    try:
        return parse(decode(text))
    except ValueError:  # no base64, or no JSON that is read strictly
        return None


def encode(octets: bytes) -> str:
    """Return octets in base64url, without padding."""
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


def decode(text: str) -> bytes:
    """Return the octets of a text in base64url without padding; raise ValueError if it is none."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def cursor_of(params: JsonObject) -> str | None:
    """Return the cursor of a list. M40: it is opaque, so any other than the server's own is refused."""
    value = params.get("cursor")
    if value is not None and (not isinstance(value, str) or not 0 < len(value) <= LONGEST_CURSOR):
        raise InvalidCursor
    return value


def cursor_text_in(params: JsonObject) -> str | None:
    """Return the text in the cursor of a page of tools or tasks."""
    cursor = cursor_of(params)
    if cursor is None:
        return None
    try:
        return decode(cursor).decode()
    except ValueError:  # no base64, or no UTF-8
        raise InvalidCursor from None


def next_cursor(after: str | None) -> JsonObject:
    """Return `nextCursor`, made from the last name or id of a page; an empty object after the last page."""
    return {} if after is None else {"nextCursor": encode(after.encode())}


def page_of(member: str, ones: Iterable[JsonObject], params: JsonObject) -> JsonObject:
    """Return the page behind the cursor as a member of a result, with the cursor of the next page, if there is one.

    The order is that of the URIs. The cursor names the last one, which may be gone meanwhile.

    Raises:
        InvalidCursor: it names no URI.
    """
    after = cursor_text_in(params)
    if after is not None and _IN_URI not in after:
        raise InvalidCursor
    left = sorted((one for one in ones if after is None or one["uri"] > after), key=lambda one: one["uri"])
    page = left[:PAGE_SIZE]
    return {member: page, **next_cursor(page[-1]["uri"] if len(left) > len(page) else None)}


# --------------------------------------------------------------------------------------------------------------- signed


def sign(payload: JsonObject, secret: bytes) -> str:
    """Return a payload as a signed token."""
    body = encode(write(payload).encode())
    return f"{body}.{mac_of(_STATE, body, secret)}"


def is_signed(token: str, secret: bytes) -> bool:
    """Tell whether a token was signed with this secret and has not been changed since."""
    body, _, tag = token.partition(".")
    return len(token) <= LONGEST_STATE and hmac.compare_digest(mac_of(_STATE, body, secret).encode(), tag.encode())


def payload_of(token: str, secret: bytes) -> JsonObject:
    """Return the payload of a signed token.

    Raises:
        InvalidRequestState: it was not signed with this secret, or has been changed since.
    """
    if not is_signed(token, secret):
        raise InvalidRequestState("The requestState is not valid: call the tool again without it.")
    return as_object(load_json(decode(token.partition(".")[0]).decode()))


def mac_of(purpose: str, text: str, secret: bytes) -> str:
    """Return what shows that we wrote a text for a purpose: 43 characters."""
    return encode(hmac.digest(secret, f"{purpose}\n{text}".encode(), hashlib.sha256))


# ------------------------------------------------------------------------------------------------------- request states


class Kind(Enum):
    """What the next call with this requestState continues."""

    CONFIRM = "confirm"
    """A call that waits for its confirmation; its task, which does not exist yet, will get the task id."""
    FOLLOW = "follow"
    """A task that exists."""
    ASK = "ask"
    """A call that asks its user, and has no task."""


class Subject(Struct, frozen=True):
    """The call that a requestState is valid for."""

    owner: Principal
    tool: str
    arguments: JsonObject


class Continuation(Struct, frozen=True):
    """The state of a `tools/call` of 2026-07-28 between two of its requests (MRTR).

    It is valid for one caller, one tool, the same arguments and a limited time. A confirmed call gets the task id that
    its continuation holds, and a task id is created only once: presenting a continuation again starts nothing new.
    """

    kind: Kind
    task_id: str
    rounds: int = 0
    """How many rounds of the call have ended without its result."""
    progress_sent: float = NO_PROGRESS_SENT
    """The last progress that was sent to the client."""
    is_repeat: bool = False
    """Whether the call started nothing, because another call began its task."""


class _State(Struct, frozen=True):
    """What a requestState holds: the continuation, what it is valid for, and until when."""

    continuation: Continuation
    owner: Principal
    tool: str
    arguments: str
    """Digest of the arguments."""
    until: int
    """In milliseconds since 1970."""


def state_of(continuation: Continuation, subject: Subject, until: datetime, secret: bytes) -> str:
    """Return a continuation as a signed requestState."""
    milliseconds = round(until.timestamp() * 1000)
    state = _State(continuation, subject.owner, subject.tool, _digest_of(subject.arguments), milliseconds)
    return sign(to_builtins(state), secret)


def continuation_of(state: str, subject: Subject, at: datetime, secret: bytes) -> Continuation:
    """Return the continuation that a requestState holds.

    Raises:
        InvalidRequestState: it was tampered with, belongs to another call or caller, has expired, or was issued by
            another version of this server.
    """
    payload = payload_of(state, secret)
    try:
        held = value_of(payload, _State)
    except ValidationError:
        raise InvalidRequestState("The requestState cannot be read: call the tool again without it.") from None
    if (held.owner, held.tool, held.arguments) != (subject.owner, subject.tool, _digest_of(subject.arguments)):
        raise InvalidRequestState(
            "The requestState belongs to another call: repeat the same tool with the same arguments."
        )
    if held.until <= at.timestamp() * 1000:
        raise InvalidRequestState("The requestState has expired: call the tool again without it.")
    return held.continuation


def _digest_of(arguments: JsonObject) -> str:
    # Sorted: a client may order the members of an object differently when it calls again.
    text = json.dumps(equal_form(arguments), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16, person=b"stepwire").hexdigest()


# ------------------------------------------------------------------------------------------------ positions on a stream


_Count: TypeAlias = Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)]


class TaskNews(Struct, frozen=True, array_like=True, tag=1, forbid_unknown_fields=True):
    """A stream that waits for news of a task, and how much of them its client has received."""

    task_id: str
    is_call: bool
    """Whether a `tools/call` without a task opened the stream; else `tasks/result` did."""
    updated: _Count
    """When the task changed to the last status that was sent, in milliseconds since 1970."""
    progress: int | float = -1
    """The last progress that was sent."""
    is_repeat: bool = False
    """Whether the call started nothing, because another call began its task."""
    is_fetch: bool = False
    """Whether a call of `task_result` opened the stream; then it sends no progress: the token is of another call."""


class ToolRun(Struct, frozen=True, array_like=True, tag=2, forbid_unknown_fields=True):
    """A stream whose bodies each run one of Stepwire's own tools again."""

    tool: str
    arguments: JsonObject
    progress_token: str | int | None = None


class StreamPosition(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """How much a client has received of one stream."""

    message_id: (
        Annotated[str, Meta(max_length=LONGEST_ID)] | Annotated[int, Meta(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
    )
    """The JSON-RPC id of the request that opened the stream; its response must repeat it with its type."""
    awaited: TaskNews | ToolRun
    """What the stream waits for."""
    ends_at: _Count = 0
    """When the response comes at the latest, in milliseconds since 1970; 0: when the work ends."""
    sent_at: _Count = 0
    """When progress was last sent, or the stream began, in milliseconds since 1970."""
    asked: _Count = 0
    """Sequence number of the last question that was sent."""
    polls: _Count = 0
    """How often the client has resumed the stream."""
    has_ended: bool = False
    """Whether the response has been sent."""

    def event_id(self) -> str:
        """Return the position as an event id: printable ASCII, without white space."""
        return wrap(to_builtins(self))


def position_of(event_id: str) -> StreamPosition:
    """Return the position that an event id holds.

    Raises:
        InvalidRequest: this server did not issue the id.
    """
    with suppress(ValidationError):
        found = value_of(unwrap(event_id), StreamPosition)
        if found.event_id() == event_id:  # what is written otherwise, this server did not issue
            return found
    raise InvalidRequest("The Last-Event-ID was not issued by this server.")
