"""What the headers of a request say, and whether it agrees with the body.

Intermediaries route by these headers and never read the body, so the two must not differ (M11 to M14).
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final

from stepwire.errors import HeaderMismatch
from stepwire.protocol.messages import Request

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
SESSION: Final = "mcp-session-id"
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
_ENCODED: Final = re.compile(r"=\?base64\?([A-Za-z0-9+/]*={0,2})\?=")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e\t]*")


def header(headers: Mapping[str, str], name: str) -> str | None:
    """Give a header's value without the white space around it (M10)."""
    value = headers.get(name)
    return None if value is None else value.strip(" \t")


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
        _check(NAME, _decoded(value), expected, f"params.{parameter}")


def _check(name: str, value: str | None, expected: str, where: str) -> None:
    if value is None:
        raise HeaderMismatch(f"The header {name} is missing; it must repeat {where}.")
    if value != expected:
        raise HeaderMismatch(f"The header {name} differs from {where}.")


def _decoded(value: str | None) -> str | None:
    """M14: a value that no header can hold comes in base64."""
    match = _ENCODED.fullmatch(value or "")
    if value is None or match is None:
        if value is not None and not _PRINTABLE.fullmatch(value):
            raise HeaderMismatch(f"The header {NAME} has characters that no header may have; use =?base64?...?=.")
        return value
    try:
        return base64.b64decode(match[1], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise HeaderMismatch(f"The header {NAME} is not base64 of UTF-8 between =?base64? and ?=.") from None
