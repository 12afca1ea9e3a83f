"""JSON Schema 2020-12: what a value violates, and whether a schema is one.

A schema is compiled when the first value is held against it, or before, and once. No `$ref` is ever fetched from a
network (M28).

No check takes long, whatever the schema and the value: the time is estimated first (`stepwire.schema_work`), patterns
run in linear time, and the faults of a value are listed only where listing them is cheap. The validator builds each
error whole, with a copy of the value, before it gives the first one: of large values it is asked for one error at most.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final

import jsonschema_rs

from stepwire.json_text import Json, JsonObject, as_object, read_back
from stepwire.schema_work import ENDLESS, Cost, SchemaWork, Size, pattern_count, size_of
from stepwire.visible_text import visible

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
LONGEST_EXPLANATION: Final = 300  # characters
MOST_SECONDS: Final = 0.15  # that a check may take, by the estimate
_MOST_ALTOGETHER: Final = 0.24  # seconds, with what it takes to say what is wrong
MOST_VIOLATIONS: Final = 20
_MOST_ERRORS: Final = 5_000  # that the validator may build to list the faults of a value
_MOST_COPIED: Final = 1_000_000  # characters, in the messages of these errors
_EVERYDAY_SIZE: Final = Size(parts=200, length=4_096, levels=10)
"""A value that a schema must be able to take."""
_MOST_COMPILED: Final = 2**25  # bytes, of all patterns of a schema together
_LARGEST_PATTERN: Final = 10 * 2**20  # bytes, compiled
_MOST_CACHED: Final = 2**23  # bytes, of what their use adds
_SMALLEST_CACHE: Final = 2**16
_PATTERN_HINT: Final = (
    "patterns are matched in linear time: no look-around, no backreference, and few large repetitions"
)
_CHOICES: Final = ("anyOf", "oneOf")
_WITH_A_SCHEMA: Final = frozenset(
    {
        *("items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames"),
        *("not", "if", "then", "else"),
    }
)
_WITH_SCHEMAS: Final = frozenset({"allOf", "prefixItems"})
_WITH_SCHEMAS_BY_NAME: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})


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
    """List what is wrong with a value, at most 20 things; empty where it fits.

    Of a large value, one thing is named. A value that is nested too deeply, or too large for its schema to be checked
    in time, does not fit.

    Args:
        schema: JSON text of the schema; the text is the key under which the compiled form is kept.
        value: a JSON value.
    """
    try:
        return _compiled(schema).violations_of(value)
    except SchemaError as error:  # an earlier version took it, and advertised it
        return (Violation("", f"cannot be checked, because the schema is not served any more ({error})"),)


def fits(schema: str, value: Json) -> bool:
    """Tell whether a value is what a schema says."""
    return _compiled(schema).fault_of(value) is None


def compile_ahead(schema: str) -> None:
    """Compile a schema, given as JSON text, before the first value is held against it."""
    _compiled(schema).get_ready()


def check_schema(schema: JsonObject) -> None:
    """Make sure that a schema can be served.

    Raises:
        SchemaError: another dialect, not valid, a reference that would have to be fetched, a pattern that cannot be
            matched in linear time, or so many alternatives that even a small value takes too long.
    """
    if schema.get("$schema", DIALECT) != DIALECT:
        raise SchemaError(f"at $schema: only {DIALECT} is served")
    try:
        jsonschema_rs.meta.validate({"$schema": DIALECT, **schema})
    except jsonschema_rs.ValidationError as error:
        raise SchemaError(str(_violation(error))) from None
    _validator(schema)
    if _deciding(schema).seconds(_EVERYDAY_SIZE) > MOST_SECONDS:
        raise SchemaError("it has so many alternatives at one place that checking a small value takes too long")


class _Schema:
    """A schema that has been compiled."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._validator = _validator(schema)

    @cached_property
    def _deciding(self) -> Cost:
        return _deciding(self._schema)

    def get_ready(self) -> None:
        """Weigh the schema."""
        _ = self._deciding

    def fault_of(self, value: Json, size: Size | None = None) -> str | None:
        """Say in a word why a value does not fit; None where it does."""
        if self._deciding.seconds(size or size_of(value)) > MOST_SECONDS:
            return "is too large to be checked against the schema in time: give fewer or smaller values"
        try:
            return None if self._validator.is_valid(value) else "does not fit the schema"
        except ValueError:  # at 255 levels the validator gives up; what comes through `json_text.parse` has fewer
            return "must be nested less deeply"

    def violations_of(self, value: Json) -> tuple[Violation, ...]:
        """List what is wrong with a value, as far as that is cheap to find out."""
        size = size_of(value)
        fault = self.fault_of(value, size)
        if fault is None:
            return ()
        cost = SchemaWork(self._schema).explaining(size.levels)
        if self._deciding.seconds(size) + cost.seconds(size) > _MOST_ALTOGETHER:
            return (Violation("", fault),)
        errors = cost.checks()
        if errors * size.parts <= _MOST_ERRORS and errors * size.length * size.levels <= _MOST_COPIED:
            return tuple(map(_violation, islice(self._validator.iter_errors(value), MOST_VIOLATIONS)))
        return (self._first(value) or Violation("", fault),)

    def _first(self, value: Json) -> Violation | None:
        """Name one fault, if the validator finds it without building all of them."""
        try:
            _validator(as_object(_without_choices(self._schema))).validate(value)
        except jsonschema_rs.ValidationError as error:
            return _violation(error)
        except ValueError:  # a reference into what is left out
            return None
        return None


# 256: more tools than a catalog has, so that each is compiled once in the life of a function instance.
@lru_cache(maxsize=256)
def _compiled(schema: str) -> _Schema:
    return _Schema(read_back(schema))


def _deciding(schema: JsonObject) -> Cost:
    try:
        return SchemaWork(schema).deciding()
    except RecursionError:  # a chain of hundreds of references
        return ENDLESS


def _validator(schema: JsonObject) -> jsonschema_rs.Draft202012Validator:
    """Compile a schema.

    Raises:
        SchemaError: it refers to what is not there, or has a pattern that might take long.
    """
    patterns = max(1, pattern_count(schema))
    # Without look-around and backreferences, which this engine refuses, time grows with the text and no faster.
    options = jsonschema_rs.RegexOptions(
        size_limit=min(_LARGEST_PATTERN, _MOST_COMPILED // patterns),
        dfa_size_limit=max(_SMALLEST_CACHE, min(_MOST_CACHED // 4, _MOST_CACHED // patterns)),
    )
    try:
        return jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True, pattern_options=options)
    except jsonschema_rs.ValidationError as error:
        hint = f" ({_PATTERN_HINT})" if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Format) else ""
        raise SchemaError(f"{_violation(error)}{hint}") from None


def _violation(error: jsonschema_rs.ValidationError) -> Violation:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.instance_path)
    message = "is none of what the schema allows here" if _is_hidden(error) else error.message[:LONGEST_EXPLANATION]
    return Violation(visible("".join(f"/{step}" for step in steps)), visible(message))


def _is_hidden(error: jsonschema_rs.ValidationError) -> bool:
    """Tell whether a fault is one of `_without_choices`, whose words would say nothing."""
    kind = error.kind
    return isinstance(kind, jsonschema_rs.ValidationErrorKind.Not) and "not" in as_object(kind.schema)


def _without_choices(schema: Json) -> Json:
    """Rewrite a schema so that a value which fits none of several choices is one fault, and not all faults of all."""
    if not isinstance(schema, dict):
        return schema
    members = as_object(schema)
    plain = {name: _rewritten(name, member) for name, member in members.items() if name not in _CHOICES}
    choices = [{name: members[name]} for name in _CHOICES if name in members]
    if choices:
        plain["allOf"] = [*plain.get("allOf", ()), *({"not": {"not": one}} for one in choices)]
    return plain


def _rewritten(keyword: str, member: Json) -> Json:
    if keyword in _WITH_A_SCHEMA:
        return _without_choices(member)
    if keyword in _WITH_SCHEMAS_BY_NAME:
        return {name: _without_choices(one) for name, one in as_object(member).items()}
    return [_without_choices(one) for one in member] if keyword in _WITH_SCHEMAS else member
