"""JSON-RPC messages: from the body of a POST, and back.

A body is one request, one notification or one response; batches are refused (M5, L6). An id is a string or an integer
and comes back as it came (M25). A message with a number that loses digits is still a message, and its sender gets an
answer; what has NaN in place of such a number never reaches a workflow, for nothing writes NaN.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeGuard, cast

from stepwire.errors import InvalidRequest, ParseError, ProtocolError, UnclearId
from stepwire.json_text import LARGEST_INTEGER, Json, JsonObject, JsonTextError, as_object, examine, glance, write

MessageId: TypeAlias = str | int
LONGEST_ID: Final = 256  # characters


@dataclass(frozen=True)
class Request:
    """A message that wants an answer."""

    id: MessageId
    method: str
    params: JsonObject
    inexact: str | None = None
    """Says why a number cannot be read exactly, in place of which is NaN; None: all can."""


@dataclass(frozen=True)
class Notification:
    """A message that wants none."""

    method: str
    params: JsonObject


@dataclass(frozen=True)
class Response:
    """What a client answers to a request of ours."""

    id: MessageId | None
    """None where an error names no request; MCP allows that."""
    result: JsonObject | None
    """None where the client answers with an error; NaN is in place of each number that loses digits."""


Message: TypeAlias = Request | Notification | Response


def read_object(body: bytes) -> JsonObject:
    """Read the one JSON object that a body must be, far enough to know whom to answer.

    Raises:
        ParseError: not JSON.
        InvalidRequest: a batch, or no object at all.
    """
    try:
        value = glance(body)
    except JsonTextError as error:
        raise ParseError(f"The body is not JSON: {error}.") from None
    if isinstance(value, list):
        raise InvalidRequest("Batches are not supported: send one JSON-RPC message a POST.")
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be one JSON-RPC message, a JSON object.")
    return cast(JsonObject, value)


def id_of(value: JsonObject) -> MessageId | None:
    """Give the id if there is one that can be answered to (M20)."""
    candidate = value.get("id")
    return candidate if is_id(candidate) else None


def message_of(body: bytes) -> Message:
    """Make a message of a body that is an object.

    Raises:
        InvalidRequest: it is none, or a key is given twice.
    """
    reading = examine(body)
    if reading.repeated is not None:
        kind = UnclearId if reading.outermost.count("id") > 1 else InvalidRequest
        raise kind(f"The body could be understood in two ways: {reading.repeated}.")
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
    return Request(_message_id(value), method, cast(JsonObject, params), reading.inexact)


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
    """Write the response that carries a result."""
    return write({"jsonrpc": "2.0", "id": message_id, "result": result})


def request_text(message_id: MessageId, method: str, params: JsonObject) -> str:
    """Write a request of ours."""
    return write({"jsonrpc": "2.0", "id": message_id, "method": method, "params": params})


def notification_text(method: str, params: JsonObject) -> str:
    """Write a notification."""
    return write({"jsonrpc": "2.0", "method": method, "params": params})


def error_text(message_id: MessageId | None, error: ProtocolError) -> str:
    """Write the response that carries an error; its id is null where the request's could not be read (record 0019)."""
    content: JsonObject = {"code": error.code, "message": error.message}
    if error.data is not None:
        content["data"] = error.data
    return write({"jsonrpc": "2.0", "id": message_id, "error": content})


def is_id(value: Json) -> TypeGuard[MessageId]:
    """Tell whether a value can be the id of a message."""
    if isinstance(value, str):
        return len(value) <= LONGEST_ID
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INTEGER
