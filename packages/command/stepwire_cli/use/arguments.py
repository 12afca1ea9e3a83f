"""Arguments of a tool from the command line: KEY=VALUE by the tool's schema, KEY:=JSON, KEY=@FILE, or a file of JSON.

The rule: what is typed is read as the type that the schema says; without one, it is a text.
"""

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from stepwire_cli.exits import CommandError
from stepwire_cli.settings import reason

Json = dict[str, Any]
_BOOLEANS: Final[Mapping[str, bool]] = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}
_READ_AS_JSON: Final[Mapping[str, type]] = {"array": list, "object": dict, "null": type(None)}


def from_pairs(pairs: Iterable[str], schema: Mapping[str, Any]) -> Json:
    """Return the arguments that KEY=VALUE pairs say.

    Raises:
        CommandError: a pair is none, or its value is not of its type.
    """
    properties: Json = schema.get("properties") or {}
    found: Json = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip(":"):
            raise CommandError(f"{pair!r} is no argument: write KEY=VALUE, KEY:=JSON or KEY=@FILE.")
        if key.endswith(":"):
            found[key[:-1]] = parsed(text, f"The value of {key[:-1]}")
        elif text.startswith("@"):
            found[key] = value_of(_text_in(text[1:]), properties.get(key), key)
        else:
            found[key] = value_of(text, properties.get(key), key)
    return found


def from_file(name: str) -> Json:
    """Return the arguments in a file of JSON; - is standard input.

    Raises:
        CommandError: it cannot be read, or has no object.
    """
    found = parsed(_text_in(name, takes_stdin=True), "stdin" if name == "-" else name)
    if not isinstance(found, dict):
        raise CommandError(f'{name} has no JSON object: the arguments are one, as in {{"customer": "17"}}.')
    return cast(Json, found)


def value_of(text: str, schema: object, key: str) -> Any:
    """Return a typed text as a value of its schema.

    Raises:
        CommandError: it is none.
    """
    kinds = _kinds_of(schema)
    for kind in kinds:
        if (value := _read(text, kind)) is not _NO_VALUE:
            return value
    if not kinds or "string" in kinds:
        return text
    raise CommandError(f"{key}: {text!r} is no {' or '.join(kinds)}.{_written(key, text, schema, kinds)}")


def missing(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return the required arguments that are not given, and that no default fills in."""
    properties: Json = schema.get("properties") or {}
    optional = {name for name, one in properties.items() if isinstance(one, dict) and "default" in one}
    return [name for name in schema.get("required") or () if name not in arguments and name not in optional]


def parsed(text: str, what: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        CommandError: it is none; the message says where.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        where = f", line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise CommandError(f"{what} is not JSON{where}: {str(error).partition(': line')[0]}.") from None


_NO_VALUE: Final = object()


def _written(key: str, text: str, schema: object, kinds: list[str]) -> str:
    """Return how an array or an object is written, if it may be one; empty if not."""
    if "array" in kinds:
        items = _kinds_of(cast(Json, schema).get("items"))
        item = next((value for kind in items if (value := _read(text, kind)) is not _NO_VALUE), text)
        return f" Write {key}:={shlex.quote(json.dumps([item], ensure_ascii=False))}."
    return f""" Write {key}:='{{"name": "value"}}'.""" if "object" in kinds else ""


def _kinds_of(schema: object) -> list[str]:
    kind = cast(Json, schema).get("type") if isinstance(schema, dict) else None
    return [kind] if isinstance(kind, str) else list(cast("list[str]", kind)) if isinstance(kind, list) else []


def _read(text: str, kind: str) -> object:
    try:
        match kind:
            case "integer":
                return int(text)
            case "number":
                return int(text) if text.lstrip("-").isdigit() else float(text)
            case "boolean":
                return _BOOLEANS[text.lower()]
            case _ if kind in _READ_AS_JSON:
                value: Any = json.loads(text)
                return cast("object", value) if type(value) is _READ_AS_JSON[kind] else _NO_VALUE
            case _:
                return _NO_VALUE
    except (ValueError, KeyError):
        return _NO_VALUE


def _text_in(name: str, *, takes_stdin: bool = False) -> str:
    """Return the text of a file, without the byte order mark that programs of Windows write before it."""
    try:
        content = sys.stdin.buffer.read() if takes_stdin and name == "-" else Path(name).read_bytes()
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} cannot be read: {reason(error)}.") from None
