"""JSON-RPC messages, from the body of a POST and back; their parameters; and the names that the protocol defines.

A body is one request, one notification or one response; batches are refused (M5, L6). An id is a string or an integer,
and the response repeats it with its type (M25). A message with a number that loses digits is still read, so that its
sender gets an error. NaN stands for such a number, and never reaches a workflow, because `write` refuses it. The
parameters of a method are read one by one, and an error names the one that is wrong (M37).
"""

import base64
import re
from collections.abc import Mapping
from math import ceil
from typing import Any, Final, TypeAlias, TypeGuard, cast

from msgspec import Struct

from stepwire.errors import InvalidCursor, InvalidParams, InvalidRequest, ParseError, ProtocolError, UnclearId
from stepwire.json_text import LARGEST_INTEGER, Json, JsonObject, JsonTextError, Reading, examine, write

MODERN_VERSIONS: Final = ("2026-07-28",)
# Newest first; only the first has tasks.
LEGACY_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
LEGACY_WITH_TASKS: Final = LEGACY_VERSIONS[0]
# A11: the version of a client that names none.
ASSUMED_VERSION: Final = LEGACY_VERSIONS[-1]

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
TASKS_CAPABILITY: Final[JsonObject] = {"extensions": {TASKS_EXTENSION: {}}}
EVENTS_EXTENSION: Final = "io.modelcontextprotocol/events"
UI_EXTENSION: Final = "io.modelcontextprotocol/ui"
CARD_MIME_TYPE: Final = "text/html;profile=mcp-app"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
MODEL_IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

MessageId: TypeAlias = str | int
LONGEST_ID: Final = 256  # characters
_WRONG_ID: Final = f"The id must be an integer within ±(2^53 - 1), or a string of at most {LONGEST_ID} characters."


class Request(Struct, frozen=True):
    """A message that expects a response."""

    id: MessageId
    method: str
    params: JsonObject
    inexact: str | None = None
    """Why a number in the message cannot be read exactly; NaN stands for it. None: all numbers are exact."""


class Notification(Struct, frozen=True):
    """A message that expects no response."""

    method: str
    params: JsonObject


class Response(Struct, frozen=True):
    """The client's response to a request of the server."""

    id: MessageId | None
    """None if an error names no request; MCP allows that."""
    result: JsonObject | None
    """None if the client responds with an error; NaN stands for each number that loses digits."""


class Resumption(Struct, frozen=True):
    """A GET with a Last-Event-ID: the client asks for the rest of a response."""

    event_id: str


Message: TypeAlias = Request | Notification | Response


class Body(Struct, frozen=True):
    """The JSON object that a body holds, read once."""

    reading: Reading
    message_id: MessageId | None
    """The id that an error about this body answers to (M20); None where it has no valid one."""


def parse_body(octets: bytes) -> Body:
    """Return the one JSON object that a body must be.

    Raises:
        ParseError: not JSON.
        InvalidRequest: a batch, or no object at all.
    """
    try:
        reading = examine(octets)
    except JsonTextError as error:
        raise ParseError(f"The body is not JSON: {error}.") from None
    value = reading.value
    if isinstance(value, list):
        raise InvalidRequest("Batches are not supported: send one JSON-RPC message per POST.")
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be one JSON-RPC message, a JSON object.")
    message_id = cast(JsonObject, value).get("id")
    return Body(reading, message_id if is_id(message_id) else None)


def message_of(body: Body) -> Message:
    """Return the one message that a body holds.

    Raises:
        UnclearId: the id is given twice.
        InvalidRequest: the body is no message, or another key is given twice.
    """
    reading, message_id = body.reading, body.message_id
    if reading.duplicate_key is not None:
        kind = UnclearId if reading.top_level_keys.count("id") > 1 else InvalidRequest
        raise kind(f"The body is ambiguous: {reading.duplicate_key}.")
    value = cast(JsonObject, reading.value)
    if value.get("jsonrpc") != "2.0":
        raise InvalidRequest('The message must have "jsonrpc": "2.0".')
    if "method" not in value and ("result" in value or "error" in value):
        return _response_of(value, message_id)
    method = value.get("method")
    if not isinstance(method, str) or not method:
        raise InvalidRequest("The message must have a method, a string.")
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise InvalidRequest("params must be an object.")
    if "id" not in value:
        return Notification(method, cast(JsonObject, params))
    if message_id is None:
        raise InvalidRequest(_WRONG_ID)
    return Request(message_id, method, cast(JsonObject, params), reading.inexact_number)


def _response_of(value: JsonObject, message_id: MessageId | None) -> Response:
    names_no_request = "error" in value and "result" not in value and value.get("id") is None
    if message_id is None and not names_no_request:
        raise InvalidRequest(_WRONG_ID)
    if "error" in value and "result" not in value:
        return Response(message_id, None)
    if "error" in value or not isinstance(value["result"], dict):
        raise InvalidRequest("A response must have either a result, an object, or an error.")
    return Response(message_id, cast(JsonObject, value["result"]))


def result_text(message_id: MessageId, result: Mapping[str, Any]) -> str:
    """Return the text of a response with a result."""
    return write({"jsonrpc": "2.0", "id": message_id, "result": result})


def request_text(message_id: MessageId, method: str, params: JsonObject) -> str:
    """Return the text of a request of the server."""
    return write({"jsonrpc": "2.0", "id": message_id, "method": method, "params": params})


def notification_text(method: str, params: JsonObject) -> str:
    """Return the text of a notification."""
    return write({"jsonrpc": "2.0", "method": method, "params": params})


def error_text(message_id: MessageId | None, error: ProtocolError) -> str:
    """Return the text of a response with an error; its id is null if the request's was not read (record 0019)."""
    content: JsonObject = {"code": error.code, "message": error.message}
    if error.data is not None:
        content["data"] = error.data
    return write({"jsonrpc": "2.0", "id": message_id, "error": content})


def is_id(value: Json) -> TypeGuard[MessageId]:
    """Tell whether a value is a valid id of a message."""
    if isinstance(value, str):
        return len(value) <= LONGEST_ID
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INTEGER


# ----------------------------------------------------------------------------------------------------------- parameters


LONGEST_CURSOR: Final = 256  # characters
_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{8})([0-9a-f]{24})-([0-9a-f]{16})-([0-9a-f]{2})")
_ZEROS: Final = re.compile("0+")


def text_in(params: JsonObject, name: str) -> str:
    """Return a required string."""
    value = params.get(name)
    if not isinstance(value, str):
        raise InvalidParams(f"params.{name} must be a string.")
    return value


def optional_text_in(params: JsonObject, name: str) -> str | None:
    """Return an optional string."""
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidParams(f"params.{name} must be a string.")
    return value


def optional_object_in(params: JsonObject, name: str) -> JsonObject | None:
    """Return an optional object."""
    value = params.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidParams(f"params.{name} must be an object.")
    return cast(JsonObject | None, value)


def object_in(params: JsonObject, name: str) -> JsonObject:
    """Return a required object."""
    value = optional_object_in(params, name)
    if value is None:
        raise InvalidParams(f"params.{name} must be an object.")
    return value


def optional_milliseconds_in(params: JsonObject, name: str, shown: str) -> int | None:
    """Return an optional duration, rounded up because any number is allowed. `shown` is its name in errors."""
    value = params.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise InvalidParams(f"{shown} must be a positive number of milliseconds.")
    return ceil(value)


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
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:  # no base64, or no UTF-8
        raise InvalidCursor from None


def next_cursor(after: str | None) -> JsonObject:
    """Return `nextCursor`, made from the last name or id of a page; an empty object after the last page."""
    return {} if after is None else {"nextCursor": base64.urlsafe_b64encode(after.encode()).decode().rstrip("=")}


def progress_token_of(meta: JsonObject) -> MessageId | None:
    """Return the token for notifications of progress; None if the client wants none."""
    token = meta.get("progressToken")
    return token if is_id(token) else None


def trace_header_of(meta: JsonObject) -> str | None:
    """Return the X-Ray trace header for the execution that a request starts; None without a valid traceparent."""
    traceparent = meta.get("traceparent")
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None or _ZEROS.fullmatch(found[1] + found[2]) or _ZEROS.fullmatch(found[3]):
        return None
    return f"Root=1-{found[1]}-{found[2]};Parent={found[3]};Sampled={int(found[4], 16) & 1}"
