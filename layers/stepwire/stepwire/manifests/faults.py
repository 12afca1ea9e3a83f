"""The words for what people get wrong in a manifest: what is wrong, and what would be right.

Pure. The rule: a name that is not known is answered with the nearest one, or with all there are.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from stepwire.json_text import Json, as_list, as_object, write
from stepwire.schemas.validation import violations_of
from stepwire.schemas.work import parts_of
from stepwire.visible_text import first_invisible

_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
# What people write who think of another language.
_OTHER_TYPES: Final = {
    "bool": "boolean",
    "decimal": "number",
    "dict": "object",
    "double": "number",
    "float": "number",
    "int": "integer",
    "list": "array",
    "long": "integer",
    "map": "object",
    "none": "null",
    "str": "string",
    "text": "string",
}
_KINDS: Final[Mapping[Any, str]] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "fields",
}
_DURATION: Final = "must be a duration such as PT30S, PT5M, PT2H or P7D"
_FIELDS: Final = "have fields, each as `name: value`"
_SHORT_FORMS: Final = {"context": "be a name, or ", "idempotency": "be a list of arguments, or "}
_FIXED: Final = {
    "missing": "is missing",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "list_type": "must be a list",
    "time_delta_parsing": _DURATION,
    "time_delta_type": _DURATION,
}
# Persian, Hindi and others join letters with them, and emoji are made of several.
_JOINER: Final = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f\u200c\u200d])")
_SHOWN: Final = 40  # characters of a choice
_WRITTEN: Final = {"100000 microseconds": "0.1 seconds"}


def wrong_types(schema: Json, pointer: str = "") -> Iterator[str]:
    """Yield a fault for each unknown `type` in a schema, which a validator would not name."""
    members = as_object(schema)
    written = members.get("type")
    for word in as_list(written) or [written]:
        if isinstance(word, str) and word not in _TYPES:
            yield f"at {pointer}/type: {word!r} is no type of JSON Schema; {_type_for(word)}"
    for path, part in parts_of(members):
        yield from wrong_types(part, f"{pointer}/{path}")


def _type_for(word: str) -> str:
    meant = _OTHER_TYPES.get(word.lower()) or nearest(word.lower(), _TYPES)
    return f"write {meant!r}" if meant else f"the types are {', '.join(_TYPES)}"


def impossible_choices(schema: Json, pointer: str = "") -> Iterator[str]:
    """Yield a fault for each choice that the `type` beside it refuses, such as `no` among texts: YAML reads false."""
    members = as_object(schema)
    types = as_list(members.get("type")) or list(filter(None, [members.get("type")]))
    for keyword in ("enum", "const") if types else ():
        choices = as_list(members.get("enum")) if keyword == "enum" else [members.get("const")]
        for one in choices:
            if one is not None and violations_of(write({"type": types}), one):
                what_to_do = "put it in quotes" if "string" in types else "leave it out, or correct the type"
                yield f"at {pointer}/{keyword}: {write(one)[:_SHOWN]} is no {' or '.join(types)}: {what_to_do}"
    for path, part in parts_of(members):
        yield from impossible_choices(part, f"{pointer}/{path}")


def unknown_field(name: str, fields: Sequence[str], other_names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Say that there is no such field, and which was meant. `other_names`: what people take for the name of a field."""
    meant = other_names.get(name)
    near = meant if meant in fields else nearest(name, fields)
    return f"unknown field; did you mean {near}?" if near else f"unknown field; there are {', '.join(fields)}"


def nearest(word: str, known: Sequence[str]) -> str | None:
    """Return the name that was probably meant; None if no name is near."""
    return next(iter(difflib.get_close_matches(word, known, n=1)), None)


def invisible_faults(text: str, keep: str = "") -> Iterator[str]:
    """Yield a fault for a character that nobody sees: it can hide or reorder the words that a user or a model reads."""
    found = first_invisible(_JOINER.sub("", text), keep)
    if found is not None:
        yield f"has the invisible character U+{ord(found):04X}: leave it out"


def invisible_words(schema: Json, pointer: str = "") -> Iterator[str]:
    """Yield a fault for each title and description in a schema that has such a character."""
    members = as_object(schema)
    for name in ("title", "description"):
        if isinstance(members.get(name), str):
            faults = invisible_faults(members[name], keep="\n\r\t")
            yield from (f"at {pointer}/{name}: {fault}" for fault in faults)
    for path, part in parts_of(members):
        yield from invisible_words(part, f"{pointer}/{path}")


def unforeseen(fault: BaseException, what: str = "the manifest") -> str:
    """Say that a manifest met a fault that is not its owner's."""
    return (
        f"{what}: cannot be compiled ({type(fault).__name__}): this is a fault of Stepwire: tell the endpoint's "
        "operator"
    )


def fault_words(kind: str, path: Sequence[str], given: Any, limits: Mapping[str, Any]) -> str:
    """Say what is wrong with the value of a field.

    Args:
        kind: the type of pydantic's error.
        path: the names and positions that lead to the field.
        given: the value.
        limits: what pydantic says of the limit that was passed.
    """
    field = ".".join(part for part in path if not part.isdecimal())
    if field.startswith("output.structured"):
        return "must be a JMESPath expression, or false"
    match kind:
        case "model_type" | "dict_type":
            words = f"must {_SHORT_FORMS.get(field, '')}{_FIELDS}"
        case "enum" | "literal_error":
            words = _no_choice(given, str(limits["expected"]))
        case "string_type":
            what = _KINDS.get(cast(Any, type(given)), "empty")
            words = f"must be a text, not {what}" + (": put it in quotes" if isinstance(given, int | float) else "")
        case _:
            words = _FIXED.get(kind) or _size_words(kind, given, limits)
    return words


def _size_words(kind: str, given: Any, limits: Mapping[str, Any]) -> str:
    unit = "characters" if kind.startswith("string") else "entries"
    match kind:
        case "too_short" if limits["min_length"] > 1:
            return f"must have at least {limits['min_length']} {unit}, and has {len(given)}"
        case "string_too_short" | "too_short":
            return "must not be empty"
        case "string_too_long" | "too_long":
            return f"must have at most {limits['max_length']} {unit}, and has {len(given)}"
        case "greater_than_equal":
            return f"must be at least {_WRITTEN.get(limits['ge'], limits['ge'])}"
        case "less_than_equal":
            return f"must be at most {limits['le']}"
        case _:
            return "is not what this field takes (docs/manifest.md)"


def _no_choice(given: Any, expected: str) -> str:
    choices = re.findall(r"'([^']*)'", expected)
    near = nearest(given, choices) if isinstance(given, str) else None
    return f"must be one of {', '.join(choices)}" + (f"; did you mean {near}?" if near else "")
