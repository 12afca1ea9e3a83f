"""Enterprise-managed authorization (SEP-990) at the test issuer, which takes both parts in it.

A company's identity provider signs an ID-JAG, and the issuer of an MCP server takes it for an access token. The rule:
what the extension's text demands of either is checked; one error says nothing of which check failed.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jwt

JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
PROFILE: Final = "urn:ietf:params:oauth:grant-profile:id-jag"
ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"
IDENTITY: Final = "urn:ietf:params:oauth:token-type:id_token"
_TYPE: Final = "oauth-id-jag+jwt"
_LIFETIME: Final = 300  # seconds
_NEEDED: Final = ("iss", "sub", "aud", "client_id", "jti", "iat", "exp")
Form = Mapping[str, str]
Sign = Callable[[Mapping[str, Any], str], str]


class Invalid(Exception):
    """The request breaks a rule; the message is an error of OAuth."""


@dataclass
class Assertions:
    """What an issuer knows of ID-JAGs: those that it may sign, and those that it takes."""

    issuer: str
    key: Any
    """Its own public key."""
    servers: dict[str, str] = field(default_factory=dict[str, str])
    """As identity provider: the MCP servers that its administrator allows, and the issuer of each."""
    providers: dict[str, Any] = field(default_factory=dict[str, Any])
    """As a server's issuer: the keys of the identity providers that it trusts, by their URLs."""
    resource: str = ""
    """As a server's issuer: the URL of the server."""
    _seen: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def signed(self, form: Form, client_id: str, sign: Sign, now: float) -> Mapping[str, Any]:
        """Return the answer to a token exchange.

        Raises:
            Invalid: the user, the server or its issuer is not one that the administrator allows.
        """
        if (form.get("requested_token_type"), form.get("subject_token_type")) != (ID_JAG, IDENTITY):
            raise Invalid("invalid_request")
        audience, resource = form.get("audience", ""), form.get("resource", "")
        if self.servers.get(resource) != audience:
            raise Invalid("invalid_target")
        user = _claims(form.get("subject_token", ""), self.key, client_id, self.issuer)
        claims = {
            "iss": self.issuer,
            "sub": user["sub"],
            "aud": audience,
            "resource": resource,
            "client_id": client_id,
            "jti": secrets.token_hex(8),
            "scope": form.get("scope", ""),
            "iat": int(now) - 1,
            "exp": int(now) + _LIFETIME,
        }
        answer = {"issued_token_type": ID_JAG, "token_type": "N_A", "expires_in": _LIFETIME, "scope": claims["scope"]}
        return {"access_token": sign(claims, _TYPE), **answer}

    def taken(self, form: Form, client_id: str) -> Mapping[str, Any]:
        """Return the claims of an ID-JAG, with the scopes that its client gets. It is taken once.

        Raises:
            Invalid: it is forged, expired or used, or of another client, issuer or server.
        """
        assertion = form.get("assertion", "")
        try:
            named = jwt.decode(assertion, options={"verify_signature": False}).get("iss")
            kind = jwt.get_unverified_header(assertion).get("typ")
        except jwt.InvalidTokenError:
            raise Invalid("invalid_grant") from None
        key = self.providers.get(str(named))
        if key is None or kind != _TYPE:
            raise Invalid("invalid_grant")
        claims = _claims(assertion, key, self.issuer, str(named), _NEEDED)
        used = (claims["iss"], claims["jti"])
        if claims["client_id"] != client_id or claims.get("resource") != self.resource or used in self._seen:
            raise Invalid("invalid_grant")
        self._seen.add(used)
        asked, allowed = form.get("scope", "").split(), claims.get("scope", "").split()
        return {**claims, "scope": " ".join(one for one in asked or allowed if one in allowed)}


def _claims(token: str, key: Any, audience: str, issuer: str, needed: tuple[str, ...] = ("sub",)) -> dict[str, Any]:
    try:
        return jwt.decode(
            token, key, algorithms=["RS256"], audience=audience, issuer=issuer, options={"require": list(needed)}
        )
    except jwt.InvalidTokenError:
        raise Invalid("invalid_grant") from None
