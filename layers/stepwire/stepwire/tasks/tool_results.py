"""Recognize a CallToolResult that a workflow wrote itself, by its shape.

The check is strict: a content block that a client's schema refuses makes the whole response unreadable for the client.
Output that is almost a CallToolResult is therefore treated as plain data.
"""

from typing import Final, TypeGuard, cast

from stepwire.json_text import Json, JsonObject, as_object, is_object, load_json, write
from stepwire.schemas.validation import conforms

MOST_BLOCKS: Final = 1_000
_TEXT: Final[JsonObject] = {"type": "string"}
_URI: Final[JsonObject] = {"type": "string", "format": "uri"}
# A pattern, because JSON Schema 2020-12 does not validate contentEncoding.
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


def _block(kind: str, required: JsonObject, optional: JsonObject) -> JsonObject:
    more = {**optional, "annotations": _ANNOTATIONS, "_meta": _META}
    return _closed({"type": {"const": kind}, **required}, more)


def _contents(required: JsonObject) -> JsonObject:
    return _closed({"uri": _URI, **required}, {"mimeType": _TEXT, "_meta": _META})


_CONTENT: Final = {
    kind: write(_block(kind, required, optional))
    for kind, required, optional in (
        ("text", {"text": _TEXT}, {}),
        ("image", {"data": _BASE64, "mimeType": _TEXT}, {}),
        ("audio", {"data": _BASE64, "mimeType": _TEXT}, {}),
        ("resource", {"resource": {"oneOf": [_contents({"text": _TEXT}), _contents({"blob": _BASE64})]}}, {}),
        (
            "resource_link",
            {"uri": _URI, "name": _TEXT},
            {"title": _TEXT, "description": _TEXT, "mimeType": _TEXT, "size": {"type": "integer", "minimum": 0}},
        ),
    )
}
"""Schema of each content block type, looked up by type: an `anyOf` would cost as much as all five checks."""
_MEMBERS: Final = frozenset({"content", "structuredContent", "isError", "_meta"})


_RESERVED: Final = frozenset({"modelcontextprotocol", "mcp", "stepwire"})
RESERVED_WORDS: Final = "ui, and names with modelcontextprotocol, mcp, stepwire before the slash, are reserved"


def is_reserved(name: str) -> bool:
    """Tell whether a name in `_meta` is the protocol's or Stepwire's own, so that no workflow sets it."""
    prefix, slash, _ = name.rpartition("/")
    return (name if not slash else prefix) == "ui" or bool(slash and _RESERVED & set(prefix.split(".")))


def is_tool_result(value: Json) -> TypeGuard[JsonObject]:
    """Tell whether every client can read the value as a CallToolResult of at most `MOST_BLOCKS` blocks."""
    # The cheap checks of the shape come first: most outputs are not a CallToolResult, and some are long.
    members = as_object(value)
    content = members.get("content")
    if not isinstance(content, list) or members.keys() - _MEMBERS or not _has_right_flags(members):
        return False
    blocks = cast(list[Json], content)
    return len(blocks) <= MOST_BLOCKS and all(map(_is_block, blocks))


def _has_right_flags(members: JsonObject) -> bool:
    return isinstance(members.get("isError", False), bool) and is_object(members.get("_meta", {}))


def _is_block(block: Json) -> bool:
    kind = as_object(block).get("type")
    return isinstance(kind, str) and kind in _CONTENT and conforms(_CONTENT[kind], block)


def block_fields() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the types of content blocks, each with the names of its members and of those that it must have."""
    schemas = {kind: load_json(schema) for kind, schema in _CONTENT.items()}
    return {kind: (tuple(schema["properties"]), tuple(schema["required"])) for kind, schema in schemas.items()}
