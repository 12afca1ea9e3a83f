"""Sign-in for the page: an authorization code with PKCE from the operator's issuer, in the browser that began.

What the browser keeps is a cookie with the code verifier; what goes through the issuer and comes back is a sealed state
with the link and the verifier's challenge. So an answer counts only in the browser that began (RFC 9700), a code is of
no use without the cookie, and nothing is stored here. The access token decides who it is, by the rules of the
endpoint's own authorizer; it comes straight from the issuer over TLS, and nobody else sees it.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from msgspec import Struct, ValidationError

from stepwire.codec import value_of
from stepwire.errors import StepwireError
from stepwire.extras.approvals.page.links import PATH, Secrets, opened
from stepwire.extras.approvals.page.sealed import Purpose, seal
from stepwire.extras.approvals.rules import Approver
from stepwire.json_text import Json, JsonObject, as_list, as_object, parse
from stepwire.protocol.tokens import encode

COOKIE: Final = "__Host-stepwire-approval"
"""The prefix lets no other host, and no page without TLS, set it."""
CALLBACK: Final = f"{PATH}signed-in"
LONGEST_SIGN_IN: Final = timedelta(minutes=10)
_VERIFIER_BYTES: Final = 32
_SKEW: Final = timedelta(minutes=1)
"""How far ahead the issuer's clock may be: its token is a second old."""
_CLIENT_CLAIMS: Final = ("client_id", "azp", "cid", "appid")
_ERROR: Final = re.compile(r"[a-z_]{1,40}")
_TELL: Final = "tell whoever runs this endpoint"


class SignInRefused(StepwireError):
    """A sign-in was not completed; the message is for the person."""


class IssuerUnavailable(StepwireError):
    """The issuer does not answer, or not with what it should; the message is for the log."""


class Endpoints(Struct, frozen=True):
    """Where an issuer is asked."""

    authorization: str
    token: str


class Issuer(Protocol):
    """The operator's issuer."""

    def endpoints(self) -> Endpoints:
        """Return its endpoints.

        Raises:
            IssuerUnavailable: it does not say.
        """
        ...

    def access_token(self, form: Mapping[str, str]) -> str:
        """Return the access token for a grant.

        Raises:
            IssuerUnavailable: no answer.
            SignInRefused: the issuer refuses the grant.
        """
        ...


class Client(Struct, frozen=True):
    """What the page is to the issuer."""

    client_id: str
    issuer: str
    """As the tokens name it."""
    audiences: frozenset[str]
    """One of them must be the token's."""
    resource: str
    """URL of the endpoint, which clients of MCP name, too."""
    scopes: tuple[str, ...]
    """That every sign-in asks for, as the issuer knows them."""
    scope_prefix: str
    """What the issuer puts before the scopes that manifests name."""
    origin: str
    """Of the endpoint."""

    @property
    def callback(self) -> str:
        """The redirect URI."""
        return f"{self.origin}{CALLBACK}"


class _State(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    link: str
    challenge: str
    until: int
    """Seconds since 1970."""


class Begun(Struct, frozen=True):
    """A sign-in that begins."""

    url: str
    """Where the browser goes."""
    cookie: str


class SigningIn(Struct, frozen=True):
    """Signs people in for the page."""

    client: Client
    issuer: Issuer
    secret: Callable[[], bytes]
    secrets: Secrets
    randomness: Callable[[int], bytes]
    identify: Callable[[JsonObject], Approver]
    """Returns who the claims of an access token name; raises `SignInRefused` if they may not use the endpoint."""

    def begin(self, link: str, scopes: Sequence[str], at: datetime) -> Begun:
        """Return where a browser signs in for a link, with the scopes that the question's audience needs."""
        client, verifier = self.client, encode(self.randomness(_VERIFIER_BYTES))
        state: list[Json] = [link, _challenge(verifier), int((at + LONGEST_SIGN_IN).timestamp())]
        wanted = dict.fromkeys((*client.scopes, *(client.scope_prefix + one for one in scopes)))
        asked = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": client.callback,
            "resource": client.resource,
            "state": seal(state, Purpose.APPROVAL_SIGN_IN, self.secret()),
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
            **({"scope": " ".join(wanted)} if wanted else {}),
        }
        place = self.issuer.endpoints().authorization
        lasts = int(LONGEST_SIGN_IN.total_seconds())
        cookie = f"{COOKIE}={verifier}; Path=/; Max-Age={lasts}; Secure; HttpOnly; SameSite=Lax"
        return Begun(f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}", cookie)

    def link_in(self, state: str, verifier: str, at: datetime) -> str:
        """Return the link for which this browser has begun to sign in.

        Raises:
            SignInRefused: this browser has begun no such sign-in, or too long ago.
        """
        try:
            found = value_of(opened(state, Purpose.APPROVAL_SIGN_IN, self.secrets), _State)
        except ValidationError:
            found = None
        if found is None or not hmac.compare_digest(_challenge(verifier).encode(), found.challenge.encode()):
            raise SignInRefused(
                "This browser did not begin this sign-in, or has begun another one since. Open the link that you were "
                "sent again."
            )
        if found.until <= at.timestamp():
            raise SignInRefused("The sign-in took too long.")
        return found.link

    def finish(self, answer: Mapping[str, str], verifier: str, at: datetime) -> Approver:
        """Return who has signed in, by the issuer's answer in the query of the callback.

        Raises:
            SignInRefused: nobody has, or somebody who may not use the endpoint.
            IssuerUnavailable: it cannot be said now.
        """
        if answer.get("iss", self.client.issuer) != self.client.issuer:  # RFC 9207
            raise SignInRefused("The answer is of another issuer.")
        if not answer.get("code"):
            error = answer.get("error", "")
            said = error if _ERROR.fullmatch(error) else "no code"
            raise SignInRefused(f"The issuer says: {said}. If it says so again, {_TELL}.")
        form = {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": self.client.callback,
            "client_id": self.client.client_id,
            "code_verifier": verifier,
            "resource": self.client.resource,
        }
        claims = claims_of(self.issuer.access_token(form))
        check_claims(claims, self.client, at)
        return self.identify(claims)


def claims_of(token: str) -> JsonObject:
    """Return the claims of an access token that came straight from the issuer.

    Raises:
        SignInRefused: it is no JWT. The endpoint's authorizer takes no other token either.
    """
    part = token.split(".")[1] if token.count(".") == 2 else ""  # noqa: PLR2004 - a JWT has three parts
    try:
        return as_object(parse(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))))
    except (binascii.Error, ValueError):
        raise SignInRefused(f"The issuer's access tokens are no JWTs, which this endpoint needs: {_TELL}.") from None


def check_claims(claims: JsonObject, client: Client, at: datetime) -> None:
    """Check a token as the endpoint's JWT authorizer does: issuer, audience, times; and that it is this client's.

    Raises:
        SignInRefused: the token is not for this endpoint and this page.
    """
    audience: Any = claims.get("aud", claims.get("client_id"))
    of_clients = [claims[name] for name in _CLIENT_CLAIMS if name in claims]
    checks = {
        "issuer": claims.get("iss") == client.issuer,
        "audience": not client.audiences.isdisjoint(str(one) for one in as_list(audience) or [audience]),
        "client": all(one == client.client_id for one in of_clients),
        "time": _is_now(claims, at),
    }
    wrong = [name for name, holds in checks.items() if not holds]
    if wrong:
        parts = " and ".join(wrong)
        raise SignInRefused(
            f"The issuer has sent a token for something else: its {parts} is not right. Please {_TELL}."
        )


def _is_now(claims: JsonObject, at: datetime) -> bool:
    times = {name: _time_of(claims[name]) for name in ("exp", "nbf", "iat") if name in claims}
    end, soon = times.pop("exp", None), (at + _SKEW).timestamp()
    return end is not None and end > at.timestamp() and all(one is not None and one <= soon for one in times.values())


def _time_of(value: Json) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _challenge(verifier: str) -> str:
    return encode(hashlib.sha256(verifier.encode(errors="surrogatepass")).digest())
