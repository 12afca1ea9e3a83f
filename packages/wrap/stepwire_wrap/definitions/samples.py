"""What the inputs, or outputs, of past executions were like: types, and how often a member was there.

The rule: no value is kept, not even for a while after it was looked at; only counts are. A member's name is kept only
if it looks like a name and several runs had it: names may be somebody's address or a number of an order.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, cast

from stepwire.json_text import Json, JsonObject

_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.:-]{0,63}")
_ID: Final = re.compile(r"\d{5}|[0-9a-f]{8}-[0-9a-f]{4}|\d{4}-\d\d")
_FEWEST_RUNS_OF_A_NAME: Final = 2
_MOST_NAMES: Final = 40
_DEEPEST: Final = 8
_MOST_ITEMS: Final = 100  # of one array
_FORMATS: Final = {
    "date-time": re.compile(r"\d{4}-[01]\d-[0-3]\d[Tt][0-2]\d:[0-5]\d:[0-6]\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)"),
    "date": re.compile(r"\d{4}-[01]\d-[0-3]\d"),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
}

_TYPES: Final[dict[type, str]] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    str: "string",
    list: "array",
    dict: "object",
}


@dataclass
class Seen:
    """What was seen in one place of several values."""

    count: int = 0
    """How many values there were in this place."""
    types: Counter[str] = field(default_factory=Counter[str])
    formats: Counter[str] = field(default_factory=Counter[str])
    members: "dict[str, Seen]" = field(default_factory=dict[str, "Seen"])
    items: "Seen | None" = None

    def add(self, value: Json, depth: int = 0) -> None:
        """Count one more value."""
        self.count += 1
        kind = type_of(value)
        self.types[kind] += 1
        if depth >= _DEEPEST:
            return
        if kind == "object":
            for name, one in cast(JsonObject, value).items():
                self.members.setdefault(name, Seen()).add(one, depth + 1)
        elif kind == "array":
            self.items = self.items or Seen()
            for one in cast(list[Json], value)[:_MOST_ITEMS]:
                self.items.add(one, depth + 1)
        elif kind == "string":
            self.formats.update(name for name, pattern in _FORMATS.items() if pattern.fullmatch(value))

    @property
    def objects(self) -> int:
        """How many of the values were objects."""
        return self.types["object"]

    def names(self, known: Iterable[str] = ()) -> list[str]:
        """Return the members whose names may be told: those of the definition, and what looks like a name."""
        sure = frozenset(known)
        safe = [name for name, one in self.members.items() if name in sure or self._is_name(name, one.count)]
        everywhere = [name for name in safe if name in sure or 2 * self.members[name].count >= self.objects]
        return safe if len(safe) <= _MOST_NAMES else everywhere[:_MOST_NAMES]

    def has_keys(self) -> bool:
        """Tell whether the members are named by data: many names, each of them rare."""
        rare = [name for name, one in self.members.items() if 2 * one.count < self.objects]
        return len(rare) > max(8, len(self.members) // 2)

    def _is_name(self, name: str, count: int) -> bool:
        if not _NAME.fullmatch(name) or _ID.search(name) or "@" in name:
            return False
        return count >= min(_FEWEST_RUNS_OF_A_NAME, self.objects) and not (self.has_keys() and count < self.objects)


def seen_in(values: Iterable[Json]) -> Seen:
    """Return what was seen in some values."""
    seen = Seen()
    for value in values:
        seen.add(value)
    return seen


def type_of(value: Json) -> str:
    """Return the JSON Schema type of a value."""
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _TYPES[type(cast(object, value))]
