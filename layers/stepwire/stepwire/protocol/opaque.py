"""Opaque tokens that clients store and send back: JSON in base64url, which any header can hold.

A token is neither secret nor signed. Its reader must check it like any input.
"""

import base64
import binascii

from stepwire.json_text import Json, JsonTextError, parse, write

# An event id holds the id of a request, and JSON may write each of its characters as six.
LONGEST = 2_304  # characters


def wrap(value: Json) -> str:
    """Return a JSON value as a token: printable ASCII without white space."""
    return encode(write(value).encode())


def unwrap(text: str) -> Json:
    """Return the JSON value of a token; None if the text is no token."""
    if len(text) > LONGEST:
        return None
    try:
        return parse(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, JsonTextError, ValueError):
        return None


def encode(octets: bytes) -> str:
    """Return octets in base64url, without padding."""
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")
