"""JSON Schema 2020-12: what a value violates, and whether a schema is one.

A schema is compiled when the first value is held against it, or before, and once. No `$ref` is ever fetched from a
network (M28).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import jsonschema_rs

from stepwire.json_text import Json, JsonObject, read_back

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
LONGEST_EXPLANATION: Final = 300  # characters


class SchemaError(ValueError):
    """The schema is not a JSON Schema 2020-12 that we can serve; the message says where and why."""


@dataclass(frozen=True)
class Violation:
    """One way in which a value is not what its schema says."""

    pointer: str
    """RFC 6901 pointer to the part of the value; empty for the whole."""
    expected: str

    def __str__(self) -> str:
        return f"at {self.pointer or 'the top level'}: {self.expected}"


def violations_of(schema: str, value: Json) -> tuple[Violation, ...]:
    """List what is wrong with a value, at most 20 things; empty where it fits. Too deep a value does not.

    Args:
        schema: JSON text of the schema; the text is the key under which the compiled form is kept.
        value: a JSON value.
    """
    try:
        return tuple(_first(20, map(_violation, _compiled(schema).iter_errors(value))))
    except ValueError:  # at 255 levels the validator gives up; what comes through `json_text.parse` has fewer
        return (Violation("", "must be nested less deeply"),)


def compile_ahead(schema: str) -> None:
    """Compile a schema, given as JSON text, before the first value is held against it."""
    _compiled(schema)


def check_schema(schema: JsonObject) -> None:
    """Make sure that a schema can be served.

    Raises:
        SchemaError: another dialect, not valid, or a reference that would have to be fetched.
    """
    if schema.get("$schema", DIALECT) != DIALECT:
        raise SchemaError(f"at $schema: only {DIALECT} is served")
    try:
        jsonschema_rs.meta.validate({"$schema": DIALECT, **schema})
        jsonschema_rs.Draft202012Validator(schema, offline=True)
    except jsonschema_rs.ValidationError as error:
        raise SchemaError(str(_violation(error))) from None


# 256: more tools than a catalog has, so that each is compiled once in the life of a function instance.
@lru_cache(maxsize=256)
def _compiled(schema: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(read_back(schema), validate_formats=True, offline=True)


def _violation(error: jsonschema_rs.ValidationError) -> Violation:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.instance_path)
    return Violation("".join(f"/{step}" for step in steps), error.message[:LONGEST_EXPLANATION])


def _first(count: int, items: Iterator[Violation]) -> Iterator[Violation]:
    for _, item in zip(range(count), items, strict=False):
        yield item
