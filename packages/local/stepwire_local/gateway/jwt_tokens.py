"""The JWT authorizer of an HTTP API: returns the claims of a valid token, or the reason why it is invalid.

The rule: no claim is used before the signature is verified; time and keys are arguments. The steps and their order are
those of the API Gateway developer guide, "Control access to HTTP APIs with JWT authorizers".
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from urllib.parse import parse_qsl

import jwt

from stepwire.principal import claim_text

# "Only RSA-based algorithms are supported", says the guide. Naming them keeps `none` and HS256 out.
ALGORITHMS = ("RS256", "RS384", "RS512")

Keys = Mapping[str, Any]  # the issuer's public keys by their kid, as the cryptography package has them

_NO_CHECKS_OF_CLAIMS = {
    f"verify_{claim}": False for claim in ("aud", "exp", "iat", "iss", "jti", "nbf", "sub", "sub_value")
}


@dataclass(frozen=True)
class JwtAuthorizer:
    """Settings of an authorizer: the accepted issuer and audiences, and where a request carries the token."""

    issuer: str
    audiences: tuple[str, ...]
    source: str = "$request.header.Authorization"


@dataclass(frozen=True)
class SignedIn:
    """The caller as the event describes it: the claims and scopes of a valid token."""

    claims: Mapping[str, Any]
    scopes: tuple[str, ...]
    """Those of the token."""


class InvalidToken(Exception):
    """The token is invalid; the message is the reason that API Gateway gives the client."""


def token_of(source: str, headers: Sequence[tuple[str, str]], query: str) -> str | None:
    """Return the token at the request's identity source; a prefix `Bearer` is optional."""
    place, _, name = source.removeprefix("$request.").partition(".")
    pairs = parse_qsl(query) if place == "querystring" else [(key.lower(), value) for key, value in headers]
    wanted = name if place == "querystring" else name.lower()
    found = next((value for key, value in pairs if key == wanted), "").strip()
    scheme, space, rest = found.partition(" ")
    return (rest.strip() if space and scheme.lower() == "bearer" else found) or None


def sign_in(token: str, authorizer: JwtAuthorizer, keys: Callable[[], Keys], at: datetime) -> SignedIn:
    """Return the caller after verifying 1. algorithm; 2. key, by kid; 3. signature; 4. issuer, audience and times.

    The keys are fetched only after the first step.

    Raises:
        InvalidToken: a step fails; first failure wins.
    """
    header = _header(token)
    if header.get("alg") not in ALGORITHMS:
        raise InvalidToken(f"signing method {header.get('alg')} is invalid")
    claims = _verified(token, _key(header, keys()))
    _check_issuer(claims, authorizer)
    _check_audience(claims, authorizer)
    _check_times(claims, at.timestamp())
    return SignedIn(claims, tuple(_scopes(claims)))


def may_use(caller: SignedIn, wanted: Sequence[str]) -> bool:
    """Return whether a caller has one of a route's scopes; a route without scopes is open to all."""
    return not wanted or any(scope in caller.scopes for scope in wanted)


def authorizer_context(caller: SignedIn, wanted: Sequence[str]) -> dict[str, Any]:
    """Return the caller's part of the event: claims as strings; scopes, or null if the route requires none."""
    claims = {name: claim_text(value) for name, value in caller.claims.items()}
    return {"jwt": {"claims": claims, "scopes": list(caller.scopes) if wanted else None}}


def _header(token: str) -> dict[str, Any]:
    try:
        return jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise InvalidToken("token is malformed") from error


def _key(header: Mapping[str, Any], keys: Keys) -> Any:
    kid = header.get("kid")
    if not isinstance(kid, str):
        raise InvalidToken("the token does not have a kid")
    if kid not in keys:
        raise InvalidToken("the token was signed with an unknown key")
    return keys[kid]


def _verified(token: str, key: Any) -> dict[str, Any]:
    options = cast("Any", _NO_CHECKS_OF_CLAIMS)  # they are checked here, in API Gateway's words
    try:
        return jwt.decode(token, key, algorithms=list(ALGORITHMS), options=options)
    except jwt.PyJWTError as error:
        raise InvalidToken("the token has an invalid signature") from error


def _check_issuer(claims: Mapping[str, Any], authorizer: JwtAuthorizer) -> None:
    if claims.get("iss") != authorizer.issuer:
        raise InvalidToken("the token does not have a valid issuer")


def _check_audience(claims: Mapping[str, Any], authorizer: JwtAuthorizer) -> None:
    """Check aud, or client_id if aud is absent, as in Cognito's access tokens."""
    given: Any = claims["aud"] if "aud" in claims else claims.get("client_id")
    audiences = cast("list[Any]", given) if isinstance(given, list) else [given]
    if not any(audience in authorizer.audiences for audience in audiences):
        raise InvalidToken("the token does not have a valid audience")


def _check_times(claims: Mapping[str, Any], now: float) -> None:
    """Check the times, in seconds since 1970, without leeway. exp is required; nbf and iat are optional."""
    if not _is_time(claims.get("exp")) or claims["exp"] <= now:
        raise InvalidToken("the token has expired")
    for claim, words in (("nbf", "the token is not valid yet"), ("iat", "the token was issued in the future")):
        if claim in claims and not (_is_time(claims[claim]) and claims[claim] <= now):
            raise InvalidToken(words)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """Return the scopes in `scope`, else in `scp`: words in one string, or a list."""
    given: Any = claims["scope"] if "scope" in claims else claims.get("scp")
    if isinstance(given, list):
        return [scope for scope in cast("list[Any]", given) if isinstance(scope, str)]
    return given.split() if isinstance(given, str) else []
