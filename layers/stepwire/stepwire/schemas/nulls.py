"""Take a null for what a caller leaves out: clients that fill in every property of a schema write one for each.

The rules: a null is left out where the property may be missing and takes no null, at any depth; any other null is a
value like others. Places are found as for defaults (`stepwire.schemas.defaults`). Work is bounded: where arguments have
too many parts, all nulls stay, and the schema refuses them.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, cast

from msgspec import Struct, field

from stepwire.json_text import Json, JsonObject, as_object, load_json
from stepwire.schemas.defaults import joined

MOST_VISITS: Final = 50_000  # schemas that are looked at, at all places
_DEEPEST: Final = 10  # alternatives within alternatives
_CHOICES: Final = ("anyOf", "oneOf")


class _TooMuchWork(Exception):
    """The arguments have too many parts."""


def without_nulls(schema: str, arguments: JsonObject) -> JsonObject:
    """Return the arguments without the nulls that stand for what is left out.

    Args:
        schema: JSON text.
        arguments: of a call; they stay as they are.
    """
    root = _parsed(schema)
    try:
        return as_object(_Nulls(root).left_out(arguments, [root]))
    except _TooMuchWork:
        return arguments


@lru_cache(maxsize=64)
def _parsed(schema: str) -> JsonObject:
    return as_object(load_json(schema))


class _Nulls(Struct):
    root: JsonObject
    visits: int = MOST_VISITS
    _joined: dict[int, Sequence[JsonObject]] = field(default_factory=dict[int, Sequence[JsonObject]])

    def left_out(self, value: Json, schemas: Iterable[JsonObject]) -> Json:
        """Return a value without such nulls, by the schemas of its place."""
        place = self._place(schemas)
        if isinstance(value, dict):
            return self._object(cast(JsonObject, value), place)
        if isinstance(value, list):
            return [self.left_out(item, _items(place, number)) for number, item in enumerate(cast(list[Json], value))]
        return value

    def _object(self, value: JsonObject, place: Sequence[JsonObject]) -> JsonObject:
        required = {name for one in place for name in one.get("required", ())}
        kept: JsonObject = {}
        for name, member in value.items():
            described = [
                as_object(one["properties"][name]) for one in place if name in as_object(one.get("properties"))
            ]
            parts = self._place(described)
            may_miss = name not in required or any("default" in one for one in parts)
            if member is None and may_miss and self._refuses_null(parts):
                continue
            kept[name] = self.left_out(member, described) if isinstance(member, dict | list) else member
        return kept

    def _place(self, schemas: Iterable[JsonObject]) -> Sequence[JsonObject]:
        """Return all schemas that describe a place."""
        found = list[JsonObject]()
        for one in schemas:
            if id(one) not in self._joined:
                self._joined[id(one)] = tuple(joined(self.root, one))
            found += self._joined[id(one)]
        self._count(1 + len(found))
        return found

    def _count(self, visits: int) -> None:
        self.visits -= visits
        if self.visits < 0:
            raise _TooMuchWork

    def _refuses_null(self, place: Iterable[JsonObject], depth: int = 0) -> bool:
        return depth < _DEEPEST and any(self._is_not_null(one, depth) for one in place)

    def _is_not_null(self, schema: JsonObject, depth: int) -> bool:
        if "type" in schema and "null" not in _as_list(schema["type"]):
            return True
        if "enum" in schema and None not in schema["enum"]:
            return True
        if schema.get("const", None) is not None:
            return True
        choices = ([as_object(one) for one in schema[name]] for name in _CHOICES if name in schema)
        return any(all(self._refuses_null(self._place([one]), depth + 1) for one in choice) for choice in choices)


def _items(place: Sequence[JsonObject], number: int) -> list[JsonObject]:
    """Return the schemas of an item of a list."""
    found = list[JsonObject]()
    for one in place:
        first = one.get("prefixItems", ())
        described = first[number] if number < len(first) else one.get("items")
        if isinstance(described, dict):
            found.append(as_object(cast(Json, described)))
    return found


def _as_list(value: Json) -> list[Json]:
    return cast(list[Json], value) if isinstance(value, list) else [value]
