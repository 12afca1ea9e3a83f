"""The fuzz targets: each takes the bytes of an input, and raises if the outcome is wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Final

from stepwire.manifests.model import fields, manifest_model
from stepwire.protocol.tokens import next_cursor
from tests.fuzz import manifests, mcp_requests, other_events, outputs, wire
from tests.fuzz.mutation import Octets, mutated
from tests.kits import TOOLS
from tests.server.anything import METHODS, SESSION_ID, STREAM, TASK_ID, VERSIONS

FINDS: Final = Path(__file__).parent / "finds"
"""One folder per target: inputs that once failed."""


@dataclass(frozen=True)
class Target:
    """One fuzz target."""

    about: str
    check: Callable[[bytes], bool]
    """Try an input; return False if AWS never sends such an input. Raises if the outcome is wrong."""
    seeds: Callable[[], list[bytes]]
    """Valid inputs to start with."""


_OF_EXTRAS: Final = [
    import_module(f"tests.extras.{path.parent.name}.fuzzing")
    for path in sorted((Path(__file__).parents[1] / "extras").glob("*/fuzzing.py"))
]
TARGETS: Final[Mapping[str, Target]] = {
    "requests": Target("function mcp, whole", mcp_requests.check, mcp_requests.seeds),
    "wire": Target("the parsers, each by itself", wire.check, wire.seeds),
    "events": Target("the other functions", other_events.check, other_events.seeds),
    "manifests": Target("the manifests' compiler", manifests.check, manifests.seeds),
    "outputs": Target("the shapes of outputs", outputs.check, outputs.seeds),
    **{one.NAME: Target(one.ABOUT, one.check, one.seeds) for one in _OF_EXTRAS},
}

_HEADERS: Final = (
    *("content-type", "accept", "origin", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"),
    *("last-event-id", "idempotency-key", "application/json", "text/event-stream", "application/*", "*/*"),
    *(
        "https://app.example",
        "=?base64?b3B0aW9uYWw=?=",
        "=?base64??=",
        "mcp-param-text",
        "mcp-param-count",
        "POST",
        "GET",
        "DELETE",
    ),
)
_MEMBERS: Final = (
    *("jsonrpc", "2.0", "id", "method", "params", "result", "error", "code", "message", "data", "name", "arguments"),
    *("task", "taskId", "ttl", "cursor", "nextCursor", "_meta", "progressToken", "traceparent", "requestId", "status"),
    *("inputResponses", "requestState", "notifications", "taskIds", "toolsListChanged", "protocolVersion", "scope"),
    *("capabilities", "clientInfo", "elicitation", "form", "url", "extensions", "io.modelcontextprotocol/tasks"),
    *("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities", "text", "count"),
    *("io.modelcontextprotocol/related-task", "stepwire/idempotencyKey", "action", "accept", "decline", "cancel"),
    *("content", "approval", "confirm", "amount", "claims", "jwt", "iam", "iss", "sub", "client_id", "token_use"),
    *("userId", "headers", "body", "isBase64Encoded", "parser"),
    *("sampling", "sampling/createMessage", "roots", "roots/list", "role", "assistant", "user", "model", "stopReason"),
    *("image", "audio", "image/png", "mimeType", "AAAA", "uri", "file:///", "tool_use", "folders"),
)
_OF_EVENTS: Final = (
    *("key", "mode", "requestedSchema", "type", "object", "properties", "required", "string", "number", "integer"),
    *("boolean", "array", "enum", "enumNames", "oneOf", "anyOf", "const", "title", "description", "default", "format"),
    *("minimum", "maximum", "minLength", "maxLength", "items", "minItems", "maxItems", "email", "date-time", "$ref"),
    *(
        "x-mcp-header",
        "$schema",
        "$id",
        "$defs",
        "pattern",
        "https://json-schema.org/draft/2020-12/schema",
        "http://127.0.0.1/",
    ),
    *("https://user@host/", "https://[::1/", "timeout_seconds", "execution_arn", "task_token", "detail", "detail-type"),
    *("progress", "total", "resources", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "RUNNING", "output", "cause"),
    *("Stepwire.ProtocolError", '{"code": 1001, "message": "no"}', '{"errorMessage": "it broke"}', "isError"),
    *("structuredContent", '{"content": [{"type": "text", "text": "a"}]}', "image", "resource", "blob", "OldImage"),
    *("NewImage", "eventName", "INSERT", "MODIFY", "REMOVE", "userIdentity", "SequenceNumber", "requests", "inputs"),
)
_OF_MANIFESTS: Final = (
    *dict.fromkeys(name for path in fields(manifest_model()) for name in path.split(".")),
    *("each", "resource_link", "optional", "forbidden", "{total}", "{{", "}}", "{principal}/", "{task_id}/", "{text}"),
    *("[*]", "[]", "[?", "&a", "@", "`1`", "sort_by(@, &a)", "join(', ', @)", "to_string(@)", "length(@)", "[@,@]"),
    *("!!int", "!!float", "!!bool", "!!binary", "!!set", "!!timestamp", "!!omap", "*a", "P7D", "PT0.1S"),
    *("<<:", "---", "|\n", ">\n", "? ", "2026-01-01", "0x1f", "1:30", ".inf", ".nan", "~"),
)
WORDS: Final = (
    *(*_HEADERS, *_MEMBERS, *_OF_EVENTS, *_OF_MANIFESTS, *METHODS, *VERSIONS, *mcp_requests.task_ids()),
    *(
        f"{TASK_ID}.1",
        f"{TASK_ID}.2",
        f"{TASK_ID}.3",
        f"{TASK_ID}.2.get.0.a-task",
        f"{TASK_ID}.2.result.0.a-task",
        SESSION_ID,
        STREAM.last_event_id,
        *(tool.name for tool in TOOLS),
    ),
    *wire.LAWS,
    *(word for one in _OF_EXTRAS for word in one.WORDS),
    *(next_cursor(name)["nextCursor"] for name in ("optional", TASK_ID, "text")),
)
"""Words of the protocols, the events and the manifests."""


def changed(data: bytes, most: int, chance: Random, octets: Octets) -> bytes:
    """Change an input; the result has at most `most` bytes."""
    return mutated(data, most, chance, octets, WORDS)


def finds(name: str) -> list[Path]:
    """Return the inputs that once failed with a target."""
    return sorted((FINDS / name).glob("*.json")) + sorted((FINDS / name).glob("*.yaml"))
