"""Tool results of workflows' outputs: recognize a CallToolResult, and make one as the manifest says.

The check of a CallToolResult that a workflow wrote itself is strict: a content block that a client's schema refuses
makes the whole response unreadable for the client. Output that is almost a CallToolResult is treated as plain data.

A shape is JSON text that is stored with the task, so every reader gets the same result:

    structured   an expression, or false for none; without it, the whole output
    content      blocks of MCP, whose texts are templates; without it, the structured content as JSON text
    meta         members of `_meta`, whose texts are templates

A template is a text with {expressions} in it. Alone, "{expression}" stands for its value; if that is null, the whole
block or member is left out. In a longer text, null is nothing, and what is no text is written as JSON. A block with
`each` is made for each element of that list, and its expressions read the element.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeGuard, cast

from msgspec import Struct

from stepwire.json_text import Json, JsonObject, as_object, is_object, load_json, write
from stepwire.schemas.validation import conforms
from stepwire.tasks.expression_budget import LARGEST_VALUE, Budget, EvaluationFault
from stepwire.tasks.expressions import Expression, InvalidExpression, expression_of

WHOLE: Final = "@"
_LEFT_OUT: Final = object()
_QUOTES: Final = "'\"`"
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


_CONTENTS: Final[list[Json]] = [
    _closed({"uri": _URI, **required}, {"mimeType": _TEXT, "_meta": _META})
    for required in ({"text": _TEXT}, {"blob": _BASE64})
]
_CONTENT: Final = {
    kind: write(_closed({"type": _TEXT, **required}, {**optional, "annotations": _ANNOTATIONS, "_meta": _META}))
    for kind, required, optional in (
        ("text", {"text": _TEXT}, {}),
        ("image", {"data": _BASE64, "mimeType": _TEXT}, {}),
        ("audio", {"data": _BASE64, "mimeType": _TEXT}, {}),
        ("resource", {"resource": {"oneOf": _CONTENTS}}, {}),
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
    prefix, slash, _ = name.partition("/")
    return prefix == "ui" or bool(slash and _RESERVED & set(prefix.split(".")))


def is_tool_result(value: Json) -> TypeGuard[JsonObject]:
    """Tell whether every client can read the value as a CallToolResult of at most `MOST_BLOCKS` blocks."""
    # The cheap checks of the shape come first: most outputs are not a CallToolResult, and some are long.
    members = as_object(value)
    content = members.get("content")
    if not isinstance(content, list) or members.keys() - _MEMBERS or not is_object(members.get("_meta", {})):
        return False
    if not isinstance(members.get("isError", False), bool):
        return False
    blocks = cast(list[Json], content)
    return len(blocks) <= MOST_BLOCKS and all(map(_is_block, blocks))


def _is_block(block: Json) -> bool:
    kind = as_object(block).get("type")
    return isinstance(kind, str) and kind in _CONTENT and conforms(_CONTENT[kind], block)


def block_fields() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the types of content blocks, each with the names of its members and of those that it must have."""
    schemas = {kind: load_json(schema) for kind, schema in _CONTENT.items()}
    return {kind: (tuple(schema["properties"]), tuple(schema["required"])) for kind, schema in schemas.items()}


class Unshapable(Exception):
    """An output cannot be shaped; the message says where and why, without any part of the output."""


def shaped(output: Json, shape: str) -> JsonObject:
    """Return the CallToolResult that a shape makes of an output.

    Raises:
        Unshapable: an expression has no value, a block is none that clients can read, or it is too large or costly.
    """
    rules, maker = as_object(load_json(shape)), _Maker(Budget())
    structured = maker.structured(output, rules.get("structured", WHOLE))
    has_structured = structured is not _LEFT_OUT
    result: JsonObject = {
        "content": maker.content(output, rules["content"])
        if "content" in rules
        else [{"type": "text", "text": write(structured)}],
        **({"structuredContent": structured} if has_structured else {}),
        "isError": False,
    }
    if meta := maker.meta(output, rules.get("meta", {})):
        result["_meta"] = meta
    if not is_tool_result(result):
        raise Unshapable(_why_unreadable(result))
    if len(write(result).encode()) > LARGEST_VALUE:
        raise Unshapable(f"the result is larger than {LARGEST_VALUE} bytes of JSON")
    return result


class _Maker(Struct, frozen=True):
    """Makes the parts of one result, on one budget."""

    budget: Budget

    def structured(self, output: Json, expression: Json) -> Json:
        if expression is False:
            return _LEFT_OUT
        if expression == WHOLE:
            return output
        return self._value("output.structured", expression_of(str(expression)), output)

    def content(self, output: Json, blocks: list[Json]) -> list[Json]:
        made: list[Json] = []
        for number, block in enumerate(blocks):
            where = f"output.content.{number}"
            for element in self._elements(where, as_object(block), output):
                template = {name: part for name, part in as_object(block).items() if name != "each"}
                one = self._filled(where, template, element)
                made += [] if one is _LEFT_OUT else [one]
                if len(made) > MOST_BLOCKS:
                    raise Unshapable(f"at {where}: the result has more than {MOST_BLOCKS} blocks")
        return made

    def meta(self, output: Json, templates: JsonObject) -> JsonObject:
        made = {name: self._filled(f"output.meta.{name}", one, output) for name, one in templates.items()}
        return {name: one for name, one in made.items() if one is not _LEFT_OUT}

    def _elements(self, where: str, block: JsonObject, output: Json) -> list[Json]:
        if "each" not in block:
            return [output]
        found = self._value(f"{where}.each", expression_of(block["each"]), output)
        return cast(list[Json], found) if isinstance(found, list) else []

    def _filled(self, where: str, template: Json, output: Json) -> Json:
        """Fill a template in, at any depth; left out if an expression alone is null anywhere in it."""
        try:
            self.budget.charge(1)
            if isinstance(template, str):
                return self._text(where, template, output)
        except EvaluationFault as fault:
            raise Unshapable(f"at {where}: {fault}") from None
        if isinstance(template, list):
            items = [self._filled(where, one, output) for one in cast(list[Json], template)]
            return _LEFT_OUT if any(one is _LEFT_OUT for one in items) else items
        if isinstance(template, dict):
            parts = as_object(template)
            members = {name: self._filled(f"{where}.{name}", one, output) for name, one in parts.items()}
            return _LEFT_OUT if any(one is _LEFT_OUT for one in members.values()) else members
        return template

    def _text(self, where: str, template: str, output: Json) -> Json:
        parts = template_of(template)
        if len(parts) == 1 and isinstance(parts[0], Expression):
            value = self._value(where, parts[0], output)
            return _LEFT_OUT if value is None else value
        texts, size = list[str](), 0
        for part in parts:
            texts.append(part if isinstance(part, str) else self._written(where, part, output))
            size += len(texts[-1])
            if size > LARGEST_VALUE:
                raise Unshapable(f"at {where}: the text is larger than {LARGEST_VALUE} characters")
        return "".join(texts)

    def _written(self, where: str, part: Expression, output: Json) -> str:
        value = self._value(where, part, output)
        if isinstance(value, str):
            return value
        self.budget.charge(self.budget.size_of(value) / 100)
        return "" if value is None else write(value)

    def _value(self, where: str, expression: Expression, output: Json) -> Json:
        try:
            return expression.value_in(output, self.budget)
        except EvaluationFault as fault:
            raise Unshapable(f"at {where}: {expression.text}: {fault}") from None


@lru_cache(maxsize=512)
def template_of(text: str) -> tuple[str | Expression, ...]:
    """Return the parts of a template: texts, and the expressions in braces. `{{` and `}}` are braces.

    Raises:
        InvalidExpression: a brace is not closed, or an expression is none.
    """
    return tuple(part for part in _parts(text) if part != "")


def _parts(text: str) -> Iterator[str | Expression]:
    plain, at = list[str](), 0
    while at < len(text):
        if text[at : at + 2] in ("{{", "}}"):
            plain.append(text[at])
            at += 2
        elif text[at] == "}":
            raise InvalidExpression(f"at character {at + 1}: '}}' closes nothing; write '}}}}' for a brace")
        elif text[at] == "{":
            end = _end_of(text, at)
            yield "".join(plain)
            plain = []
            yield expression_of(text[at + 1 : end].strip())
            at = end + 1
        else:
            plain.append(text[at])
            at += 1
    yield "".join(plain)


def _end_of(text: str, start: int) -> int:
    """Return where the brace at `start` is closed; braces of the expression itself and in its quotes do not count."""
    depth, quote, at = 0, "", start
    while at < len(text):
        character = text[at]
        if quote:
            at += 1 if character == "\\" else 0
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        elif character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return at
        at += 1
    raise InvalidExpression(f"at character {start + 1}: '{{' is not closed; write '{{{{' for a brace")


def _why_unreadable(result: JsonObject) -> str:
    for number, block in enumerate(cast(list[Json], result["content"])):
        if not is_tool_result({"content": [block]}):
            kind = as_object(block).get("type")
            return f"block {number + 1} of the content, of type {kind}, is none that every client can read"
    return f"the result has more than {MOST_BLOCKS} blocks, or another form than clients can read"
