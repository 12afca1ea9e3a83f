"""The requestState of MRTR: a signed payload that the client sends with its next request (M45).

The signature is an HMAC-SHA256 over the whole payload, so no client can change or forge one. The reader must check
what the payload is bound to: caller, tool, arguments and time.
"""

import base64
import hashlib
import hmac
from typing import Final

from stepwire.errors import InvalidRequestState
from stepwire.json_text import JsonObject, as_object, load_json, write
from stepwire.protocol.opaque import encode

LONGEST_STATE: Final = 4_096  # characters
_PURPOSE: Final = b"stepwire requestState 1\n"


def seal(payload: JsonObject, secret: bytes) -> str:
    """Return a payload as text, signed with the secret."""
    body = encode(write(payload).encode())
    return f"{body}.{encode(_tag(body, secret))}"


def is_sealed(text: str, secret: bytes) -> bool:
    """Tell whether a text was signed with this secret and has not been changed since."""
    body, _, tag = text.partition(".")
    return len(text) <= LONGEST_STATE and hmac.compare_digest(encode(_tag(body, secret)).encode(), tag.encode())


def unseal(text: str, secret: bytes) -> JsonObject:
    """Return the payload of a signed text.

    Raises:
        InvalidRequestState: it was not signed with this secret, or has been changed since.
    """
    if not is_sealed(text, secret):
        raise InvalidRequestState("The requestState is not valid: call the tool again without it.")
    body = text.partition(".")[0]
    return as_object(load_json(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()))


def _tag(body: str, secret: bytes) -> bytes:
    return hmac.digest(secret, _PURPOSE + body.encode(), hashlib.sha256)
