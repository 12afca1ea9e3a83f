"""JSON Schema 2020-12: check schemas, and list the violations of a value.

A schema is compiled once per function instance, on first use or ahead of it. No `$ref` is ever fetched from a network
(M28).

Every check is fast, whatever the schema and the value: the time is estimated first (`stepwire.schemas.work`), patterns
match in linear time, and violations are listed only where listing is cheap. The validator builds each error in full,
with a copy of the value, before it returns the first one; for large values it is asked for one error at most.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from msgspec import Struct

from stepwire.json_text import Json, JsonObject, as_object, load_json
from stepwire.schemas.work import (
    ENDLESS,
    Cost,
    SchemaWork,
    Size,
    circular_reference,
    escaped,
    pattern_count,
    size_of,
    with_parts,
)
from stepwire.visible_text import visible

if TYPE_CHECKING:
    import jsonschema_rs

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
LONGEST_EXPLANATION: Final = 300  # characters
MOST_SECONDS: Final = 0.15  # estimated time of one check
_MOST_ALTOGETHER: Final = 0.24  # seconds, of a check and the listing of its violations
MOST_VIOLATIONS: Final = 20
_MOST_ERRORS: Final = 5_000  # that the validator may build to list the violations of a value
_MOST_COPIED: Final = 1_000_000  # characters in the messages of those errors
_EVERYDAY_SIZE: Final = Size(parts=200, length=4_096, levels=10)
"""A value that every served schema must be able to check."""
_MOST_COMPILED: Final = 2**25  # bytes, of all compiled patterns of one schema
_LARGEST_PATTERN: Final = 10 * 2**20  # bytes, of one compiled pattern
_MOST_CACHED: Final = 2**23  # bytes, of the caches that matching adds
_SMALLEST_CACHE: Final = 2**16
_PATTERN_HINT: Final = (
    "patterns are matched in linear time: no look-around, no backreference, and few large repetitions"
)
_ROOT: Final = "stepwire:schema"
_CHOICES: Final = ("anyOf", "oneOf")


class SchemaError(ValueError):
    """The schema is not valid JSON Schema 2020-12, or cannot be served; the message says where and why."""


class Violation(Struct, frozen=True):
    """One way in which a value does not conform to its schema."""

    pointer: str
    """RFC 6901 pointer to the part of the value; empty for the whole value."""
    expected: str

    def __str__(self) -> str:
        return f"at {self.pointer or 'the top level'}: {self.expected}"


def violations_of(schema: str, value: Json, text: str | None = None) -> tuple[Violation, ...]:
    """Return at most 20 violations; empty if the value conforms.

    `schema` is JSON text, under which its compiled form is cached; `text` is that of the value, if the caller has it.

    For a large value, only one violation is returned. A value that is nested too deeply, or too large for its schema to
    be checked in time, does not conform.
    """
    compiled, size = _compiled(schema), size_of(value, text)
    fault = compiled.fault_of(value, size)
    return () if fault is None else compiled.explained(value, size, fault)


def violation_of_parts(schema: JsonObject, parts: Sequence[tuple[str, Json]]) -> Violation | None:
    """Return a violation by one of many values, each of which must conform to a part of the schema; None without one.

    The schema was checked (`check_schema`). Parts have the value by its pointer.

    Their schemas are compiled together, because to compile one for each value takes a second for some hundred values.

    Raises:
        SchemaError: a pointer leads into what the validator does not compile.
    """
    import jsonschema_rs  # noqa: PLC0415

    values: JsonObject = {str(number): value for number, (_, value) in enumerate(parts)}
    if _deciding(schema).seconds(size_of(values)) > MOST_SECONDS:
        return Violation("", "the values are too large to be checked against the schema in time")
    # The schema as a resource of its own: references within it still lead to their targets.
    references = {str(number): {"$ref": f"{_ROOT}#{quote(pointer)}"} for number, (pointer, _) in enumerate(parts)}
    together = _validator({"$defs": {"all": {**schema, "$id": _ROOT}}, "properties": references})
    try:
        together.validate(values)
    except jsonschema_rs.ValidationError as error:
        number, *inner = map(str, error.instance_path)
        found = _violation(error)
        below = found.pointer.removeprefix(f"/{number}") if inner else ""
        return Violation(f"{parts[int(number)][0]}/default", str(Violation(below, found.expected)))
    return None


def conforms(schema: str, value: Json) -> bool:
    """Tell whether a value conforms to a schema."""
    return _compiled(schema).fault_of(value, size_of(value)) is None


def compile_ahead(schema: str) -> None:
    """Compile a schema, given as JSON text, before its first use."""
    _compiled(schema).get_ready()


def check_schema(schema: JsonObject) -> None:
    """Raise if a schema cannot be served.

    Raises:
        SchemaError: another dialect, not valid, a reference that would have to be fetched, one that leads back to
            itself for the same value, a pattern that cannot match in linear time, or so many alternatives that checking
            even a small value takes too long.
    """
    import jsonschema_rs  # noqa: PLC0415 - most requests check nothing against a schema

    if schema.get("$schema", DIALECT) != DIALECT:
        raise SchemaError(f"at $schema: only {DIALECT} is served")
    try:
        jsonschema_rs.meta.validate({"$schema": DIALECT, **schema})
    except jsonschema_rs.ValidationError as error:
        raise SchemaError(str(_violation(error))) from None
    _validator(schema)
    circle = circular_reference(schema)
    if circle is not None:
        raise SchemaError(f"the reference {circle[:LONGEST_EXPLANATION]} leads back to itself for the same value")
    if _deciding(schema).seconds(_EVERYDAY_SIZE) > MOST_SECONDS:
        raise SchemaError("it has so many alternatives at one place that checking a small value takes too long")


class _Schema:
    """A compiled schema."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._validator = _validator(schema)

    @cached_property
    def _deciding(self) -> Cost:
        return _deciding(self._schema)

    def get_ready(self) -> None:
        """Estimate the cost of the schema's checks."""
        _ = self._deciding

    def fault_of(self, value: Json, size: Size) -> str | None:
        """Return a short reason why a value does not conform; None if it does."""
        if self._deciding.seconds(size) > MOST_SECONDS:
            return "is too large to be checked against the schema in time: send fewer or smaller values"
        try:
            return None if self._validator.is_valid(value) else "does not conform to the schema"
        except ValueError:  # deeper than the validator's 255 levels; values from `json_text.parse` have fewer
            return "must be nested less deeply"

    def explained(self, value: Json, size: Size, fault: str) -> tuple[Violation, ...]:
        """Return the violations of a value that has this fault, as far as listing them is cheap."""
        cost = SchemaWork(self._schema).explaining(size.levels)
        if self._deciding.seconds(size) + cost.seconds(size) > _MOST_ALTOGETHER:
            return (Violation("", fault),)
        errors = cost.checks()
        if errors * size.parts <= _MOST_ERRORS and errors * size.length * size.levels <= _MOST_COPIED:
            return tuple(map(_violation, islice(self._validator.iter_errors(value), MOST_VIOLATIONS)))
        return (self._first(value) or Violation("", fault),)

    def _first(self, value: Json) -> Violation | None:
        """Return one violation, if the validator can find it without building all of them."""
        import jsonschema_rs  # noqa: PLC0415

        try:
            _validator(as_object(_without_choices(self._schema))).validate(value)
        except jsonschema_rs.ValidationError as error:
            return _violation(error)
        except ValueError:  # a reference into a part that `_without_choices` leaves out
            return None
        return None


# 256: of some eighty tools, which have up to three each, every schema is compiled once per function instance.
@lru_cache(maxsize=256)
def _compiled(schema: str) -> _Schema:
    return _Schema(load_json(schema))


def _deciding(schema: JsonObject) -> Cost:
    try:
        return SchemaWork(schema).deciding()
    except RecursionError:  # a chain of hundreds of references
        return ENDLESS


def _validator(schema: JsonObject) -> "jsonschema_rs.Draft202012Validator":
    """Return the compiled schema.

    Raises:
        SchemaError: a reference has no target, or a pattern may not match in linear time.
    """
    import jsonschema_rs  # noqa: PLC0415

    patterns = max(1, pattern_count(schema))
    # This engine refuses look-around and backreferences, so matching takes time linear in the text.
    options = jsonschema_rs.RegexOptions(
        size_limit=min(_LARGEST_PATTERN, _MOST_COMPILED // patterns),
        dfa_size_limit=max(_SMALLEST_CACHE, min(_MOST_CACHED // 4, _MOST_CACHED // patterns)),
    )
    try:
        return jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True, pattern_options=options)
    except jsonschema_rs.ValidationError as error:
        hint = f" ({_PATTERN_HINT})" if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Format) else ""
        raise SchemaError(f"{_violation(error)}{hint}") from None


def _violation(error: "jsonschema_rs.ValidationError") -> Violation:
    message = "matches none of the schema's alternatives" if _is_hidden(error) else error.message[:LONGEST_EXPLANATION]
    return Violation(visible("".join(f"/{escaped(str(step))}" for step in error.instance_path)), visible(message))


def _is_hidden(error: "jsonschema_rs.ValidationError") -> bool:
    """Tell whether a violation comes from the rewrite by `_without_choices`; its message would mean nothing."""
    import jsonschema_rs  # noqa: PLC0415

    kind = error.kind
    return isinstance(kind, jsonschema_rs.ValidationErrorKind.Not) and "not" in as_object(kind.schema)


def _without_choices(schema: Json) -> Json:
    """Return the schema with each `anyOf` and `oneOf` reporting one violation instead of those of every alternative."""
    if not isinstance(schema, dict):
        return schema
    members = as_object(schema)
    plain = with_parts({name: one for name, one in members.items() if name not in _CHOICES}, _without_choices)
    choices = [{name: members[name]} for name in _CHOICES if name in members]
    if choices:
        plain["allOf"] = [*plain.get("allOf", ()), *({"not": {"not": one}} for one in choices)]
    return plain
