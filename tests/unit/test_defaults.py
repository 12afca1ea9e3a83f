"""The defaults of a JSON Schema, filled into arguments: at any depth, within bounds (tests/worst measures them)."""

from typing import Any, Final

import pytest

from stepwire.schemas.defaults import Defaults, TooManyDefaults, default_faults

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
