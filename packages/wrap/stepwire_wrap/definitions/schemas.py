"""Join what a definition reads with what past runs were given, into a JSON Schema that says where each part is from.

The rules: no value of a run gets into a schema; what only runs say is kept loose (few runs require nothing, no limits,
no choices); where both differ, what worked in a run is allowed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, cast

from stepwire.json_text import Json, JsonObject, load_json, write
from stepwire_wrap.definitions.conditions import Limits
from stepwire_wrap.definitions.machines import Analysis
from stepwire_wrap.definitions.reads import LIST, Read
from stepwire_wrap.definitions.samples import Seen, type_of
from stepwire_wrap.definitions.values import EACH, Path

FEWEST_RUNS: Final = 10
"""Runs that make a member required, or a format certain."""
_FEWEST_VALUES: Final = 5  # that make a type certain
_FEWEST_INTEGERS: Final = 30  # that make sure of no fraction
_MOST_CHOICES: Final = 30
_MOST_STATES: Final = 3  # named in a comment
_ORDER: Final = ("string", "integer", "number", "boolean", "object", "array", "null")
_BOUNDS: Final = {"minimum": "minimum", "maximum": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum"}


@dataclass
class Part:
    """What the definition says of one part of the input."""

    members: "dict[str, Part]" = field(default_factory=dict[str, "Part"])
    items: "Part | None" = None
    reads: list[Read] = field(default_factory=list[Read])
    is_required: bool = False
    limits: Limits = field(default_factory=Limits)
    is_loose: bool = False
    """Whether it may as well be a list of what its members say."""
    maps_lists: bool = False
    """Whether what expressions read of it may be of each of its items."""

    def at(self, path: Path) -> "Part":
        """Return the part at a path; it is made if it is not there."""
        part = self
        for step in path:
            if step == EACH:
                part.items = part.items or Part()
                part = part.items
            else:
                part = part.members.setdefault(step, Part())
        return part

    @property
    def types(self) -> frozenset[str]:
        """The types that make sense to all its uses."""
        structure = {"array"} if self.items is not None else set[str]()
        if self.members and not self.is_loose:
            structure.add("object")
        if len(structure) > 1:
            return frozenset(structure)  # some ways read an array, others an object
        for read in sorted(self.reads, key=lambda read: not read.use.needed):
            if read.use.loose and self.is_loose:
                continue
            if read.use.types and structure and not structure & _wide(read.use.types):
                continue  # JSONata takes one value for a list of one, and maps over lists
            structure = (structure & _wide(read.use.types) if structure else set(read.use.types)) or structure
        if structure and any(read.use.known for read in self.reads):
            structure.add("string")  # as code compares it with texts, such a text may stand for the rest
        return frozenset(structure)

    @property
    def is_tested(self) -> bool:
        """Whether the definition expects that it may be missing."""
        return any(read.use.tested for read in self.reads)

    @property
    def readers(self) -> list[str]:
        """The states that read it, with the place in the code of their functions."""
        return list(dict.fromkeys(_reader(read) for read in self.reads))


def _reader(read: Read) -> str:
    return f"{read.state} ({read.use.place})" if read.use.place else read.state


def _wide(types: Iterable[str]) -> set[str]:
    """Return the types, with integers where there are numbers."""
    return {*types, *(["integer"] if "number" in types else [])}


def parts_of(analysis: Analysis) -> Part:
    """Return what the definition says of the input, as a tree."""
    root = Part()
    for read in analysis.reads:
        root.at(read.path).reads.append(read)
        for number in range(len(read.path) if read.maps_lists else 0):
            root.at(read.path[:number]).maps_lists = True
        if read.use.loose and len(read.path) > 1:
            for number in range(1, len(read.path) + 1):
                root.at(read.path[:number]).is_loose = True
    for path in (*analysis.required, *analysis.facts):
        part = root
        for number, step in enumerate(path, 1):
            part = root.at(path[:number])
            part.is_required = part.is_required or step != EACH
    for path, limits in analysis.facts.items():
        root.at(path).limits = limits
    _merge_items(root)
    return root


def _merge_items(part: Part) -> None:
    """Move what expressions read of a list to its items: JSONata maps over lists without saying so."""
    if part.items is not None and part.members and part.maps_lists:
        for name, one in part.members.items():
            one.is_required = False
            known = part.items.members.setdefault(name, one)
            known.reads += one.reads if known is not one else []
        part.members = {}
    for one in (*part.members.values(), *([part.items] if part.items else [])):
        _merge_items(one)


@dataclass(frozen=True)
class Inferred:
    """A schema, and where each of its properties is from."""

    schema: JsonObject
    notes: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])
    """For people, by the path of the property in the schema."""
    conflicts: tuple[str, ...] = ()
    """Where the definition and the runs contradict each other, one line each."""


def input_schema(analysis: Analysis, runs: Seen) -> Inferred:
    """Return the schema of a state machine's input."""
    joining, root = _Joining(), parts_of(analysis)
    if root.members:  # arguments are an object: the way that reads an array is not theirs
        root.items, root.reads = None, [read for read in root.reads if read.use.types != LIST]
    schema = joining.of(root, runs, (), "")
    schema = {"type": "object", **{name: one for name, one in schema.items() if name not in ("type", "items")}}
    return Inferred(schema, joining.notes, tuple(joining.conflicts))


def _typed(types: Iterable[str]) -> JsonObject:
    kinds = set(types)
    if "number" in kinds:
        kinds.discard("integer")
    listed = [one for one in _ORDER if one in kinds]
    return {} if not listed else {"type": listed[0] if len(listed) == 1 else listed}


class _Joining:
    """Walks the definition's parts and what was seen in runs at one time."""

    def __init__(self) -> None:
        self.notes: dict[tuple[str, ...], str] = {}
        self.conflicts: list[str] = []

    def of(self, part: Part, seen: Seen, place: tuple[str, ...], name: str) -> JsonObject:
        """Return the schema of one part of the input."""
        schema = _typed(self._types(part, seen, name))
        schema |= self._choices(part, seen, schema, name) or self._limits(part, seen, schema, name)
        if said := " ".join(_said(part)):
            schema["description"] = f"{said} {schema.get('description', '')}".strip()
        members = self._members(part, seen, (*place, "properties"), name)
        if members and schema.get("type", "object") != "array":
            schema["properties"] = members
            if required := [one for one in members if _is_required(part, seen, one)]:
                schema["required"] = required
        if (items := self._items(part, seen, place, name)) is not None:
            schema["items"] = items
        return schema

    def _members(self, part: Part, seen: Seen, place: tuple[str, ...], name: str) -> JsonObject:
        names = dict.fromkeys((*part.members, *seen.names(part.members)))
        inner: JsonObject = {}
        for one in names:
            there, past = part.members.get(one, Part()), seen.members.get(one, Seen())
            inner[one] = self.of(there, past, (*place, one), f"{name}.{one}".lstrip("."))
            self.notes[(*place, one)] = _note(there, past, seen.objects)
        return inner

    def _items(self, part: Part, seen: Seen, place: tuple[str, ...], name: str) -> JsonObject | None:
        if part.items is None and (seen.items is None or not seen.items.count):
            return None
        schema = self.of(part.items or Part(), seen.items or Seen(), (*place, "items"), f"{name}[]")
        return schema or None  # AgentCore refuses an empty one

    def _types(self, part: Part, seen: Seen, name: str) -> frozenset[str]:
        said, had = part.types, _seen_types(seen)
        if not had - {"null"} or (not said and seen.count < _FEWEST_VALUES):
            return said
        if said and not set(seen.types) - {"null"} <= _wide(said):
            self.conflicts.append(
                f"{name or 'the input'}: the definition reads {_words(said)}, runs that succeeded had {_words(had)}: "
                f"both are allowed"
            )
            return said | had
        return (said | (had & {"null"})) if said else had

    def _choices(self, part: Part, seen: Seen, schema: JsonObject, name: str) -> JsonObject:
        """Return the only values that work, if there are few."""
        choices = _choices(part, seen)
        kinds = _wide(cast("list[str]", listed) if isinstance(listed := schema.get("type", ()), list) else [listed])
        fitting = [one for one in choices if "type" not in schema or type_of(one) in kinds]
        if choices and not fitting:
            self.conflicts.append(f"{name}: no value that the definition lets pass is {_words(kinds)}")
        return {"enum": fitting} if fitting else {}

    def _limits(self, part: Part, seen: Seen, schema: JsonObject, name: str) -> JsonObject:
        kinds = schema.get("type")
        found: JsonObject = {}
        if kinds in ("integer", "number"):
            found |= self._bounds(part.limits, name)
        formats = {read.use.format for read in part.reads if read.use.format}
        usual = [name for name, count in seen.formats.items() if count == seen.count >= FEWEST_RUNS]
        if kinds == "string" and (formats or usual):
            found["format"] = next(iter(sorted(filter(None, formats))), None) or usual[0]
        if kinds == "string" and (compared := _compared(part)):
            found["description"] = f"The workflow knows {', '.join(compared)}."
        return found

    def _bounds(self, limits: Limits, name: str) -> JsonObject:
        found = {word: _plain(limit) for at, word in _BOUNDS.items() if (limit := getattr(limits, at)) is not None}
        least = max((found[word] for word in ("minimum", "exclusiveMinimum") if word in found), default=None)
        most = min((found[word] for word in ("maximum", "exclusiveMaximum") if word in found), default=None)
        is_open = "exclusiveMinimum" in found or "exclusiveMaximum" in found
        if least is None or most is None or least < most or (least == most and not is_open):
            return found
        self.conflicts.append(
            f"{name}: the definition lets no number pass: none is at least {least} and at most {most}"
        )
        return {}


def _seen_types(seen: Seen) -> frozenset[str]:
    types = set(seen.types)
    if types & {"integer", "number"}:
        few = seen.types["integer"] < _FEWEST_INTEGERS or "number" in types
        types = (types - {"integer", "number"}) | {"number" if few else "integer"}
    return frozenset(types)


def _is_required(part: Part, seen: Seen, name: str) -> bool:
    there, past = part.members.get(name, Part()), seen.members.get(name, Seen())
    if seen.objects and past.count < seen.objects:
        return False  # runs that succeeded without it know better than the definition
    return there.is_required or (seen.objects >= FEWEST_RUNS and not there.is_tested)


def _choices(part: Part, seen: Seen) -> list[Json]:
    """Return the only values that work: those that a Choice state or a called service accepts."""
    if part.limits.values is not None and len(part.limits.values) <= _MOST_CHOICES:
        return [load_json(one) for one in part.limits.values]
    allowed = [read.use.allowed for read in part.reads if read.use.allowed and read.certain]
    if not allowed or seen.types.keys() - {"string"}:
        return []
    return [one for one in allowed[0] if all(one in others for others in allowed)]


def _said(part: Part) -> Iterator[str]:
    """Yield what the code of functions says of a part, one sentence each."""
    uses = [read.use for read in part.reads]
    yield from dict.fromkeys(one.said for one in uses if one.said)
    defaults = {one.default for one in uses if one.default}
    if len(defaults) == 1 and not part.is_required:
        yield f"{defaults.pop()} if it is missing."
    if known := list(dict.fromkeys(text for one in uses for text in one.known))[:_MOST_CHOICES]:
        yield f"The code knows {', '.join(map(write, known))}."


def _compared(part: Part) -> list[str]:
    texts = [read.use.compared for read in part.reads if read.use.compared is not None]
    return list(dict.fromkeys(text for text in texts if text.startswith('"') and text != '""'))[:_MOST_CHOICES]


def _note(part: Part, seen: Seen, runs: int) -> str:
    notes: list[str] = []
    if readers := part.readers:
        more = len(readers) - _MOST_STATES
        named = ", ".join(readers[:_MOST_STATES]) + (f" and {more} more" if more > 0 else "")
        notes.append(f"read by {named}")
    if runs:
        few = f": {_words(seen.types)}" if 0 < seen.count < _FEWEST_VALUES else ""
        notes.append(f"in {seen.count} of {runs} runs{few}")
    if part.limits.values is not None:
        notes.append("other values only fail")
    return "; ".join(notes)


def _words(types: Iterable[str]) -> str:
    kinds = set(types)
    return " or ".join(one for one in _ORDER if one in kinds)


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() else number
