"""JSON values as YAML text with comments, in the few forms that a manifest has."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

from stepwire.json_text import Json, JsonObject, write

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./()'-]*(?: [A-Za-z0-9_./()'-]+)*")
_UNPRINTABLE: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MEANS_SOMETHING_ELSE: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_WIDEST: Final = 100  # characters of a line in flow style
_INDENT: Final = "  "
Notes = Mapping[tuple[str, ...], str]


def yaml_lines(value: JsonObject, notes: Notes, place: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the lines of an object in block style.

    Args:
        value: the object.
        notes: comments, by the path of what they stand behind.
        place: the path of the object.
    """
    for name, one in value.items():
        here = (*place, name)
        note = f"  # {_one_line(notes[here])}" if here in notes else ""
        if _is_small(one, name) and not any(path[: len(here)] == here and path != here for path in notes):
            yield f"{_scalar(name)}: {_flow(one)}{note}"
            continue
        yield f"{_scalar(name)}:{note}"
        inner = yaml_lines(cast(JsonObject, one), notes, here) if isinstance(one, dict) else _items(one)
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
    return text if is_plain else _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", write(text))


def _one_line(text: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())
