"""The caller's identity as one stable, opaque name.

The name is a 128-bit hash of the claims that the authorizer verified, salted with the stack's id. It is the same in
every session and on every device of the caller, differs between stacks, and is safe in keys, execution names and logs.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Final, NewType, cast

from msgspec import Struct, field

from stepwire.json_text import Json, JsonObject, as_object
from stepwire.visible_text import visible

_NAMED_BY: Final = ("email", "preferred_username", "username", "cognito:username", "name", "sub")
SCOPE_CLAIMS: Final = ("scope", "scp")
LONGEST_NAME: Final = 100  # characters of what people are called
_DOTS: Final = 2  # in a JWT
Principal = NewType("Principal", str)
"""32 lower-case hexadecimal digits."""


class Claims(dict[str, str]):
    """What the sign-in verified of a caller, by the names of the claims, as API Gateway writes it; in no log."""

    def __init__(self, texts: Mapping[str, str] | None = None, token: str = "") -> None:
        """Keep the claims, and the token that they are of."""
        super().__init__(texts or {})
        self._token = token

    def __repr__(self) -> str:
        return "Claims(...)"

    def values_of(self, claim: str) -> tuple[str, ...]:
        """Return the values of a claim, which may be a list."""
        listed = self._list_in(claim)
        return (self[claim],) if listed is None else listed

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of the claim `scope`, or else of `scp`: a list, or a text with single spaces (RFC 6749)."""
        claim = next((one for one in SCOPE_CLAIMS if self.get(one)), None)
        if claim is None:
            return frozenset()
        listed = self._list_in(claim)
        return frozenset(filter(None, self[claim].split(" ") if listed is None else listed))

    def _list_in(self, claim: str) -> tuple[str, ...] | None:
        """Return the texts of a claim that is a list; None if it is no list.

        API Gateway writes a list as `[a b]`: a value with a space, or a text in brackets, looks like a list of others.
        So the verified token itself is read where it is known.
        """
        text = self[claim]
        if not (text.startswith("[") and text.endswith("]")):
            return None
        if not self._token:
            return tuple(filter(None, text[1:-1].split(" ")))
        value = self._payload.get(claim)
        if isinstance(value, str):
            return None
        listed = cast(list[Json], value) if isinstance(value, list) else []
        return tuple(one for one in listed if isinstance(one, str))

    @cached_property
    def _payload(self) -> JsonObject:
        return payload_of(self._token)


def payload_of(token: str) -> JsonObject:
    """Return the claims as a verified token has them; none if it is no JWT."""
    part = token.split(".")[1] if token.count(".") == _DOTS else ""
    try:
        return as_object(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))))
    except (ValueError, RecursionError):
        return {}


def claim_text(value: Json) -> str:
    """Return a claim as API Gateway's authorizer writes it, which is Go's format: `true`, `[a b]`, `map[a:b]`."""
    match value:
        case str():
            return value
        case bool() | None:
            return "<nil>" if value is None else str(value).lower()
        case list():
            return f"[{' '.join(map(claim_text, cast(list[Json], value)))}]"
        case dict():
            entries = sorted(cast(JsonObject, value).items())
            return f"map[{' '.join(f'{key}:{claim_text(entry)}' for key, entry in entries)}]"
        case _:
            return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class Caller(Struct, frozen=True):
    """Who calls, as the sign-in verified it."""

    principal: Principal
    claims: Mapping[str, str] = field(default_factory=Claims)
    """Of the token or signature, for workflows that get to know who calls. No part of the identity; never in a log."""
    scopes: frozenset[str] | None = None
    """What the caller's token allows; None where the sign-in knows no scopes."""
    person: str = ""
    """A digest that is the same for every client of the person who calls; empty: the principal."""
    is_everybody: bool = False
    """Whether all callers are one, because there is no sign-in."""

    @property
    def name(self) -> str:
        """What people are shown of the caller, by the claims of the sign-in."""
        named = next((self.claims[claim] for claim in _NAMED_BY if self.claims.get(claim)), None)
        return visible(named or self.claims.get("userArn", "").rpartition(":")[2] or "somebody")[:LONGEST_NAME]


PRINCIPAL_PATTERN: Final = re.compile(r"[0-9a-f]{32}")
SCOPE_PATTERN: Final = r"^[\x21\x23-\x5b\x5d-\x7e]{1,200}$"  # RFC 6749: what a scope may be made of
ROLE_PATTERN: Final = r"^arn:[a-z-]+:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$"


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
