"""Estimate how long a check of a value against a schema may take, before the check, which cannot be interrupted.

The estimate is the maximum time for one part of the value, times the number of parts, plus the same for its bytes.
Alternatives at one place add up; of the schemas of different members, the most expensive one counts. The estimate must
never be far too low: the constants below were measured (`python -m benchmarks.worst_cases`) and rounded up.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from msgspec import Struct, field

from stepwire.json_text import Json, JsonObject, as_list, as_object, write

# Nanoseconds.
_SCHEMA: Final = 20.0
_CONST: Final = 300.0
_OPTION: Final = 200.0  # of an enum that mixes types
_UNIQUE: Final = 100.0  # per level at which items are compared
_DEPENDENT: Final = 20.0
_NAME_PATTERN: Final = 60.0
_FORMAT_BYTE: Final = 4.0
_INTERNATIONAL_BYTE: Final = 80.0  # of an internationalized hostname or address
_STATE_BYTE: Final = 8.0  # per state that a pattern may be in at once
_UNEVALUATED: Final = 4.0  # factor: the validator evaluates the sibling keywords again
_DEEPEST: Final = 200  # levels of a value
_ENDLESS: Final = 1e12

# Where a schema has schemas: as the value, in a list, by name.
_WITH_ONE: Final = frozenset(
    {
        *("items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames"),
        *("not", "if", "then", "else"),
    }
)
_WITH_A_LIST: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_WITH_NAMES: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
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
    """Upper bound of the time of a check, in nanoseconds."""

    part: float = 0
    """Per nested value."""
    byte: float = 0

    def plus(self, other: "Cost") -> "Cost":
        """Return the cost of both checks."""
        return Cost(min(self.part + other.part, _ENDLESS), min(self.byte + other.byte, _ENDLESS))

    def or_else(self, other: "Cost") -> "Cost":
        """Return the larger cost, for two schemas of which one applies."""
        return Cost(max(self.part, other.part), max(self.byte, other.byte))

    def checks(self) -> float:
        """Return the maximum number of schemas that each part is checked against."""
        return self.part / _SCHEMA

    def seconds(self, size: "Size") -> float:
        """Return the maximum time for a value of that size."""
        return (self.part * size.parts + self.byte * size.length) / 1e9


ENDLESS: Final = Cost(_ENDLESS, _ENDLESS)


class Size(NamedTuple):
    """Upper bounds for the size of a value."""

    parts: int
    length: int
    """Bytes of JSON: patterns are matched byte by byte, and a character has up to four."""
    levels: int


def size_of(value: Json, text: str | None = None) -> Size:
    """Return upper bounds for the size of a value; `text`: what `write` makes of it, if the caller has that."""
    text = write(value) if text is None else text
    opened = text.count("{") + text.count("[")
    # Brackets and commas inside strings count too: an estimate that is too high is harmless.
    length = len(text.encode(errors="surrogatepass"))
    return Size(1 + opened + text.count(","), length, min(opened, _DEEPEST))


class _Weight(NamedTuple):
    here: Cost = Cost(_SCHEMA)
    """For the value that the schema applies to."""
    below: Cost = Cost()
    """For the most expensive value nested in it."""

    def plus(self, other: "_Weight") -> "_Weight":
        return _Weight(self.here.plus(other.here), self.below.plus(other.below))

    @property
    def most(self) -> Cost:
        return self.here.or_else(self.below)


class SchemaWork(Struct, frozen=True):
    """The costs of one schema."""

    schema: JsonObject

    def deciding(self) -> Cost:
        """Return the cost of deciding whether a value conforms; a recursive schema counts once per reference."""
        weigher = _Weigher(self.schema)
        cost = weigher.weight(self.schema).most
        for reference in weigher.recursive:
            target = weigher.target(reference)
            cost = cost.plus(weigher.weight(target).most).plus(Cost(_UNIQUE * _DEEPEST * _is_unique(target)))
        return cost

    def explaining(self, levels: int) -> Cost:
        """Return the cost of listing the violations of a value that deep; parts reached in two ways count twice."""
        weigher = _Weigher(self.schema)
        cost = weigher.weight(self.schema).most
        for _ in range(levels if weigher.recursive else 0):
            deeper = weigher.deeper()
            if deeper.recursive == weigher.recursive or cost.part >= _ENDLESS:
                break
            weigher, cost = deeper, deeper.weight(self.schema).most
        return cost


class _Weigher(Struct):
    """Computes the weights of the parts of a schema, each once."""

    root: JsonObject
    recursive: dict[str, _Weight] = field(default_factory=dict[str, _Weight])
    """Recursive references, with the weights assumed for their targets."""
    _weights: dict[int, _Weight] = field(default_factory=dict[int, _Weight])
    _in_progress: list[str] = field(default_factory=list[str])

    def deeper(self) -> "_Weigher":
        """Return a weigher that assumes, for recursive references, the weights computed by this one."""
        return _Weigher(self.root, {one: self.weight(self.target(one)) for one in self.recursive})

    def weight(self, schema: Json) -> _Weight:
        """Return the weight of a schema."""
        computed = self._weights.get(id(schema))
        members = as_object(schema)
        if computed is not None or not members:
            return computed or _Weight()
        weight = _Weight(_own(members), self._parts(members).plus(Cost(_UNIQUE * _is_unique(members))))
        for inner in _inside(members):
            weight = weight.plus(self.weight(inner))
        for reference in _references(members):
            weight = weight.plus(self._referred(reference))
        if "unevaluatedItems" in members or "unevaluatedProperties" in members:
            weight = _Weight(Cost(*(_UNEVALUATED * one for one in weight.here)), weight.below)
        self._weights[id(schema)] = weight
        return weight

    def target(self, reference: str) -> JsonObject:
        """Return the target of a reference within the schema; the whole schema where there is none."""
        if reference.startswith("#/"):
            return resolved(self.root, reference)
        name = reference.rpartition("#")[2]
        anchored = (one for one in _objects(self.root) if name and name in map(one.get, _ANCHORS))
        return next(anchored, self.root)

    def _referred(self, reference: str) -> _Weight:
        if reference in self.recursive or reference in self._in_progress:
            return self.recursive.setdefault(reference, _Weight())
        self._in_progress.append(reference)
        weight = self.weight(self.target(reference))
        self._in_progress.pop()
        return weight

    def _parts(self, schema: JsonObject) -> Cost:
        one = [schema[name] for name in _ONE_OF_THE_PARTS if name in schema]
        one += [*as_object(schema.get("properties")).values(), *as_list(schema.get("prefixItems"))]
        each = [schema[name] for name in _EACH_OF_THE_PARTS if name in schema]
        each += as_object(schema.get("patternProperties")).values()
        cost = Cost()
        for part in one:
            cost = cost.or_else(self.weight(part).most)
        for part in each:
            cost = cost.plus(self.weight(part).most)
        return cost


def _own(schema: JsonObject) -> Cost:
    """Return the cost of the keywords that contain no schemas."""
    patterns = as_object(schema.get("patternProperties"))
    part = _SCHEMA + _CONST * ("const" in schema) + _OPTION * _options(as_list(schema.get("enum")))
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
    """Return how many options are compared one by one; options of a single type are looked up in a table."""
    are_texts = all(isinstance(option, str) for option in options)
    are_numbers = all(isinstance(option, int) and not isinstance(option, bool) for option in options)
    return 1 if are_texts or are_numbers else len(options)


def circular_reference(schema: JsonObject) -> str | None:
    """Return a reference that leads back to itself for one value, so that its check has no end; None without one."""
    from graphlib import CycleError, TopologicalSorter  # noqa: PLC0415 - for schemas that are checked, not for values

    weigher = _Weigher(schema)
    references = {one for part in _objects(schema) for one in _references(part)}
    try:
        TopologicalSorter({one: set(_referred_at_once(weigher.target(one))) for one in references}).prepare()
    except CycleError as error:
        return str(error.args[1][0])
    return None


def _referred_at_once(schema: Json) -> Iterator[str]:
    """Yield the references that a schema makes for the value that it applies to."""
    yield from _references(as_object(schema))
    for inner in _inside(as_object(schema)):
        yield from _referred_at_once(inner)


def pattern_count(schema: JsonObject) -> int:
    """Return the number of patterns in a schema; a property named `pattern` may count too, which is harmless."""
    return sum(
        1 if name == "pattern" else len(as_object(member)) if name == "patternProperties" else 0
        for part in _objects(schema)
        for name, member in part.items()
    )


def _objects(part: Json) -> Iterator[JsonObject]:
    if isinstance(part, dict):
        yield as_object(part)
    for inner in as_object(part).values() if isinstance(part, dict) else as_list(part):
        yield from _objects(inner)


def states_of(pattern: str) -> int:
    """Return the maximum number of states a pattern may be in at once: its characters times their repetitions."""
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
        yield from as_list(schema.get(name))
    yield from as_object(schema.get("dependentSchemas")).values()


def _references(schema: JsonObject) -> Iterator[str]:
    return (str(schema[name]) for name in _REFERENCES if name in schema)


def parts_of(schema: JsonObject) -> Iterator[tuple[str, Json]]:
    """Yield each schema within a schema, with the steps of a JSON Pointer that lead to it.

    Nothing else is looked into: a property may be called `type`, and an example may say what it likes.
    """
    for keyword, value in schema.items():
        if keyword in _WITH_ONE:
            yield keyword, value
        elif keyword in _WITH_NAMES:
            yield from ((f"{keyword}/{escaped(name)}", one) for name, one in as_object(value).items())
        elif keyword in _WITH_A_LIST:
            yield from ((f"{keyword}/{number}", one) for number, one in enumerate(as_list(value)))


def with_parts(schema: JsonObject, change: Callable[[Json], Json]) -> JsonObject:
    """Return a schema with each schema within it changed."""
    changed = dict(schema)
    for keyword, value in schema.items():
        if keyword in _WITH_ONE:
            changed[keyword] = change(value)
        elif keyword in _WITH_NAMES:
            changed[keyword] = {name: change(one) for name, one in as_object(value).items()}
        elif keyword in _WITH_A_LIST:
            changed[keyword] = [change(one) for one in as_list(value)]
    return changed


def resolved(root: JsonObject, reference: str) -> JsonObject:
    """Return what a reference into the schema leads to; empty for any other reference."""
    if reference != "#" and not reference.startswith("#/"):
        return {}
    found: Json = root
    for step in reference.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(as_list(found)):
            found = as_list(found)[int(name)]
        else:
            found = as_object(found).get(name)
    return as_object(found)


def escaped(name: str) -> str:
    """Return a name as a step of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")
