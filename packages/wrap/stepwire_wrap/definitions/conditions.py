"""Conditions of Choice states in both languages, and what the input must be like wherever one holds.

`Facts` says what is known of the input where a condition holds (or does not): a conjunction, by path.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from stepwire.json_text import load_json
from stepwire_wrap.definitions.values import EACH, Path, Value, input_paths, is_input_alone


@dataclass(frozen=True)
class Compares:
    """A value compared with one that the definition writes out."""

    value: Value
    operator: str
    """`=`, `<`, `<=`, `>`, `>=`."""
    with_what: str
    """JSON text."""


@dataclass(frozen=True)
class IsThere:
    """Whether a value is there."""

    value: Value


@dataclass(frozen=True)
class All:
    """All of these hold."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True)
class AnyOf:
    """One of these holds."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True)
class Not:
    """This does not hold."""

    part: "Condition"


@dataclass(frozen=True)
class Opaque:
    """A condition that says nothing of the input."""


Condition: TypeAlias = Compares | IsThere | All | AnyOf | Not | Opaque


@dataclass(frozen=True)
class Limits:
    """What a part of the input must be like. None: no limit."""

    values: tuple[str, ...] | None = None
    """JSON texts."""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None

    def both(self, other: "Limits") -> "Limits":
        """Return what holds where both hold."""
        if self.values is not None and other.values is not None:
            values = tuple(one for one in self.values if one in other.values)
        else:
            values = self.values if other.values is None else other.values
        return Limits(
            values,
            _given(max, self.minimum, other.minimum),
            _given(min, self.maximum, other.maximum),
            _given(max, self.above, other.above),
            _given(min, self.below, other.below),
        )

    def either(self, other: "Limits") -> "Limits":
        """Return what holds where one of them holds."""
        both = None if self.values is None or other.values is None else (*self.values, *other.values)
        return Limits(
            None if both is None else tuple(dict.fromkeys(both)),
            _if_both(min, self.minimum, other.minimum),
            _if_both(max, self.maximum, other.maximum),
            _if_both(min, self.above, other.above),
            _if_both(max, self.below, other.below),
        )


Facts: TypeAlias = Mapping[Path, Limits]
_Choose: TypeAlias = Callable[[float, float], float]
_NEGATED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_FIELDS: Final = {"<": "below", "<=": "maximum", ">": "above", ">=": "minimum"}


def _given(choose: _Choose, first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return second if first is None else first
    return choose(first, second)


def _if_both(choose: _Choose, first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else choose(first, second)


def facts_of(condition: Condition, *, holds: bool) -> Facts:
    """Return what is known of the input where a condition holds, or where it does not."""
    match condition:
        case Compares():
            return _compared(condition, holds=holds)
        case IsThere(value):
            return _about(value, Limits()) if holds else {}
        case Not(part):
            return facts_of(part, holds=not holds)
        case All(parts) | AnyOf(parts):
            inner = [facts_of(one, holds=holds) for one in parts]
            return both(inner) if isinstance(condition, All) is holds else either(inner)
        case Opaque():
            return {}


def both(facts: Iterable[Facts]) -> Facts:
    """Return what is known where all of these hold."""
    known: dict[Path, Limits] = {}
    for one in facts:
        for path, limits in one.items():
            known[path] = known[path].both(limits) if path in known else limits
    return known


def either(facts: Iterable[Facts]) -> Facts:
    """Return what is known where one of these holds: only what all of them say something of."""
    known: dict[Path, Limits] | None = None
    for one in facts:
        if known is None:
            known = dict(one)
        else:
            known = {path: limits.either(one[path]) for path, limits in known.items() if path in one}
    return known or {}


def _compared(condition: Compares, *, holds: bool) -> Facts:
    limit = load_json(condition.with_what)
    operator = condition.operator
    if operator == "=":
        limits = Limits(values=(condition.with_what,)) if holds else None
    elif isinstance(limit, bool) or not isinstance(limit, int | float):
        limits = Limits() if holds else None  # texts in an order: no schema says so
    else:
        limits = replace(Limits(), **{_FIELDS[operator if holds else _NEGATED[operator]]: limit})
    return {} if limits is None else _about(condition.value, limits)


def _about(value: Value, limits: Limits) -> Facts:
    if not is_input_alone(value):
        return {}
    (path,) = input_paths(value)
    return {} if EACH in path or not path else {path: limits}
