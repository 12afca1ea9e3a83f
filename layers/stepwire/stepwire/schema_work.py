"""How long it may take to check a value against a schema: estimated before the check, which nothing can interrupt.

The estimate is the time that each part of the value takes at most, times the number of parts, plus the same for its
bytes. Alternatives at one place add up; of the schemas of different members, the most expensive one counts. It must
never be far too low: the numbers below were measured (`python -m benchmarks.worst_cases`), and are rounded up.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from stepwire.json_text import Json, JsonObject, as_object, write

# Nanoseconds.
_SCHEMA: Final = 20.0
_CONST: Final = 300.0
_OPTION: Final = 200.0  # of an enum whose options are not all texts, or all numbers
_UNIQUE: Final = 100.0  # for each level at which items are compared
_DEPENDENT: Final = 20.0
_NAME_PATTERN: Final = 60.0
_FORMAT_BYTE: Final = 4.0
_INTERNATIONAL_BYTE: Final = 80.0  # of a hostname or an address in any script
_STATE_BYTE: Final = 8.0  # for each state that a pattern may be in at once
_UNEVALUATED: Final = 4.0  # times: what has been evaluated is found out again
_DEEPEST: Final = 200  # levels of a value
_ENDLESS: Final = 1e12

_INSIDE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_INSIDE: Final = ("not", "if", "then", "else")
_ONE_OF_THE_PARTS: Final = ("items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties")
_EACH_OF_THE_PARTS: Final = ("contains", "propertyNames")
_REFERENCES: Final = ("$ref", "$dynamicRef")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
_TOKEN: Final = re.compile(
    r"\\[pPux]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\{(?P<least>\d+)(?P<more>,(?P<most>\d*))?\}|.", re.DOTALL
)


class Cost(NamedTuple):
    """What a check takes at most, in nanoseconds."""

    part: float = 0
    """For each value within the value."""
    byte: float = 0

    def plus(self, other: "Cost") -> "Cost":
        """Add the cost of what is checked as well."""
        return Cost(min(self.part + other.part, _ENDLESS), min(self.byte + other.byte, _ENDLESS))

    def or_else(self, other: "Cost") -> "Cost":
        """Give the larger cost: of two schemas, one applies."""
        return Cost(max(self.part, other.part), max(self.byte, other.byte))

    def checks(self) -> float:
        """Say how many schemas each part is held against at most."""
        return self.part / _SCHEMA

    def seconds(self, size: "Size") -> float:
        """Say how long a value of that size takes at most."""
        return (self.part * size.parts + self.byte * size.length) / 1e9


ENDLESS: Final = Cost(_ENDLESS, _ENDLESS)


class Size(NamedTuple):
    """How large a value is, at most."""

    parts: int
    length: int
    """Characters of JSON."""
    levels: int


def size_of(value: Json) -> Size:
    """Measure a value."""
    text = write(value)
    opened = text.count("{") + text.count("[")
    # What stands in a text within the value is counted too: too many parts are harmless, too few are not.
    return Size(1 + opened + text.count(","), len(text), min(opened, _DEEPEST))


class _Weight(NamedTuple):
    here: Cost = Cost(_SCHEMA)
    """For the place that the schema is applied to."""
    below: Cost = Cost()
    """For the most expensive place below."""

    def plus(self, other: "_Weight") -> "_Weight":
        return _Weight(self.here.plus(other.here), self.below.plus(other.below))

    @property
    def most(self) -> Cost:
        return self.here.or_else(self.below)


@dataclass(frozen=True)
class SchemaWork:
    """The costs of one schema."""

    schema: JsonObject

    def deciding(self) -> Cost:
        """Give the cost of finding out whether a value fits; of a schema that contains itself, once for each place."""
        weigher = _Weigher(self.schema)
        cost = weigher.weight(self.schema).most
        for reference in weigher.recursive:
            target = weigher.target(reference)
            cost = cost.plus(weigher.weight(target).most).plus(Cost(_UNIQUE * _DEEPEST * _is_unique(as_object(target))))
        return cost

    def explaining(self, levels: int) -> Cost:
        """Give the cost of finding the faults of a value so deep: what is reached in two ways is checked twice."""
        weigher = _Weigher(self.schema)
        cost = weigher.weight(self.schema).most
        for _ in range(levels if weigher.recursive else 0):
            deeper = weigher.deeper()
            if deeper.recursive == weigher.recursive or cost.part >= _ENDLESS:
                break
            weigher, cost = deeper, deeper.weight(self.schema).most
        return cost


@dataclass
class _Weigher:
    """Weighs the parts of a schema, each once."""

    root: JsonObject
    recursive: dict[str, _Weight] = field(default_factory=dict[str, _Weight])
    """References to what contains them, with what is assumed of their targets."""
    _known: dict[int, _Weight] = field(default_factory=dict[int, _Weight])
    _open: list[str] = field(default_factory=list[str])

    def deeper(self) -> "_Weigher":
        """Weigh again, with what is known now for what contains itself."""
        return _Weigher(self.root, {one: self.weight(self.target(one)) for one in self.recursive})

    def weight(self, schema: Json) -> _Weight:
        """Weigh a schema."""
        known = self._known.get(id(schema))
        members = as_object(schema)
        if known is not None or not members:
            return known or _Weight()
        weight = _Weight(_own(members), self._parts(members).plus(Cost(_UNIQUE * _is_unique(members))))
        for inner in _inside(members):
            weight = weight.plus(self.weight(inner))
        for reference in _references(members):
            weight = weight.plus(self._referred(reference))
        if "unevaluatedItems" in members or "unevaluatedProperties" in members:
            weight = _Weight(Cost(*(_UNEVALUATED * one for one in weight.here)), weight.below)
        self._known[id(schema)] = weight
        return weight

    def target(self, reference: str) -> Json:
        """Find what a reference within the schema leads to; what is not found is taken for the whole schema."""
        found: Any = self.root
        if not reference.startswith("#/"):
            name = reference.rpartition("#")[2]
            anchored = (one for one in _objects(self.root) if name and name in map(one.get, _ANCHORS))
            return next(anchored, found)
        for step in reference[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            found = as_object(found).get(name) if isinstance(found, dict) else dict(_numbered(found)).get(name)
        return found

    def _referred(self, reference: str) -> _Weight:
        if reference in self.recursive or reference in self._open:
            return self.recursive.setdefault(reference, _Weight())
        self._open.append(reference)
        weight = self.weight(self.target(reference))
        self._open.pop()
        return weight

    def _parts(self, schema: JsonObject) -> Cost:
        one = [schema[name] for name in _ONE_OF_THE_PARTS if name in schema]
        one += [*as_object(schema.get("properties")).values(), *_listed(schema.get("prefixItems"))]
        each = [schema[name] for name in _EACH_OF_THE_PARTS if name in schema]
        each += as_object(schema.get("patternProperties")).values()
        cost = Cost()
        for part in one:
            cost = cost.or_else(self.weight(part).most)
        for part in each:
            cost = cost.plus(self.weight(part).most)
        return cost


def _own(schema: JsonObject) -> Cost:
    """Weigh the keywords of a schema that have no schemas in them."""
    patterns = as_object(schema.get("patternProperties"))
    part = _SCHEMA + _CONST * ("const" in schema) + _OPTION * _options(_listed(schema.get("enum")))
    part += _DEPENDENT * (
        len(as_object(schema.get("dependentRequired"))) + len(as_object(schema.get("dependentSchemas")))
    )
    part += _NAME_PATTERN * len(patterns) + _UNIQUE * _is_unique(schema)
    byte = _STATE_BYTE * sum(map(states_of, (*patterns, str(schema.get("pattern", "")))))
    if "format" in schema:
        byte += _INTERNATIONAL_BYTE if str(schema["format"]).startswith("idn-") else _FORMAT_BYTE
    return Cost(part, byte)


def _is_unique(schema: JsonObject) -> bool:
    return schema.get("uniqueItems") is True


def _options(options: list[Json]) -> int:
    """Count the options that are tried one by one; those of one kind are looked up."""
    are_texts = all(isinstance(option, str) for option in options)
    are_numbers = all(isinstance(option, int) and not isinstance(option, bool) for option in options)
    return 1 if are_texts or are_numbers else len(options)


def pattern_count(schema: JsonObject) -> int:
    """Count the patterns of a schema; a property of that name is harmless."""
    return sum(
        1 if name == "pattern" else len(as_object(member)) if name == "patternProperties" else 0
        for part in _objects(schema)
        for name, member in part.items()
    )


def _objects(part: Json) -> Iterator[JsonObject]:
    if isinstance(part, dict):
        yield as_object(part)
    for inner in as_object(part).values() if isinstance(part, dict) else _listed(part):
        yield from _objects(inner)


def states_of(pattern: str) -> int:
    """Count the states that a pattern may be in at once, at most: its characters, as often as they are repeated."""
    groups, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        match token[0]:
            case "(":
                groups.append(0)
                last = 0
                continue
            case ")" if len(groups) > 1:
                last = groups.pop()
            case "*" | "+" | "?" | "|" | "^" | "$":
                continue
            case _ if token["least"] is not None:
                last *= max(0, int(token["most"] or token["least"]) - 1)
            case _:
                last = 1
        groups[-1] += last
    return sum(groups)


def _inside(schema: JsonObject) -> Iterator[Json]:
    yield from (schema[name] for name in _INSIDE if name in schema)
    for name in _INSIDE_LISTS:
        yield from _listed(schema.get(name))
    yield from as_object(schema.get("dependentSchemas")).values()


def _references(schema: JsonObject) -> Iterator[str]:
    return (str(schema[name]) for name in _REFERENCES if name in schema)


def _numbered(value: Json) -> Iterator[tuple[str, Json]]:
    return ((str(number), one) for number, one in enumerate(_listed(value)))


def _listed(value: Json) -> list[Json]:
    return cast(list[Json], value) if isinstance(value, list) else []
