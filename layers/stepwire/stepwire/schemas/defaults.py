"""What a call leaves out: fill in the `default`s of its JSON Schema, and take a null for nothing, at any depth.

The rules: a default is inserted as it is written, where its object is there and lacks the member. A null is left out
where the property may be missing and takes no null, because clients that fill in every property of a schema write one
for each; any other null is a value like others. Both are found in `properties`, `items`, `prefixItems` and `allOf`, and
behind `$ref`s into the schema itself. Other keywords (`anyOf`, `if`, ...) have no defaults: they only describe. Work
and growth are bounded, whatever the arguments are: with too many parts, defaults are refused, and nulls stay for the
schema to refuse.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, cast

from msgspec import Struct, field

from stepwire.json_text import Json, JsonObject, as_list, as_object, load_json, write
from stepwire.schemas.validation import SchemaError, Violation, violation_of_parts
from stepwire.schemas.work import parts_of, resolved

MOST_VISITS: Final = 50_000  # places of objects and lists, or their schemas, that are looked at; some 60 ms
_WORD: Final = '"default"'
_MISSING: Final = object()
_FILLED: Final = frozenset({"properties", "$defs", "allOf", "prefixItems", "items"})
_DEEPEST: Final = 10  # alternatives within alternatives
_CHOICES: Final = ("anyOf", "oneOf")


class _Default(Struct, frozen=True):
    value: Json
    size: int
    """Bytes that it adds to an object, with its name."""


class TooManyDefaults(Exception):
    """The arguments, with all defaults, are too large."""


class _Place(Struct):
    """What the schemas of one place say about the objects and lists there."""

    defaults: "dict[str, _Default]" = field(default_factory=dict[str, "_Default"])
    members: "dict[str, list[_Place]]" = field(default_factory=dict[str, "list[_Place]"])
    items: "list[_Place]" = field(default_factory=list["_Place"])
    first_items: "dict[int, list[_Place]]" = field(default_factory=dict[int, "list[_Place]"])


class Defaults:
    """The defaults of one schema."""

    def __init__(self, schema: JsonObject) -> None:
        self._root = schema
        self._places: dict[int, _Place] = {}
        self._top = self._place_of(schema)

    def filled(self, arguments: JsonObject, room: int) -> JsonObject:
        """Return the arguments with defaults where members are missing; the same object if none is.

        Raises:
            TooManyDefaults: the defaults take more than `room` bytes of JSON, or the arguments have too many parts.
        """
        return cast(JsonObject, _Filling(room).filled(arguments, (self._top,)))

    def _place_of(self, schema: JsonObject) -> _Place:
        known = self._places.get(id(schema))
        if known is None:
            known = self._places[id(schema)] = _Place()
            for part in joined(self._root, schema):
                self._add(known, part)
        return known

    def _add(self, place: _Place, schema: JsonObject) -> None:
        for name, member in as_object(schema.get("properties")).items():
            default = self._default_of(as_object(member))
            if default is not _MISSING:
                size = len(write({name: default}).encode()) - 1
                place.defaults.setdefault(name, _Default(default, size))
            place.members.setdefault(name, []).extend(self._places_in(member))
        place.items.extend(self._places_in(schema.get("items")))
        for position, item in enumerate(as_list(schema.get("prefixItems"))):
            place.first_items.setdefault(position, []).extend(self._places_in(item))

    def _places_in(self, schema: Json) -> "list[_Place]":
        text = write(schema)
        return [self._place_of(as_object(schema))] if _WORD in text or '"$ref"' in text else []

    def _default_of(self, schema: JsonObject) -> Json:
        return next((part["default"] for part in joined(self._root, schema) if "default" in part), _MISSING)


class _Filling(Struct):
    """Fills one value, as long as its budget lasts."""

    room: int
    visits: int = MOST_VISITS

    def filled(self, value: Json, places: Iterable[_Place]) -> Json:
        """Return a value with the defaults of each of its places; an object that has all stays the same object."""
        for place in places:
            self.visits -= 1
            if self.visits < 0:
                raise TooManyDefaults
            if isinstance(value, dict):
                value = self._object(cast(JsonObject, value), place)
            elif isinstance(value, list) and (place.items or place.first_items):
                after = len(place.first_items)
                value = [
                    self.filled(item, place.first_items.get(number, ()) if number < after else place.items)
                    for number, item in enumerate(cast(list[Json], value))
                ]
        return cast(Json, value)

    def _object(self, value: JsonObject, place: _Place) -> JsonObject:
        filled: JsonObject = {}
        known = place.members if len(place.members) < len(value) else value
        for name in known:
            if name in place.members and isinstance(value.get(name), dict | list):
                member = self.filled(value[name], place.members[name])
                if member is not value[name]:
                    filled[name] = member
        for name, default in place.defaults.items():
            if name not in value:
                self.room -= default.size
                if self.room < 0:
                    raise TooManyDefaults
                filled[name] = default.value
        return {**value, **filled} if filled else value


def default_faults(schema: JsonObject) -> Iterator[str]:
    """Yield what is wrong with the defaults that are filled in: each must be what its own schema takes."""
    places = [(pointer, part["default"]) for pointer, part in _described(schema, "") if "default" in part]
    try:
        found = violation_of_parts(schema, places) if places else None
    except SchemaError as error:
        found = Violation("", str(error))
    if found is not None:
        yield str(found)


def _described(schema: JsonObject, pointer: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield each schema of a part of the value that may have a default, with its pointer."""
    for step, part in parts_of(schema):
        if step.partition("/")[0] in _FILLED:
            yield f"{pointer}/{step}", as_object(part)
            yield from _described(as_object(part), f"{pointer}/{step}")


def joined(root: JsonObject, schema: JsonObject) -> Iterator[JsonObject]:
    """Yield a schema, and all that it joins by `$ref` and `allOf`, each once."""
    waiting, seen = [schema], set[int]()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [as_object(part) for part in as_list(one.get("allOf"))]
        if isinstance(one.get("$ref"), str):
            waiting.append(resolved(root, one["$ref"]))


class _TooMuchWork(Exception):
    """The arguments have too many parts."""


def without_nulls(schema: str, arguments: JsonObject) -> JsonObject:
    """Return the arguments without the nulls that stand for what is left out."""
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
            return [self.left_out(item, _items(place, number)) for number, item in enumerate(as_list(value))]
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
        self.visits -= 1 + len(found)
        if self.visits < 0:
            raise _TooMuchWork
        return found

    def _refuses_null(self, place: Iterable[JsonObject], depth: int = 0) -> bool:
        return depth < _DEEPEST and any(self._is_not_null(one, depth) for one in place)

    def _is_not_null(self, schema: JsonObject, depth: int) -> bool:
        if "type" in schema and "null" not in schema["type"]:  # one name, or a list of them
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
