"""Where a value in a running state machine comes from: the execution's input, the definition, or somewhere else.

Values are sets of alternatives, because states are reached in several ways. The rule: what may be something that an
earlier state produced is never taken for the input alone.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, cast

from stepwire.json_text import Json, JsonObject, load_json, write

EACH: Final = "[]"
"""The step of a path that stands for each item of an array."""
Path: TypeAlias = tuple[str, ...]
_MOST_ALTERNATIVES: Final = 6
DEEPEST: Final = 12  # steps of a path, and levels of a record
_MOST_MEMBERS: Final = 200  # that are put into an object one by one; more would take quadratic time


@dataclass(frozen=True)
class FromInput:
    """The part of the execution's input at a path."""

    path: Path = ()


@dataclass(frozen=True)
class Literal:
    """A value that the definition writes out."""

    text: str
    """JSON text."""


@dataclass(frozen=True)
class Record:
    """An object that was put together."""

    members: "tuple[tuple[str, Value], ...]"
    base: "Value | None" = None
    """Where all other members come from; None: there are no others."""

    @cached_property
    def levels(self) -> int:
        """How many objects are inside one another."""
        inner = [value for _, value in self.members] + ([] if self.base is None else [self.base])
        records = {below for value in inner for below in value if isinstance(below, Record)}
        return 1 + max((below.levels for below in records), default=0)

    @cached_property
    def _hash(self) -> int:
        return hash((self.members, self.base))

    def __hash__(self) -> int:
        """Return the hash, which is computed once: members may have many members."""
        return self._hash


@dataclass(frozen=True)
class Unknown:
    """Something else: what a task returned, what an expression computed."""


Alternative: TypeAlias = FromInput | Literal | Record | Unknown
Value: TypeAlias = frozenset[Alternative]

INPUT: Final[Value] = frozenset({FromInput()})
UNKNOWN: Final[Value] = frozenset({Unknown()})
NULL: Final[Value] = frozenset({Literal("null")})


def literal(value: Json) -> Value:
    """Return a value that the definition writes out; its objects become records."""
    if isinstance(value, dict):
        return record({name: literal(one) for name, one in cast(JsonObject, value).items()})
    return frozenset({Literal(write(value))})


def record(members: "dict[str, Value]", base: Value | None = None) -> Value:
    """Return an object with these members, and those of `base`."""
    return frozenset({Record(tuple(sorted(members.items(), key=lambda one: one[0])), base)})


def part(value: Value, path: Path) -> Value:
    """Return the part of a value at a path."""
    for step in path:
        value = _joined(one for alternative in value for one in _step(alternative, step))
    return value


def replaced(value: Value, path: Path, new: Value) -> Value:
    """Return the value with another part at a path, as `ResultPath` puts it there."""
    if not path:
        return new
    name, rest = path[0], path[1:]
    changed: set[Alternative] = set()
    for one in value:
        members, base = _opened(one)
        if len(members) >= _MOST_MEMBERS:
            changed |= UNKNOWN | (base or UNKNOWN)
            continue
        inner = members.get(name, UNKNOWN if base is None else part(base, (name,)))
        changed |= record({**members, name: replaced(inner, rest, new)}, base)
    return _joined(changed)


def merged(first: Value, second: Value) -> Value:
    """Return the object that has the members of both, those of the second first."""
    if len(second) == 1 and isinstance(one := next(iter(second)), Record) and one.base is None:
        for name, inner in one.members:
            first = replaced(first, (name,), inner)
        return first
    return UNKNOWN


def joined(first: Value, second: Value) -> Value:
    """Return the value that is one or the other."""
    if first == second:
        return first
    return _joined(first | second)


def filled_in(value: Value, given: Value) -> Value:
    """Return a value that is made of an input, with what is given as that input."""
    return _joined(found for one in value for found in _filled_in(one, given))


def _filled_in(one: Alternative, given: Value) -> Value:
    if isinstance(one, FromInput):
        return part(given, one.path)
    if isinstance(one, Record):
        members = {name: filled_in(inner, given) for name, inner in one.members}
        return record(members, None if one.base is None else filled_in(one.base, given))
    return frozenset({one})


def input_paths(value: Value) -> list[Path]:
    """Return the parts of the input that a value may be."""
    return sorted(one.path for one in value if isinstance(one, FromInput))


def input_paths_inside(value: Value) -> list[Path]:
    """Return the parts of the input that are inside an object that was put together, but those that are in others."""
    records = [one for one in value if isinstance(one, Record)]
    inner = [below for one in records for _, below in one.members] + [
        one.base for one in records if one.base is not None
    ]
    found = {path for below in inner for path in (*input_paths(below), *input_paths_inside(below))}
    return sorted(path for path in found if not any(path[:size] in found for size in range(len(path))))


def is_input_alone(value: Value) -> bool:
    """Tell whether a value is one part of the input, in whatever way its state is reached."""
    return len(value) == 1 and isinstance(next(iter(value)), FromInput)


def literal_in(value: Value) -> Json:
    """Return what the definition writes out; None if it is anything else."""
    if len(value) != 1:
        return None
    one = next(iter(value))
    return load_json(one.text) if isinstance(one, Literal) else None


def _step(one: Alternative, name: str) -> Value:
    if isinstance(one, FromInput):
        return frozenset({FromInput((*one.path, name))}) if len(one.path) < DEEPEST else UNKNOWN
    if isinstance(one, Record) and name != EACH:
        found = dict(one.members).get(name)
        if found is None and one.base is not None:
            return part(one.base, (name,))
        return UNKNOWN if found is None else found
    return UNKNOWN


def _opened(one: Alternative) -> "tuple[dict[str, Value], Value | None]":
    if isinstance(one, Record):
        return dict(one.members), one.base
    return {}, frozenset({one})


def _joined(alternatives: "object") -> Value:
    """Merge records of one base, so that what differs is kept apart member by member."""
    found = set(cast("frozenset[Alternative]", alternatives))
    if len(found) == 1 and not isinstance(next(iter(found)), Record):
        return frozenset(found)
    plain = frozenset(one for one in found if not isinstance(one, Record))
    several = [one for one in found if isinstance(one, Record)]
    by_base: dict[Value | None, dict[str, Value]] = {}
    for one in sorted(several, key=lambda one: [name for name, _ in one.members]):
        members = dict(one.members)
        known = by_base.get(one.base)
        by_base[one.base] = members if known is None else _members(known, members, one.base)
    for base in [one for one in by_base if one is not None and one <= plain]:
        by_base[base] = _members(by_base[base], {}, base)
        plain -= base
    records = {Record(tuple(sorted(members.items())), base) for base, members in by_base.items()}
    whole = plain | frozenset(one for one in records if one.levels <= DEEPEST and len(one.members) <= _MOST_MEMBERS)
    if len(whole) <= _MOST_ALTERNATIVES and len(whole) == len(plain) + len(records):
        return whole
    left = whole.union(*(one.base for one in records - whole if one.base is not None))
    return UNKNOWN | frozenset(sorted((one for one in left if isinstance(one, FromInput)), key=repr)[:3])


def _members(first: "dict[str, Value]", second: "dict[str, Value]", base: Value | None) -> "dict[str, Value]":
    def of(members: "dict[str, Value]", name: str) -> Value:
        return members.get(name) or (UNKNOWN if base is None else part(base, (name,)))

    return {name: joined(of(first, name), of(second, name)) for name in {**first, **second}}
