"""The requestState of MRTR: what the next request needs, given to the client under a seal (M45).

A seal is an HMAC-SHA256 over the whole payload. Whoever changes a bit of it, or seals with another secret, is refused;
what the payload is bound to (caller, tool, arguments, time) is for its reader to check.
"""

import base64
import hashlib
import hmac
from typing import Final

from stepwire.errors import InvalidRequestState
from stepwire.json_text import JsonObject, as_object, read_back, write
from stepwire.protocol.opaque import encode

LONGEST_STATE: Final = 4_096  # characters
_PURPOSE: Final = b"stepwire requestState 1\n"


def seal(payload: JsonObject, secret: bytes) -> str:
    """Write a payload that only the holder of the secret can have written."""
    body = encode(write(payload).encode())
    return f"{body}.{encode(_tag(body, secret))}"


def is_sealed(text: str, secret: bytes) -> bool:
    """Tell whether a text was sealed with this secret, and is as it was then."""
    body, _, tag = text.partition(".")
    return len(text) <= LONGEST_STATE and hmac.compare_digest(encode(_tag(body, secret)).encode(), tag.encode())


def unseal(text: str, secret: bytes) -> JsonObject:
    """Read a payload.

    Raises:
        InvalidRequestState: it was not sealed with this secret, or has been changed since.
    """
    if not is_sealed(text, secret):
        raise InvalidRequestState("The requestState is not valid: call the tool again without it.")
    body = text.partition(".")[0]
    return as_object(read_back(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()))


def _tag(body: str, secret: bytes) -> bytes:
    return hmac.digest(secret, _PURPOSE + body.encode(), hashlib.sha256)
