"""The value of a JSON or YAML file, as templates and definitions are written.

The rule: YAML is read as CloudFormation reads it, and a placeholder may stand where a value belongs.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stepwire.json_text import Json, as_object
from stepwire.manifests.yaml_text import read_template

LARGEST: Final = 2_000_000  # bytes of a file that is read
_PLACEHOLDER: Final = re.compile(r"\$\{[^{}\"\n]*\}")


class Unreadable(ValueError):
    """A file cannot be read; the message is one line that says where and why."""


def text_of(path: Path) -> str:
    """Return the text of a file.

    Raises:
        Unreadable: there is none, or it is too large, or no text.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise Unreadable(f"it has more than {LARGEST:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None


def value_of(path: Path) -> Json:
    """Return the value of a JSON or YAML file.

    Raises:
        Unreadable: it is neither.
    """
    return parsed(text_of(path), is_json=path.suffix in (".json", ".asl"))


def parsed(text: str, *, is_json: bool) -> Json:
    """Return the value of a JSON or YAML text.

    Args:
        text: the text. `${Name}` may stand in it where a value belongs, without quotes.
        is_json: whether it is meant as JSON, so that errors say so.

    Raises:
        Unreadable: it is neither.
    """
    if is_json or text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            fault = error
        try:
            return json.loads("".join(_quoted(text)), strict=False)
        except (ValueError, RecursionError):
            if is_json:
                return _yaml_after(text, fault)
    return _yaml(text)


def _yaml_after(text: str, fault: Exception) -> Json:
    """Return what a file named as JSON has as YAML: some have comments, or commas too many."""
    try:
        value = as_object(_yaml(text))
    except Unreadable:
        value = {}
    if isinstance(value.get("StartAt"), str) or "Resources" in value:
        return value
    where = f"line {fault.lineno}, column {fault.colno}: {fault.msg}" if isinstance(fault, json.JSONDecodeError) else ""
    raise Unreadable(f"it is no JSON: {where or 'nested too deeply'}") from None


def _yaml(text: str) -> Json:
    try:
        return read_template(text)
    except ValueError as error:
        raise Unreadable(f"it is no YAML: {error}") from None


def _quoted(text: str) -> Iterator[str]:
    """Yield a JSON text with quotes around the placeholders that have none."""
    place, is_text = 0, False
    while place < len(text):
        one = text[place]
        found = None if is_text or one != "$" else _PLACEHOLDER.match(text, place)
        if found is not None:
            yield json.dumps(found[0])
            place = found.end()
            continue
        size = 2 if is_text and one == "\\" else 1
        is_text ^= one == '"'
        yield text[place : place + size]
        place += size
