"""Codes and tokens of the test issuer: authorization code with PKCE, refresh with rotation, client credentials.

The rule: each check is that of OAuth 2.1, also where an issuer is lax in what it says of itself. A refresh token is
used once; a second use ends all that came from the same sign-in.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from stepwire_local.issuer.id_jag import EXCHANGE, JWT_BEARER, Assertions, Invalid
from stepwire_local.issuer.shapes import Shape

GROUPS: Final = ("groups", "cognito:groups")
"""The claims of a person's groups: of any shape both, so that a manifest may name either."""
Form = Mapping[str, str]
Sign = Callable[[Mapping[str, Any], str], str]


@dataclass(frozen=True)
class Client:
    """A client that the issuer knows."""

    redirect_uris: tuple[str, ...] = ()
    secret: str | None = None


@dataclass(frozen=True)
class Lifetime:
    """Seconds that an access token is valid, and that the client is told."""

    real: int
    told: int


class Refused(Exception):
    """An error of OAuth, such as `invalid_grant`."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


@dataclass(frozen=True)
class _Grant:
    """What a sign-in allowed."""

    client_id: str
    subject: str
    scope: str
    resource: str
    redirect_uri: str = ""
    challenge: str = ""
    family: str = field(default_factory=lambda: secrets.token_hex(8))


USUAL: Final = Lifetime(600, 600)


class Grants:
    """The codes and refresh tokens that the issuer has given out. Not thread-safe.

    Args:
        shape: how the issuer behaves.
        issuer: its URL, for `iss`.
        sign: makes a token of claims and its type.
        now: seconds since 1970.
        assertions: what it knows of ID-JAGs.
        people: the groups of those who have some, by their subjects.
    """

    def __init__(  # each is a choice of its own
        self,
        shape: Shape,
        issuer: str,
        sign: Sign,
        now: Callable[[], float],
        assertions: Assertions | None = None,
        people: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self._shape, self._issuer, self._sign, self._now, self._people = shape, issuer, sign, now, people
        self._assertions = assertions if shape.takes_id_jags else None
        self._codes: dict[str, _Grant] = {}
        self._refresh: dict[str, _Grant] = {}
        self._used: dict[str, str] = {}  # refresh tokens that were used, and their family
        self.lifetimes: list[Lifetime] = []
        """Of the next access tokens, in order; then the usual one."""

    def code(self, asked: Form, subject: str) -> str:
        """Return a code for a request of a known client.

        Raises:
            Refused: the request cannot be granted; the error goes to the client.
        """
        if asked.get("response_type") != "code":
            raise Refused("unsupported_response_type")
        if asked.get("code_challenge_method") != "S256" or not asked.get("code_challenge"):
            raise Refused("invalid_request")
        scopes = asked.get("scope", "").split()
        if "none/such" in scopes:
            raise Refused("invalid_scope")
        if self._shape.scopes_name_their_resource:
            _check_resource(scopes, asked)
        code = secrets.token_urlsafe(16)
        self._codes[code] = _Grant(
            asked["client_id"],
            subject,
            " ".join(scopes),
            asked.get("resource", ""),
            asked["redirect_uri"],
            asked["code_challenge"],
        )
        return code

    def tokens(self, form: Form, client_id: str, client: Client) -> Mapping[str, Any]:
        """Return the answer of the token endpoint to a client that has proved who it is.

        Raises:
            Refused: the grant is unknown, used, of another client, or fails PKCE.
        """
        match form.get("grant_type"):
            case "authorization_code":
                return self._answer(self._redeemed(form, client_id))
            case "refresh_token":
                return self._answer(self._refreshed(form, client_id))
            case "client_credentials" if client.secret:
                grant = _Grant(client_id, client_id, form.get("scope", ""), form.get("resource", ""))
                return self._answer(grant, with_refresh=False)
            case grant_type if self._assertions and client.secret and grant_type in (JWT_BEARER, EXCHANGE):
                return self._by_assertion(self._assertions, form, client_id)
            case _:
                raise Refused("unsupported_grant_type")

    def _by_assertion(self, assertions: Assertions, form: Form, client_id: str) -> Mapping[str, Any]:
        """Return an ID-JAG, or the access token for one, without a refresh token: the company decides anew."""
        try:
            if form["grant_type"] == EXCHANGE:
                return assertions.signed(form, client_id, self._sign, self._now())
            claims = assertions.taken(form, client_id)
        except Invalid as invalid:
            raise Refused(str(invalid)) from None
        return self._answer(_Grant(client_id, claims["sub"], claims["scope"], claims["resource"]), with_refresh=False)

    def _redeemed(self, form: Form, client_id: str) -> _Grant:
        grant = self._codes.pop(form.get("code", ""), None)
        if grant is None or grant.client_id != client_id or grant.redirect_uri != form.get("redirect_uri"):
            raise Refused("invalid_grant")
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if not hmac.compare_digest(base64.urlsafe_b64encode(digest).rstrip(b"=").decode(), grant.challenge):
            raise Refused("invalid_grant")
        if form.get("resource", grant.resource) != grant.resource:
            raise Refused("invalid_target")
        return grant

    def _refreshed(self, form: Form, client_id: str) -> _Grant:
        token = form.get("refresh_token", "")
        if family := self._used.get(token):
            self._refresh = {key: grant for key, grant in self._refresh.items() if grant.family != family}
        grant = self._refresh.get(token)
        if grant is None or grant.client_id != client_id:
            raise Refused("invalid_grant")
        del self._refresh[token]
        self._used[token] = grant.family
        return replace(grant, scope=form.get("scope", grant.scope))

    def _answer(self, grant: _Grant, *, with_refresh: bool = True) -> Mapping[str, Any]:
        lifetime = self.lifetimes.pop(0) if self.lifetimes else USUAL
        answer = {
            "access_token": self._sign(self._claims(grant, lifetime), "JWT"),
            "token_type": "Bearer",
            "expires_in": lifetime.told,
            "scope": grant.scope,
        }
        if not with_refresh:
            return answer
        refresh = secrets.token_urlsafe(16)
        self._refresh[refresh] = grant
        return answer | {"refresh_token": refresh}

    def _claims(self, grant: _Grant, lifetime: Lifetime) -> Mapping[str, Any]:
        now = int(self._now())
        given = [one.format(resource=grant.resource) for one in self._shape.audience]
        audience = [one for one in given if one]
        scopes = grant.scope.split()
        words = [one.rpartition("/")[2] for one in scopes] if self._shape.scopes_name_their_resource else scopes
        name = self._shape.scope_claim.removesuffix("[]")
        return {
            "iss": self._issuer,
            "sub": grant.subject,
            "client_id": grant.client_id,
            # Before now, because the time of issue must not be after the time of the check.
            "iat": min(now, now + lifetime.real) - 1,
            "exp": now + lifetime.real,
            name: words if self._shape.scope_claim.endswith("[]") else " ".join(words),
            **({"aud": audience[0] if len(audience) == 1 else audience} if audience else {}),
            **({claim: list(groups) for claim in GROUPS} if (groups := self._people.get(grant.subject)) else {}),
        }


def _check_resource(scopes: Sequence[str], asked: Form) -> None:
    """Refuse scopes without a resource, of several resources, and of another one than was asked for."""
    resources = {scope.rpartition("/")[0] for scope in scopes}
    if len(resources) != 1 or "" in resources:
        raise Refused("invalid_scope")
    if asked.get("resource") not in (None, *resources):
        raise Refused("invalid_target")
