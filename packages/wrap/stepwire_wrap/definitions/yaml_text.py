"""JSON values as YAML text with comments, in the few forms that a manifest has."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

from stepwire.json_text import Json, JsonObject, write

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./()'-]*(?: [A-Za-z0-9_./()'-]+)*")
_UNPRINTABLE: Final = re.compile(
    r"[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\uffff]|[\U000e0000-\U000e0fff]"
)
"""What YAML does not take, and what changes how a line is shown: directions, and marks that nobody sees."""
_MEANS_SOMETHING_ELSE: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_BASIC: Final = 0xFFFF
_WIDEST: Final = 100  # characters of a line in flow style
_REFERENCE: Final = re.compile(r"\{(?=\{)")
"""How a reference begins; in YAML and JSON as they are written here, only texts and comments can have it."""
_INDENT: Final = "  "
Notes = Mapping[tuple[str, ...], str]


def yaml_lines(value: JsonObject, notes: Notes, place: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the lines of an object in block style. Notes are comments, by the path of what they stand behind."""
    yield from _lines(value, notes, frozenset(path[:size] for path in notes for size in range(len(path))), place)


def without_references(text: str) -> str:
    """Return YAML or JSON of the same meaning without `{{`, by which Systems Manager would refuse it as a parameter."""
    return _REFERENCE.sub(r"\\u007b", text)


def _lines(
    value: JsonObject, notes: Notes, holders: frozenset[tuple[str, ...]], place: tuple[str, ...]
) -> Iterator[str]:
    """Yield the lines of an object; `holders` are the places that have a comment somewhere inside."""
    for name, one in value.items():
        here = (*place, name)
        note = f"  # {_one_line(notes[here])}" if here in notes else ""
        if _is_small(one, name) and here not in holders:
            yield f"{_scalar(name)}: {_flow(one)}{note}"
            continue
        yield f"{_scalar(name)}:{note}"
        inner = _lines(cast(JsonObject, one), notes, holders, here) if isinstance(one, dict) else _items(one)
        for line in inner:
            yield f"{_INDENT}{line}"


def _items(values: Json) -> Iterator[str]:
    for one in cast(list[Json], values):
        lines = list(yaml_lines(cast(JsonObject, one), {})) if isinstance(one, dict) and one else [_flow(one)]
        yield f"- {lines[0]}"
        for line in lines[1:]:
            yield f"{_INDENT}{line}"


def _is_small(value: Json, name: str) -> bool:
    return not isinstance(value, dict | list) or not value or len(name) + len(_flow(value)) <= _WIDEST


def _flow(value: Json) -> str:
    if isinstance(value, dict):
        members = ", ".join(f"{_scalar(name)}: {_flow(one)}" for name, one in cast(JsonObject, value).items())
        return f"{{{members}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, cast(list[Json], value)))}]"
    return _scalar(value) if isinstance(value, str) else _number(write(value))


def _number(text: str) -> str:
    """Return a number, or a word, as YAML 1.1 reads it: `1e+16` would be a text."""
    return re.sub(r"^(-?\d+)e", r"\1.0e", text)


def _scalar(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _MEANS_SOMETHING_ELSE
    return text if is_plain else _UNPRINTABLE.sub(_escaped, write(text))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code <= _BASIC else f"\\U{code:08x}"


def _one_line(text: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())
