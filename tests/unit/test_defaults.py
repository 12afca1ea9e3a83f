"""The defaults of a JSON Schema, and nulls for what is left out: at any depth, within bounds (tests/worst)."""

from typing import Any, Final

import pytest

from stepwire.json_text import write
from stepwire.schemas.defaults import Defaults, TooManyDefaults, default_faults, without_nulls

ROOM: Final = 262_144
TREE: Final = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "size": {"default": 1},
                "left": {"$ref": "#/$defs/node"},
                "all": {"items": {"$ref": "#/$defs/node"}},
            },
        }
    },
}  # fmt: skip


def prop(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def needing_a(**properties: Any) -> dict[str, Any]:
    return {**prop(**properties), "required": ["a"]}


ONE: Final = prop(b={"default": 1})


FILLED: Final[list[tuple[Any, Any, Any]]] = [
    (prop(a={"default": 1}), {}, {"a": 1}),
    (prop(a={"default": 1}), {"a": None}, {"a": None}),
    (prop(a={"default": None}), {}, {"a": None}),
    (prop(a={"default": {}}, b=True), {}, {"a": {}}),
    (prop(a=prop(b={"default": 1})), {}, {}),
    (prop(a=prop(b={"default": 1})), {"a": {}}, {"a": {"b": 1}}),
    (prop(a={**prop(b={"default": 1}), "default": {}}), {}, {"a": {}}),
    (prop(a=prop(b={"default": 1})), {"a": "no object"}, {"a": "no object"}),
    (prop(a={"items": prop(b={"default": 1})}), {"a": [{}, {"b": 2}, 3]}, {"a": [{"b": 1}, {"b": 2}, 3]}),
    (prop(a={"prefixItems": [ONE], "items": prop(c={"default": 2})}), {"a": [{}, {}]}, {"a": [{"b": 1}, {"c": 2}]}),
    ({"allOf": [prop(a={"default": 1}), prop(a={"default": 2}, b={"default": 3})]}, {}, {"a": 1, "b": 3}),
    (prop(a={"$ref": "#/$defs/x"}) | {"$defs": {"x": {"default": 5}}}, {}, {"a": 5}),
    (prop(a={"$ref": "#/$defs/x", "default": 4}) | {"$defs": {"x": {"default": 5}}}, {}, {"a": 4}),
    (prop(a={"$ref": "#/$defs/a~1b%20"}) | {"$defs": {"a/b ": {"default": 5}}}, {}, {"a": 5}),
    (prop(a={"$ref": "#/allOf/0"}) | {"allOf": [{"default": 6}]}, {}, {"a": 6}),
    (prop(a={"$ref": "https://elsewhere.example/a"}), {}, {}),
    ({"anyOf": [prop(a={"default": 1})], "if": prop(a={"default": 1})}, {}, {}),
    (TREE, {"root": {"left": {"all": [{}]}}}, {"root": {"left": {"all": [{"size": 1}], "size": 1}, "size": 1}}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "given", "filled"), FILLED)
def test_defaults_are_filled_in_where_a_member_is_missing(schema: Any, given: Any, filled: Any) -> None:
    before = repr(given)

    assert Defaults(schema).filled(given, ROOM) == filled
    assert repr(given) == before


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"$ref": "#", "allOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#"}, "b": {"default": 1}}}

    assert Defaults(schema).filled({"a": {"a": {}}}, ROOM) == {"a": {"a": {"b": 1}, "b": 1}, "b": 1}


MANY: Final = {f"p{number}": {"default": number} for number in range(1_000)}
WIDE: Final = {"allOf": [{"properties": {"l": {"items": prop(a={"default": number})}}} for number in range(400)]}


TOO_MUCH: Final[dict[str, tuple[Any, Any]]] = {
    "many defaults": (prop(l={"items": prop(**MANY)}), {"l": [{}] * 80_000}),
    "a large default": (prop(l={"items": prop(a={"default": "x" * 30_000})}), {"l": [{}] * 80_000}),
    "many schemas of one place": (WIDE, {"l": [{}] * 80_000}),
    "many lists": (prop(l={"items": {"items": prop(a={"default": 1})}}), {"l": [[]] * 120_000}),
    "a tree": (TREE, {"root": {"all": [{"all": [{}] * 40} for _ in range(2_000)]}}),
}


@pytest.mark.parametrize("how", TOO_MUCH)
def test_what_would_grow_or_take_too_long_is_refused(how: str) -> None:
    schema, given = TOO_MUCH[how]

    with pytest.raises(TooManyDefaults):
        Defaults(schema).filled(given, ROOM)


def test_good_defaults_have_no_fault() -> None:
    schema = prop(a={"type": "string", "default": "x"}, b={"$ref": "#/$defs/n", "default": 3})

    assert list(default_faults({**schema, "$defs": {"n": {"type": "integer"}}})) == []


# ---------------------------------------------------------------------------------- nulls, for what is left out


TEXT: Final = {"type": "string"}
EITHER: Final = {"type": ["string", "null"]}
REFS: Final = {"$defs": {"text": TEXT, "node": {"properties": {"next": {"$ref": "#/$defs/node"}, "a": TEXT}}}}
CASES: Final[dict[str, tuple[Any, Any, Any]]] = {
    "an optional text": (prop(a=TEXT), {"a": None}, {}),
    "a text beside it": (prop(a=TEXT, b=TEXT), {"a": None, "b": "x"}, {"b": "x"}),
    "one that takes null": (prop(a=EITHER), {"a": None}, {"a": None}),
    "one that is marked as in OpenAPI": (prop(a={**TEXT, "nullable": True}), {"a": None}, {}),
    "one of any type": (prop(a={}), {"a": None}, {"a": None}),
    "one that is required": (needing_a(a=TEXT), {"a": None}, {"a": None}),
    "one that is required and has a default": (needing_a(a={**TEXT, "default": "x"}), {"a": None}, {}),
    "one that no schema names": (prop(), {"a": None}, {"a": None}),
    "options": (prop(a={"enum": ["x", "y"]}, b={"enum": ["x", None]}), {"a": None, "b": None}, {"b": None}),
    "a constant": (prop(a={"const": 1}, b={"const": None}), {"a": None, "b": None}, {"b": None}),
    "alternatives": (prop(a={"anyOf": [TEXT, {"type": "integer"}]}), {"a": None}, {}),
    "alternatives with null": (prop(a={"anyOf": [TEXT, {"type": "null"}]}), {"a": None}, {"a": None}),
    "a reference": (prop(a={"$ref": "#/$defs/text"}) | REFS, {"a": None}, {}),
    "joined schemas": ({"allOf": [prop(a=TEXT), {"required": ["a"]}]}, {"a": None}, {"a": None}),
    "an object in an object": (prop(o=prop(a=TEXT, b=EITHER)), {"o": {"a": None, "b": None}}, {"o": {"b": None}}),
    "objects in a list": (prop(o={"items": prop(a=TEXT)}), {"o": [{"a": None}, {"a": "x"}]}, {"o": [{}, {"a": "x"}]}),
    "items of a list": (prop(o={"items": TEXT}), {"o": [None]}, {"o": [None]}),
    "first items": (
        prop(o={"prefixItems": [prop(a=TEXT)]}),
        {"o": [{"a": None}, {"a": None}]},
        {"o": [{}, {"a": None}]},
    ),
    "a tree": (
        prop(t={"$ref": "#/$defs/node"}) | REFS,
        {"t": {"next": {"next": None, "a": None}}},
        {"t": {"next": {"next": None}}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_nulls_of_what_is_left_out_are_left_out(name: str) -> None:
    schema, given, left = CASES[name]
    before = repr(given)

    assert without_nulls(write(schema), given) == left
    assert repr(given) == before


def test_arguments_with_too_many_parts_stay_as_they_are() -> None:
    given = {"o": [{"a": None}] * 30_000}

    assert without_nulls(write(prop(o={"items": prop(a=TEXT)})), given) == given


def test_references_in_a_circle_end() -> None:
    circle = {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}

    assert without_nulls(write(prop(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": circle}}), {"a": None}) == {"a": None}
