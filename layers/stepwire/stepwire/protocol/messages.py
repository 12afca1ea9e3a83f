"""JSON-RPC messages as data and as text, and the names that the protocol defines.

An id is a string or an integer, and the response repeats it with its type (M25).
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypeGuard

from msgspec import Struct

from stepwire.errors import ProtocolError
from stepwire.json_text import LARGEST_INTEGER, Json, JsonObject, write

MODERN_VERSIONS: Final = ("2026-07-28",)
# Newest first; only the first has tasks.
LEGACY_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
LEGACY_WITH_TASKS: Final = LEGACY_VERSIONS[0]
# A11: the version of a client that names none.
ASSUMED_VERSION: Final = LEGACY_VERSIONS[-1]

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
TASKS_CAPABILITY: Final[JsonObject] = {"extensions": {TASKS_EXTENSION: {}}}
CLIENT_CREDENTIALS_EXTENSION: Final = "io.modelcontextprotocol/oauth-client-credentials"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
MODEL_IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

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
