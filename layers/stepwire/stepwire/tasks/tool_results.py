"""A CallToolResult that a workflow writes itself, told from any other output by its shape.

Strict on purpose: a block of content that a client's types refuse makes the whole response unreadable for it, so an
output that is almost a CallToolResult is data like any other.
"""

from typing import Final, TypeGuard

from stepwire.json_text import Json, JsonObject, as_object, write
from stepwire.schemas import violations_of

_TEXT: Final[JsonObject] = {"type": "string"}
_URI: Final[JsonObject] = {"type": "string", "format": "uri"}
# A pattern, because 2020-12 only notes contentEncoding and checks nothing.
_BASE64: Final[JsonObject] = {
    "type": "string",
    "pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
}
_META: Final[JsonObject] = {"type": "object"}
_ANNOTATIONS: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "audience": {"type": "array", "items": {"enum": ["user", "assistant"]}},
        "priority": {"type": "number", "minimum": 0, "maximum": 1},
        "lastModified": _TEXT,
    },
    "additionalProperties": False,
}


def _closed(required: JsonObject, optional: JsonObject) -> JsonObject:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _block(kind: str, required: JsonObject, optional: JsonObject | None = None) -> JsonObject:
    more = {**(optional or {}), "annotations": _ANNOTATIONS, "_meta": _META}
    return _closed({"type": {"const": kind}, **required}, more)


def _contents(required: JsonObject) -> JsonObject:
    return _closed({"uri": _URI, **required}, {"mimeType": _TEXT, "_meta": _META})


_CONTENT: Final = (
    _block("text", {"text": _TEXT}),
    _block("image", {"data": _BASE64, "mimeType": _TEXT}),
    _block("audio", {"data": _BASE64, "mimeType": _TEXT}),
    _block("resource", {"resource": {"oneOf": [_contents({"text": _TEXT}), _contents({"blob": _BASE64})]}}),
    _block(
        "resource_link",
        {"uri": _URI, "name": _TEXT},
        {"title": _TEXT, "description": _TEXT, "mimeType": _TEXT, "size": {"type": "integer", "minimum": 0}},
    ),
)
_SCHEMA: Final = write(
    _closed(
        {"content": {"type": "array", "items": {"oneOf": _CONTENT}}},
        {"structuredContent": True, "isError": {"type": "boolean"}, "_meta": _META},
    )
)


def is_tool_result(value: Json) -> TypeGuard[JsonObject]:
    """Tell whether every client can read the value as a CallToolResult."""
    # The first look costs nothing: most outputs have no content, and need no schema compiled.
    return "content" in as_object(value) and not violations_of(_SCHEMA, value)
