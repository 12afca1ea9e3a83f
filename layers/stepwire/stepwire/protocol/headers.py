"""What the headers of a request say, and whether it agrees with the body.

Intermediaries route by these headers and never read the body, so the two must not differ (M11 to M14).
"""

import base64
import re
from collections.abc import Mapping
from typing import Final

from stepwire.errors import HeaderMismatch, InvalidParams
from stepwire.json_text import JsonObject, as_object
from stepwire.protocol.messages import Request

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
SESSION: Final = "mcp-session-id"
IDEMPOTENCY_KEY: Final = "idempotency-key"
LAST_EVENT_ID: Final = "last-event-id"

# Where each method keeps what Mcp-Name repeats.
_NAME_PARAMETERS: Final = {
    "tools/call": "name",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
# X25: FastMCP's and MCP Inspector's clients leave the header out on tasks/*; a wrong one is refused there all the same.
_NAME_MAY_BE_ABSENT: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
META_KEY: Final = "stepwire/idempotencyKey"
LONGEST_KEY: Final = 255  # characters
_KEY: Final = re.compile(f"[\\x21-\\x7e]{{1,{LONGEST_KEY}}}")
_ENCODED: Final = re.compile(r"=\?base64\?(.*)\?=")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e\t]*")


def header(headers: Mapping[str, str], name: str) -> str | None:
    """Give a header's value without the white space around it (M10)."""
    value = headers.get(name)
    return None if value is None else value.strip(" \t")


def idempotency_key(headers: Mapping[str, str], params: JsonObject) -> str | None:
    """Read the key with which a client names its call: from the header, or from `_meta` where it can set none.

    Raises:
        InvalidParams: it is no key, or the two differ.
    """
    in_header, in_meta = header(headers, IDEMPOTENCY_KEY), as_object(params.get("_meta")).get(META_KEY)
    if in_header is not None and in_meta is not None and in_header != in_meta:
        raise InvalidParams(f"The header Idempotency-Key differs from _meta's {META_KEY}.")
    key = in_meta if in_header is None else in_header
    if key is not None and not (isinstance(key, str) and _KEY.fullmatch(key)):
        raise InvalidParams(f"The idempotency key must be 1 to {LONGEST_KEY} printable ASCII characters.")
    return key


def check_routing_headers(headers: Mapping[str, str], request: Request) -> None:
    """Hold Mcp-Method and Mcp-Name against the body.

    Raises:
        HeaderMismatch: one is missing, malformed, or says something else.
    """
    _check(METHOD, header(headers, METHOD), request.method, "the body's method")
    parameter = _NAME_PARAMETERS.get(request.method)
    value = header(headers, NAME)
    if parameter is None or (value is None and request.method in _NAME_MAY_BE_ABSENT):
        return
    expected = request.params.get(parameter)
    if isinstance(expected, str):  # else: the method itself says what is wrong with its parameters
        _check(NAME, decoded(NAME, value), expected, f"params.{parameter}")


def decoded(name: str, value: str | None) -> str | None:
    """Read a header that may hold any text: what is no plain ASCII comes in base64 (M14).

    Raises:
        HeaderMismatch: it has characters that no header may have, or is not the base64 that it says it is.
    """
    match = _ENCODED.fullmatch(value or "")
    if value is None or match is None:
        if value is not None and not _PRINTABLE.fullmatch(value):
            raise HeaderMismatch(f"The header {name} has characters that no header may have; use =?base64?...?=.")
        return value
    try:
        return base64.b64decode(match[1], validate=True).decode("utf-8")
    except ValueError:
        raise HeaderMismatch(f"The header {name} is not base64 of UTF-8 between =?base64? and ?=.") from None


def _check(name: str, value: str | None, expected: str, where: str) -> None:
    if value is None:
        raise HeaderMismatch(f"The header {name} is missing; it must repeat {where}.")
    if value != expected:
        raise HeaderMismatch(f"The header {name} differs from {where}.")
