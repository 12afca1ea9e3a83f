"""The caller's identity as one stable, opaque name.

The name is a 128-bit hash of the claims that the authorizer verified, salted with the stack's id. It is the same in
every session and on every device of the caller, differs between stacks, and is safe in keys, execution names and logs.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final, NewType

from msgspec import Struct, field

from stepwire.visible_text import visible

_NAMED_BY: Final = ("email", "preferred_username", "username", "cognito:username", "name", "sub")
LONGEST_NAME: Final = 100  # characters of what people are called
Principal = NewType("Principal", str)
"""32 lower-case hexadecimal digits."""


class Claims(dict[str, str]):
    """What the sign-in verified of a caller, by the names of the claims. No log shows them."""

    def __repr__(self) -> str:
        return "Claims(...)"


class Caller(Struct, frozen=True):
    """Who calls, as the sign-in verified it."""

    principal: Principal
    claims: Mapping[str, str] = field(default_factory=Claims)
    """Of the token or signature, for workflows that get to know who calls. No part of the identity; never in a log."""
    scopes: frozenset[str] | None = None
    """What the caller's token allows; None where the sign-in knows no scopes."""
    person: str = ""
    """A digest that is the same for every client of the person who calls; empty: the principal."""

    @property
    def name(self) -> str:
        """What people are shown of the caller, by the claims of the sign-in."""
        named = next((self.claims[claim] for claim in _NAMED_BY if self.claims.get(claim)), None)
        return visible(named or self.claims.get("userArn", "").rpartition(":")[2] or "somebody")[:LONGEST_NAME]


PRINCIPAL_PATTERN: Final = re.compile(r"[0-9a-f]{32}")


def principal_of(identity: tuple[str, ...], salt: str) -> Principal:
    """Return the name of the caller whom these claims identify.

    Args:
        identity: a kind and its values, for example ("jwt", issuer, subject); each part is hashed with its length.
        salt: the stack's id.
    """
    # The length precedes each part, so ("ab", "c") and ("a", "bc") are different callers.
    # JSON may contain lone surrogates; they are hashed like any other character.
    parts = (part.encode(errors="surrogatepass") for part in (salt, *identity))
    text = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return Principal(hashlib.blake2b(text, digest_size=16, person=b"stepwire").hexdigest())
