"""The parameters of a method, read one by one; whatever is not as it must be is named (M37)."""

from math import ceil
from typing import cast

from stepwire.errors import InvalidCursor, InvalidParams
from stepwire.json_text import JsonObject, as_object
from stepwire.protocol.messages import MessageId, is_id

LONGEST_CURSOR = 256  # characters


def text(params: JsonObject, name: str) -> str:
    """Read a string that must be there."""
    value = params.get(name)
    if not isinstance(value, str):
        raise InvalidParams(f"params.{name} must be a string.")
    return value


def optional_text(params: JsonObject, name: str) -> str | None:
    """Read a string that may be left out."""
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidParams(f"params.{name} must be a string.")
    return value


def optional_object(params: JsonObject, name: str) -> JsonObject | None:
    """Read an object that may be left out."""
    value = params.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidParams(f"params.{name} must be an object.")
    return cast(JsonObject | None, value)


def required_object(params: JsonObject, name: str) -> JsonObject:
    """Read an object that must be there."""
    value = optional_object(params, name)
    if value is None:
        raise InvalidParams(f"params.{name} must be an object.")
    return value


def optional_milliseconds(params: JsonObject, name: str, shown: str) -> int | None:
    """Read a duration that may be left out, rounded up: the schema says number. `shown` is its full name."""
    value = params.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise InvalidParams(f"{shown} must be a positive number of milliseconds.")
    return ceil(value)


def cursor(params: JsonObject) -> str | None:
    """Read the cursor of a list, M40: opaque to the client, so anything else than our own is refused."""
    value = params.get("cursor")
    if value is not None and (not isinstance(value, str) or not 0 < len(value) <= LONGEST_CURSOR):
        raise InvalidCursor
    return value


def progress_token(params: JsonObject) -> MessageId | None:
    """Read where the client wants to hear of progress; None where it does not."""
    token = as_object(params.get("_meta")).get("progressToken")
    return token if is_id(token) else None
