"""Access tokens, verified by the rules of an HTTP API's JWT authorizer. Pure: keys and the time are arguments.

The rule: no claim is used before the signature is verified. PyJWT verifies it, with the three algorithms that API
Gateway takes (RS256, RS384, RS512) and no other. What a claim may be is checked here, because API Gateway is stricter
than the library: a time is a number, and an issuer a text. The caller of any other token learns only that it was
refused. Only function authorizer loads this, whose layer has PyJWT and cryptography.
"""

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import chain
from typing import Any, Final, cast

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey, RSAPublicNumbers
from jwt import PyJWS
from jwt.exceptions import InvalidTokenError
from msgspec import Struct

from stepwire.json_text import JsonObject, as_list, as_object

LONGEST_TOKEN: Final = 10_240  # characters: all headers of a request together have no more
_TOKEN: Final = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_ALGORITHMS: Final = ("RS256", "RS384", "RS512")
_MOST_LEVELS: Final = 100
_KEY_BITS: Final = range(2048, 8193)  # RFC 7518, 3.3; the longest bounds the work
_LARGEST_EXPONENT: Final = 2**32
_SIGNATURES: Final = PyJWS(_ALGORITHMS)


class TokenRefused(Exception):
    """The token is not valid here; the message says why, for an operator, and has nothing of the token."""


class Rules(Struct, frozen=True):
    """Which tokens are taken."""

    issuer: str
    """As the tokens name it."""
    audiences: frozenset[str]
    """One of them must be the token's `aud`, or its `client_id` where it has no `aud`, as Cognito's."""


def verified_claims(token: str, rules: Rules, key_of: Callable[[str], RSAPublicKey | None], at: datetime) -> JsonObject:
    """Return the claims of a token after verifying 1. form and algorithm; 2. key, by kid; 3. signature; 4. claims.

    Raises:
        TokenRefused: a step fails; first failure wins.
    """
    form = _TOKEN.fullmatch(token) if len(token) <= LONGEST_TOKEN else None
    if form is None:
        raise TokenRefused("the token is no JWT")
    header = _object_in(form[1])
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS or "crit" in header:
        raise TokenRefused("the token's algorithm is none of RS256, RS384 and RS512")
    key = key_of(kid) if isinstance(kid, str) else None
    if key is None:
        raise TokenRefused("the token's key is none of the issuer's")
    try:
        _SIGNATURES.decode(token, key, list(_ALGORITHMS))
    except InvalidTokenError:
        raise TokenRefused("the token's signature is wrong") from None
    claims = _object_in(form[2])
    _check(claims, rules, at.timestamp())
    return claims


def keys_in(document: Mapping[str, Any]) -> dict[str, RSAPublicKey]:
    """Return the keys of RSA that a JWKS (RFC 7517) lists for signatures, by their kid; others are left out."""
    entries = [as_object(one) for one in as_list(document.get("keys"))]
    return {str(one["kid"]): key for one in entries if "kid" in one and (key := _key(one)) is not None}


def _key(entry: Mapping[str, Any]) -> RSAPublicKey | None:
    if entry.get("kty") != "RSA" or entry.get("use", "sig") != "sig":
        return None
    modulus, exponent = (int.from_bytes(_bytes_in(str(entry.get(name, ""))), "big") for name in ("n", "e"))
    if modulus.bit_length() not in _KEY_BITS or not modulus % 2 or not 1 < exponent < _LARGEST_EXPONENT:
        return None
    try:
        return RSAPublicNumbers(exponent, modulus).public_key()
    except ValueError:
        return None


def _check(claims: JsonObject, rules: Rules, now: float) -> None:
    """Check the issuer, the audience and the times, which are seconds since 1970, without leeway."""
    audience: Any = claims["aud"] if "aud" in claims else claims.get("client_id")
    audiences = cast(list[Any], audience) if isinstance(audience, list) else [audience]
    if claims.get("iss") != rules.issuer:
        raise TokenRefused("the token is of another issuer")
    if not any(isinstance(one, str) and one in rules.audiences for one in audiences):
        raise TokenRefused("the token is for another audience")
    if not _is_time(claims.get("exp")) or claims["exp"] <= now:
        raise TokenRefused("the token has expired")
    if any(name in claims and not (_is_time(claims[name]) and claims[name] <= now) for name in ("nbf", "iat")):
        raise TokenRefused("the token is not valid yet")


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def _object_in(part: str) -> JsonObject:
    try:
        value = json.loads(_bytes_in(part))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or _is_deep(value):
        raise TokenRefused("the token is no JWT")
    return cast(JsonObject, value)


def _is_deep(value: Any) -> bool:
    """Tell whether a value has too many levels for those who read claims, and call themselves for each level."""
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [*chain.from_iterable(as_object(one).values() or as_list(one) for one in level)]
        if not level:
            return False
    return True


def _bytes_in(part: str) -> bytes:
    """Return the bytes of a text in base64url; none if it is not valid."""
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        return b""
