"""Sign-in of the console at the test issuer, as the first person whom the issuer knows.

The rule: it is a client like any other. It has no way around the endpoint's authorizer, so its tasks belong
to the same principal as those of every client that signed in as that user.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from stepwire_local.issuer import Client, LocalIssuer

CLIENT_ID: Final = "console"
_CALLBACK: Final = "http://127.0.0.1/console"

Token = Callable[[], str]


def sign_in_at(issuer: LocalIssuer, endpoint: str) -> Token:
    """Return a function that returns a new access token for the endpoint."""
    issuer.clients[CLIENT_ID] = Client((_CALLBACK,))
    return lambda: _token(issuer, endpoint)


def _token(issuer: LocalIssuer, endpoint: str) -> str:
    verifier, given = secrets.token_urlsafe(32), issuer.shape.endpoints
    digest = hashlib.sha256(verifier.encode()).digest()
    user = next(iter(issuer.people), issuer.user)
    known = {"client_id": CLIENT_ID, "redirect_uri": _CALLBACK, "resource": endpoint}
    scope = {"scope": f"{endpoint}/call"} if issuer.shape.scopes_name_their_resource else {}
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    asked = {
        **known,
        **scope,
        "login_hint": user,
        "response_type": "code",
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    sent_back = issuer.answer("GET", f"{given}/authorize", asked, b"", "").location
    code = parse_qs(urlsplit(sent_back).query)["code"][0]
    form = {**known, "grant_type": "authorization_code", "code": code, "code_verifier": verifier}
    document: Any = issuer.answer("POST", f"{given}/token", form, b"", "").document
    return str(document["access_token"])
