"""JSON Schema 2020-12: which schemas are served, and what a value violates."""

import pytest

from stepwire.json_text import Json, JsonObject, write
from stepwire.schemas.validation import (
    DIALECT,
    LONGEST_EXPLANATION,
    SchemaError,
    Violation,
    check_schema,
    violations_of,
)


def test_a_conforming_value_has_no_violations() -> None:
    schema = write({"type": "object", "properties": {"a": {"type": "integer"}}})

    assert violations_of(schema, {"a": 1}) == ()


@pytest.mark.parametrize(
    ("schema", "value", "pointer"),
    [
        ({"type": "object"}, 1, ""),
        ({"required": ["a"]}, {}, ""),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": [0, "1"]}, "/a/1"),
        ({"properties": {"a/b": {"type": "integer"}}}, {"a/b": "1"}, "/a~1b"),
        ({"properties": {"m~n": {"type": "integer"}}}, {"m~n": "1"}, "/m~0n"),
        ({"properties": {"~1": {"type": "integer"}}}, {"~1": "1"}, "/~01"),
        ({"properties": {"1": {"type": "integer"}}}, {"1": "1"}, "/1"),
    ],
)
def test_a_violation_is_found_at_its_pointer(schema: JsonObject, value: Json, pointer: str) -> None:
    """RFC 6901: ~ is written ~0, and / is written ~1."""
    (violation,) = violations_of(write(schema), value)

    assert violation.pointer == pointer


def test_a_violation_says_where_and_what_was_expected() -> None:
    (violation,) = violations_of('{"properties":{"a":{"type":"integer"}}}', {"a": "x"})

    assert str(violation) == 'at /a: "x" is not of type "integer"'
    assert str(Violation("", "wrong")) == "at the top level: wrong"


def test_at_most_twenty_violations_are_listed() -> None:
    assert len(violations_of('{"items":{"type":"integer"}}', ["x"] * 21)) == 20


def test_an_explanation_does_not_repeat_a_long_value() -> None:
    (violation,) = violations_of('{"type":"integer"}', "x" * 10_000)

    assert len(violation.expected) == LONGEST_EXPLANATION


@pytest.mark.parametrize(
    ("name", "value"), [("date", "31.12.2026"), ("date-time", "today"), ("email", "nobody"), ("uri", "not one")]
)
def test_formats_are_validated(name: str, value: str) -> None:
    assert violations_of(write({"format": name}), value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"$schema": DIALECT},
        {"$defs": {"name": {"type": "string"}}, "properties": {"name": {"$ref": "#/$defs/name"}}},
    ],
)
def test_a_schema_of_the_dialect_is_served(schema: JsonObject) -> None:
    """M35."""
    check_schema(schema)


@pytest.mark.parametrize(
    "reference",
    [
        "https://schemas.example/a.json",
        "http://127.0.0.1:9/a.json",
        "file:///etc/hostname",
        "other.json",
        "#/$defs/none",
    ],
)
def test_a_reference_that_would_have_to_be_fetched_is_refused(reference: str) -> None:
    """M28."""
    with pytest.raises(SchemaError):
        check_schema({"properties": {"a": {"$ref": reference}}})


@pytest.mark.parametrize(
    "dialect", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema", "", 7, None]
)
def test_another_dialect_is_refused(dialect: Json) -> None:
    """M35."""
    with pytest.raises(SchemaError, match=r"at \$schema"):
        check_schema({"$schema": dialect})


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "strin"}, "/type"),
        ({"properties": {"a": {"minimum": "1"}}}, "/properties/a/minimum"),
        ({"required": "a"}, "/required"),
        ({"pattern": "["}, "/pattern"),
    ],
)
def test_an_invalid_schema_is_refused_with_its_pointer(schema: JsonObject, pointer: str) -> None:
    """M35."""
    with pytest.raises(SchemaError, match=f"at {pointer}: "):
        check_schema(schema)
