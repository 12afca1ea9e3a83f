"""Who is calling: one stable, opaque name for a caller.

The name is a 128-bit hash of what the authorizer vouches for, salted with the stack's id: the same for every session
and device of that caller, different in another stack, and safe to write into keys, execution names and logs.
"""

import hashlib
import re
from typing import Final, NewType

Principal = NewType("Principal", str)
"""32 lower-case hexadecimal digits."""

PRINCIPAL_PATTERN: Final = re.compile(r"[0-9a-f]{32}")


def principal_of(identity: tuple[str, ...], salt: str) -> Principal:
    """Name the caller whom these claims identify.

    Args:
        identity: a kind and its values, such as ("jwt", issuer, subject). Values cannot run into each other.
        salt: differs from stack to stack.
    """
    # A length before each part: ("ab", "c") and ("a", "bc") are two callers.
    # Half a character, which JSON may bring, is a part like any other.
    parts = (part.encode(errors="surrogatepass") for part in (salt, *identity))
    text = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return Principal(hashlib.blake2b(text, digest_size=16, person=b"stepwire").hexdigest())
