"""Headers that repeat parameters of a tool, so that intermediaries can route by them.

A property of the input schema names its header with `x-mcp-header`: `Region` means `Mcp-Param-Region` (M39). Whoever
routes reads only the headers, so they must agree with the body.
"""

import re
from collections.abc import Iterator
from typing import Final, cast

from msgspec import Struct

from stepwire.errors import HeaderMismatch
from stepwire.json_text import Json, JsonObject, as_object
from stepwire.protocol.headers import RequestHeaders, decoded

ANNOTATION: Final = "x-mcp-header"
_TYPES: Final = ("integer", "string", "boolean")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
"""Keywords whose members are schemas under names that the author chooses."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110
_WHOLE_NUMBER: Final = re.compile(r"(-?[0-9]{1,16})(\.0+)?")  # the integers that every language reads exactly


class ParameterHeader(Struct, frozen=True):
    """A header and the parameter that it repeats."""

    name: str
    """Such as `Mcp-Param-Region`."""
    path: tuple[str, ...]
    """The names of the properties that lead to the parameter."""

    def value_in(self, arguments: JsonObject) -> Json:
        """Return the parameter's value in a call; None if the call does not give it."""
        value: Json = arguments
        for name in self.path:
            value = as_object(value).get(name)
        return value


def parameter_headers(schema: JsonObject) -> tuple[ParameterHeader, ...]:
    """Return the annotated parameters of a schema; clients look for them in nested properties only."""
    return tuple(
        ParameterHeader(f"Mcp-Param-{property_schema[ANNOTATION]}", path)
        for path, property_schema in _properties(schema)
        if ANNOTATION in property_schema
    )


def check_annotations(schema: JsonObject) -> None:
    """Check the annotations of an input schema; clients hide a tool with a wrong one.

    Raises:
        ValueError: an annotation is wrong; the message begins with its place.
    """
    known: dict[str, str] = {}
    _check_none_misplaced("the top level", schema)
    for path, property_schema in _properties(schema):
        where = "/properties/" + "/properties/".join(path)
        annotation = property_schema.get(ANNOTATION)
        _check_none_misplaced(where, {name: part for name, part in property_schema.items() if name != ANNOTATION})
        if ANNOTATION not in property_schema:
            continue
        if not isinstance(annotation, str) or not _TOKEN.fullmatch(annotation):
            raise ValueError(f"at {where}/{ANNOTATION}: must be the name of a header: letters, digits and hyphens")
        if property_schema.get("type") not in _TYPES:
            raise ValueError(f"at {where}: {ANNOTATION} needs a type of {', '.join(_TYPES)}")
        first = known.setdefault(annotation.lower(), where)
        if first != where:
            raise ValueError(f"at {where}/{ANNOTATION}: {annotation!r} is also the header of {first}")


def check_parameter_headers(
    headers: RequestHeaders, declared: tuple[ParameterHeader, ...], arguments: JsonObject
) -> None:
    """Compare the headers of a call with its arguments.

    Raises:
        HeaderMismatch: a header is missing or malformed, differs from its parameter, or repeats one that is absent.
    """
    for one in declared:
        found = decoded(one.name, headers.parameter(one.name))
        value = one.value_in(arguments)
        if isinstance(value, list | dict) or (isinstance(value, float) and not value.is_integer()):
            continue  # the schema reports what is wrong with it
        where = ".".join(("params.arguments", *one.path))
        if value is None:
            if found is not None:
                raise HeaderMismatch(f"The header {one.name} is present, but {where} is not.")
        elif found is None:
            raise HeaderMismatch(f"The header {one.name} is missing; it must repeat {where}, as tools/list says.")
        elif not _repeats(found, value):
            raise HeaderMismatch(f"The header {one.name} differs from {where}.")


def _repeats(text: str, value: Json) -> bool:
    match value:
        case bool():
            return text == ("true" if value else "false")
        case int() | float():
            number = _WHOLE_NUMBER.fullmatch(text)
            return number is not None and int(number[1]) == value
        case _:
            return text == value


def _properties(schema: JsonObject, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    for name, part in as_object(schema.get("properties")).items():
        property_schema = as_object(part)
        yield (*path, name), property_schema
        yield from _properties(property_schema, (*path, name))


def _check_none_misplaced(where: str, schema: JsonObject) -> None:
    if _has_annotation({name: part for name, part in schema.items() if name != "properties"}):
        raise ValueError(f"at {where}: {ANNOTATION} is where no client looks for it: only properties may have it")


def _has_annotation(part: Json, *, is_named: bool = False) -> bool:
    """Tell whether a part of a schema has an annotation; `is_named`: its members are schemas under chosen names."""
    match part:
        case dict():
            members = as_object(part)
            inner = (_has_annotation(one, is_named=not is_named and name in _NAMED) for name, one in members.items())
            return (ANNOTATION in members and not is_named) or any(inner)
        case list():
            return any(_has_annotation(one) for one in cast(list[Json], part))
        case _:
            return False
