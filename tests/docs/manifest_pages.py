"""What documents the fields of a manifest: docs/manifest.md for readers, docs/manifest.schema.json for editors.

    python -m tests.docs.manifest_pages    # writes both

Both are made of the models that check manifests (`stepwire.manifests.manifest`), and of their words.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any, Final, cast, get_args

from annotated_types import Ge, Le
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from stepwire.json_text import JsonObject, as_object
from stepwire.manifests.fields import LARGEST_ADDITION, Fields
from stepwire.manifests.manifest import LARGEST_SCHEMA
from stepwire.manifests.model import fields, manifest_model, model_of, shapes

MODEL: Final = manifest_model()
DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = DOCS / "manifest.md"
SCHEMA: Final = DOCS / "manifest.schema.json"
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
DURATION: Final = "^P([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+([.][0-9]+)?S)?)?$"
"""Stands in place of the format, which has no fractions of a second in JSON Schema."""
_SCHEMAS: Final = ("input_schema", "output_schema", "confirm.schema")
_FREE: Final = {
    "client_capabilities": "fields",
    "input.constants": "fields",
    "input.defaults": "fields",
    "output.meta": "fields",
    "output.structured": "text or `false`",
    "output.content": "list of fields",
    "race.arms": "list of fields",
    "icons": "list of fields",
    "race.arms.constants": "fields",
    "idempotency": "list of texts, or fields",
    "context": "text, or fields",
}
"""Types that are better said than derived."""
_HEAD: Final = """\
# Every field of a manifest

This page is made of the models that check manifests, by `python -m tests.docs.manifest_pages`; a test holds it to them.
[Tools and their manifests](tools.md) has an example, and says what a caller gets.

A duration is ISO 8601, such as PT30S, PT5M, PT2H or P7D. Editors that know JSON Schema complete and check fields as you
type, with [manifest.schema.json](manifest.schema.json). For the YAML extension of VS Code, let a manifest begin with
`# yaml-language-server: $schema=` and the path or URL of that file.

| field | type | default | range | effect |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the text of docs/manifest.md."""
    rows = (
        f"| `{path}` | {_type_of(path)} | {_default_of(path, field)} | {_range_of(path, field)} | {effects()[path]} |"
        for path, field in fields(MODEL).items()
    )
    return _HEAD + "\n".join(re.sub(r"(?<=\|) +(?= \|)", "", row) for row in rows) + "\n"


@cache
def effects() -> Mapping[str, str]:
    """Return the effect of each field: the text below it in the source, by the field's path."""
    return dict(_effects_of(MODEL, ""))


def _effects_of(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str]]:
    texts = {
        name: text
        for kind in reversed(model.__mro__)
        if issubclass(kind, Fields) and kind is not MODEL  # which has no source
        for name, text in _texts_in(kind)
    }
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        yield path, texts.get(name, "")
        if (inner := model_of(field)) is not None:
            yield from _effects_of(inner, f"{path}.")


def _texts_in(model: type[Fields]) -> Iterator[tuple[str, str]]:
    (definition,) = ast.parse(dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    for field, below in pairwise(definition.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, " ".join(text.split())
            case _:
                pass


@cache
def schema() -> JsonObject:
    """Return the JSON Schema of docs/manifest.schema.json."""
    made = as_object(_plain(MODEL.model_json_schema(by_alias=True)))
    models = as_object(made.pop("$defs"))
    properties = {name: _with_words(name, one, models) for name, one in as_object(made["properties"]).items()}
    made["required"] = [name for name in cast(list[str], made["required"]) if name != "state_machine"]
    made["anyOf"] = [{"required": ["state_machine"]}, {"required": ["race"]}]
    return {"$schema": DIALECT, "title": "Stepwire tool manifest", **made, "properties": properties}


def _with_words(path: str, written: Any, models: JsonObject) -> JsonObject:
    if path in _SCHEMAS:
        return {"$ref": DIALECT, "description": _words(path)}
    one = {**as_object(written)}
    if "$ref" in one:
        referred = as_object(models[str(one.pop("$ref")).rpartition("/")[2]])
        one = {**referred, **one}
    if model_of(fields(MODEL)[path]) and one.get("type") == "array":
        one["items"] = {
            key: value for key, value in _with_words(path, one["items"], models).items() if key != "description"
        }
    elif model_of(fields(MODEL)[path]):
        inner = as_object(one["properties"])
        one["properties"] = {name: _with_words(f"{path}.{name}", part, models) for name, part in inner.items()}
    one = {name: part for name, part in one.items() if name != "description"}
    if path == "context":
        one = {"anyOf": [inner_of(one, "input_key"), one]}
    if path == "idempotency":
        one = {"anyOf": [inner_of(one, "arguments"), one]}
    if path.endswith(".has"):
        one = {"anyOf": [one["items"], one]}
    return {**one, "description": _words(path)}


def inner_of(schema: JsonObject, name: str) -> JsonObject:
    """Return the schema of a field without its words: the short form of the fields around it."""
    return {key: value for key, value in schema["properties"][name].items() if key != "description"}


def _plain(value: Any) -> Any:
    """Return a schema without the titles that pydantic makes, and without null, which stands for a field left out."""
    if isinstance(value, list):
        return [_plain(one) for one in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    members = cast(JsonObject, value)
    if members.get("format") == "duration":
        members = {**{name: one for name, one in members.items() if name != "format"}, "pattern": DURATION}
    if isinstance(members.get("title"), str) or members.get("default", ...) is None:
        members = {
            name: one for name, one in members.items() if name != "title" and not (name == "default" and one is None)
        }
    others = [one for one in members.get("anyOf", []) if one != {"type": "null"}]
    rest = {name: _plain(one) for name, one in members.items() if name != "anyOf"}
    if len(others) == 1:
        return {**rest, **_plain(others[0])}
    return {**rest, "anyOf": _plain(others)} if others else rest


def _words(path: str) -> str:
    """Return the effect of a field without Markdown, and what its text must be."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", effects()[path]).replace("`", "")
    return f"{words} Must be {shape}." if (shape := _shape_of(path)) else words


def _shape_of(path: str) -> str | None:
    """Return what the texts of a field must be; None if it has no pattern."""
    field = fields(MODEL)[path]
    kinds: list[Any] = [field, *get_args(field.annotation)]
    for kind in kinds:
        kinds += getattr(kind, "metadata", getattr(kind, "__metadata__", ()))
    return next((shapes(MODEL)[one.pattern] for one in kinds if getattr(one, "pattern", None)), None)


def _type_of(path: str) -> str:
    if path in _FREE:
        return _FREE[path]
    if path.endswith(".has"):
        return "text, or list of texts"
    if path in _SCHEMAS:
        return "JSON Schema"
    written = _schema_at(path)
    if "enum" in written:
        return "one of " + ", ".join(f"`{one}`" for one in written["enum"])
    names = {
        "integer": "number",
        "number": "number",
        "string": "text",
        "boolean": "`true` or `false`",
        "array": "list of texts",
        "object": "fields",
    }
    return "duration" if written.get("pattern") == DURATION else names[written["type"]]


def _default_of(path: str, field: FieldInfo) -> str:
    if path == "state_machine":
        return "**required** without `race`"
    if field.is_required():
        return "**required**"
    value: Any = field.get_default(call_default_factory=True)
    if value in (None, {}, []) or isinstance(value, BaseModel | dict):
        return ""
    return f"`{_json(value)}`"


def _range_of(path: str, field: FieldInfo) -> str:
    if shape := _shape_of(path):
        return f"`{shape}`" if path == "result_prefix" else shape
    least = [f"at least {_json(one.ge)}" for one in field.metadata if isinstance(one, Ge)]
    most = [f"at most {_json(one.le)}" for one in field.metadata if isinstance(one, Le)]
    shown = as_object(_schema_at(path))
    unit = "entries" if shown.get("type") == "array" else "characters"
    sizes = [f"at most {shown[name]:,} {unit}" for name in ("maxLength", "maxItems") if name in shown]
    if path in ("input_schema", "output_schema"):
        sizes = [f"at most {LARGEST_SCHEMA:,} bytes"]
    if path in ("input.constants", "input.defaults"):
        sizes = [f"at most {LARGEST_ADDITION:,} bytes"]
    return ", ".join((*least, *most, *sizes))


def _schema_at(path: str) -> Any:
    written: Any = schema()
    for name in path.split("."):
        written = written.get("items", written)
        written = next((one for one in written.get("anyOf", []) if "properties" in one), written)["properties"][name]
    return written


def _json(value: Any) -> str:
    adapter: TypeAdapter[Any] = TypeAdapter(Any)
    return adapter.dump_json(value).decode().strip('"')


def main() -> None:
    """Write both files."""
    PAGE.write_text(page(), encoding="utf-8")
    SCHEMA.write_text(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
