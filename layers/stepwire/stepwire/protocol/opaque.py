"""What clients keep for us and give back: JSON in base64url, which any header can hold.

Opaque to clients, and no secret: whoever reads one back treats it as input of anybody's.
"""

import base64
import binascii

from stepwire.json_text import Json, JsonTextError, parse, write

# An event's id holds that of a request, each of whose characters JSON may write as six.
LONGEST = 2_304  # characters


def wrap(value: Json) -> str:
    """Write a JSON value as printable ASCII without white space."""
    return encode(write(value).encode())


def unwrap(text: str) -> Json:
    """Read what `wrap` wrote; None where it is nothing of the kind."""
    if len(text) > LONGEST:
        return None
    try:
        return parse(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, JsonTextError, ValueError):
        return None


def encode(octets: bytes) -> str:
    """Write octets in base64url, without padding."""
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")
