"""A null where the property is optional and takes no null is the same as none."""

from typing import Any, Final

import pytest

from stepwire.json_text import write
from stepwire.schemas.nulls import without_nulls

TEXT: Final = {"type": "string"}
EITHER: Final = {"type": ["string", "null"]}
REFS: Final = {"$defs": {"text": TEXT, "node": {"properties": {"next": {"$ref": "#/$defs/node"}, "a": TEXT}}}}


def prop(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


CASES: Final[dict[str, tuple[Any, Any, Any]]] = {
    "an optional text": (prop(a=TEXT), {"a": None}, {}),
    "a text beside it": (prop(a=TEXT, b=TEXT), {"a": None, "b": "x"}, {"b": "x"}),
    "one that takes null": (prop(a=EITHER), {"a": None}, {"a": None}),
    "one that is marked as in OpenAPI": (prop(a={**TEXT, "nullable": True}), {"a": None}, {}),
    "one of any type": (prop(a={}), {"a": None}, {"a": None}),
    "one that is required": (prop("a", a=TEXT), {"a": None}, {"a": None}),
    "one that is required and has a default": (prop("a", a={**TEXT, "default": "x"}), {"a": None}, {}),
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
