"""JSON-RPC messages: from the body of a POST, and back.

A body is one request, one notification or one response; batches are refused (M5, L6). An id is a string or an integer,
and the response repeats it with its type (M25). A message with a number that loses digits is still read, so that its
sender gets an error. NaN stands for such a number, and never reaches a workflow, because `write` refuses it.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypeGuard, cast

from msgspec import Struct

from stepwire.errors import InvalidRequest, ParseError, ProtocolError, UnclearId
from stepwire.json_text import LARGEST_INTEGER, Json, JsonObject, JsonTextError, Reading, as_object, examine, write

MessageId: TypeAlias = str | int
LONGEST_ID: Final = 256  # characters


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
    reading = body.reading
    if reading.duplicate_key is not None:
        kind = UnclearId if reading.top_level_keys.count("id") > 1 else InvalidRequest
        raise kind(f"The body is ambiguous: {reading.duplicate_key}.")
    value = as_object(reading.value)
    if value.get("jsonrpc") != "2.0":
        raise InvalidRequest('The message must have "jsonrpc": "2.0".')
    if "method" not in value and ("result" in value or "error" in value):
        return _response_of(value)
    method = value.get("method")
    if not isinstance(method, str) or not method:
        raise InvalidRequest("The message must have a method, a string.")
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise InvalidRequest("params must be an object.")
    if "id" not in value:
        return Notification(method, cast(JsonObject, params))
    return Request(_message_id(value), method, cast(JsonObject, params), reading.inexact_number)


def _response_of(value: JsonObject) -> Response:
    if "error" in value and "result" not in value:
        return Response(None if value.get("id") is None else _message_id(value), None)
    message_id = _message_id(value)
    if "error" in value or not isinstance(value["result"], dict):
        raise InvalidRequest("A response must have either a result, an object, or an error.")
    return Response(message_id, cast(JsonObject, value["result"]))


def _message_id(value: JsonObject) -> MessageId:
    if not is_id(value.get("id")):
        raise InvalidRequest(
            f"The id must be an integer within ±(2^53 - 1), or a string of at most {LONGEST_ID} characters."
        )
    return value["id"]


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
