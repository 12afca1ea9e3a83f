"""The parameters of a method, read one by one. An error names the parameter that is wrong (M37).

The trace context of a request becomes the trace header of AWS X-Ray.
"""

import re
from math import ceil
from typing import Final, cast

from stepwire.errors import InvalidCursor, InvalidParams
from stepwire.json_text import JsonObject, as_object
from stepwire.protocol.messages import MessageId, is_id

LONGEST_CURSOR = 256  # characters


def text(params: JsonObject, name: str) -> str:
    """Return a required string."""
    value = params.get(name)
    if not isinstance(value, str):
        raise InvalidParams(f"params.{name} must be a string.")
    return value


def optional_text(params: JsonObject, name: str) -> str | None:
    """Return an optional string."""
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidParams(f"params.{name} must be a string.")
    return value


def optional_object(params: JsonObject, name: str) -> JsonObject | None:
    """Return an optional object."""
    value = params.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidParams(f"params.{name} must be an object.")
    return cast(JsonObject | None, value)


def required_object(params: JsonObject, name: str) -> JsonObject:
    """Return a required object."""
    value = optional_object(params, name)
    if value is None:
        raise InvalidParams(f"params.{name} must be an object.")
    return value


def optional_milliseconds(params: JsonObject, name: str, shown: str) -> int | None:
    """Return an optional duration, rounded up because any number is allowed. `shown` is its name in errors."""
    value = params.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise InvalidParams(f"{shown} must be a positive number of milliseconds.")
    return ceil(value)


def cursor(params: JsonObject) -> str | None:
    """Return the cursor of a list. M40: it is opaque, so any other than the server's own is refused."""
    value = params.get("cursor")
    if value is not None and (not isinstance(value, str) or not 0 < len(value) <= LONGEST_CURSOR):
        raise InvalidCursor
    return value


def progress_token(params: JsonObject) -> MessageId | None:
    """Return the token for notifications of progress; None if the client wants none."""
    token = as_object(params.get("_meta")).get("progressToken")
    return token if is_id(token) else None


_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{8})([0-9a-f]{24})-([0-9a-f]{16})-([0-9a-f]{2})")
_ZEROS: Final = re.compile("0+")


def trace_header_of(params: JsonObject) -> str | None:
    """Return the X-Ray trace header for the execution that a request starts; None without a valid traceparent."""
    traceparent = as_object(params.get("_meta")).get("traceparent")
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None or _ZEROS.fullmatch(found[1] + found[2]) or _ZEROS.fullmatch(found[3]):
        return None
    return f"Root=1-{found[1]}-{found[2]};Parent={found[3]};Sampled={int(found[4], 16) & 1}"
