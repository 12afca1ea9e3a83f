"""Fill the `default`s of a JSON Schema into the arguments of a call, at any depth.

The rules: a default is inserted as it is written, where its object is there and lacks the member. Defaults are found in
`properties`, `items`, `prefixItems` and `allOf`, and behind `$ref`s into the schema itself. Those in other keywords
(`anyOf`, `if`, ...) only describe. Work and growth are bounded, whatever the arguments are.
"""

from collections.abc import Iterable, Iterator
from typing import Final, cast
from urllib.parse import unquote

from msgspec import Struct, field

from stepwire.json_text import Json, JsonObject, as_object, write
from stepwire.schemas.validation import SchemaError, Violation, violation_of_parts

MOST_VISITS: Final = 50_000  # places of objects and lists that are looked at; some 60 ms
_WORD: Final = '"default"'
_MISSING: Final = object()


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
        """Return the arguments with defaults where members are missing.

        Raises:
            TooManyDefaults: the defaults take more than `room` bytes of JSON, or the arguments have too many parts.
        """
        return as_object(_Filling(room).filled(arguments, (self._top,)))

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
        for position, item in enumerate(_as_list(schema.get("prefixItems"))):
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
        """Return a value with the defaults of each of its places."""
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
        members = dict(value)
        known = place.members if len(place.members) < len(value) else value
        for name in [name for name in known if name in value and name in place.members]:
            members[name] = self.filled(value[name], place.members[name])
        for name, default in place.defaults.items():
            if name not in members:
                self.room -= default.size
                if self.room < 0:
                    raise TooManyDefaults
                members[name] = default.value
        return members


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
    parts = {f"properties/{_escaped(name)}": one for name, one in as_object(schema.get("properties")).items()}
    parts |= {f"$defs/{_escaped(name)}": one for name, one in as_object(schema.get("$defs")).items()}
    for keyword in ("allOf", "prefixItems"):
        parts |= {f"{keyword}/{number}": one for number, one in enumerate(_as_list(schema.get(keyword)))}
    if isinstance(schema.get("items"), dict):
        parts["items"] = schema["items"]
    for step, part in parts.items():
        place = f"{pointer}/{step}"
        yield place, as_object(part)
        yield from _described(as_object(part), place)


def joined(root: JsonObject, schema: JsonObject) -> Iterator[JsonObject]:
    """Yield a schema, and all that it joins by `$ref` and `allOf`, each once."""
    waiting, seen = [schema], set[int]()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [as_object(part) for part in _as_list(one.get("allOf"))]
        if isinstance(one.get("$ref"), str):
            waiting.append(resolved(root, one["$ref"]))


def resolved(root: JsonObject, reference: str) -> JsonObject:
    """Return what a reference into the schema leads to; empty for any other reference."""
    if reference != "#" and not reference.startswith("#/"):
        return {}
    found: Json = root
    for step in reference.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(cast(list[Json], found)):
            found = cast(list[Json], found)[int(name)]
        else:
            found = as_object(found).get(name)
    return as_object(found)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _as_list(value: Json) -> list[Json]:
    return cast(list[Json], value) if isinstance(value, list) else []
