"""Sign-in at the test issuer: of the console, as the first person whom the issuer knows, and of the page for approvers.

The rule: both are clients like any other. The console has no way around the endpoint's authorizer, so its tasks belong
to the same principal as those of every client that signed in as that user.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from stepwire.approval_page.links import origin_of
from stepwire.approval_page.signing_in import CALLBACK
from stepwire_local.issuer import Client, LocalIssuer

CLIENT_ID: Final = "console"
PAGE_CLIENT_ID: Final = "approvals"
_CALLBACK: Final = "http://127.0.0.1/console"

Token = Callable[[], str]


def sign_in_at(issuer: LocalIssuer, endpoint: str) -> Token:
    """Return a function that returns a new access token for the endpoint."""
    issuer.clients[CLIENT_ID] = Client((_CALLBACK,))
    return lambda: _token(issuer, endpoint)


def page_signs_in_at(issuer: LocalIssuer, endpoint: str) -> Mapping[str, str]:
    """Let the page for approvers sign people in at an issuer, and return the template's parameters for that."""
    issuer.clients[PAGE_CLIENT_ID] = Client((f"{origin_of(endpoint)}{CALLBACK}",))
    return {"ApprovalLinks": "sign-in", "ApprovalClientId": PAGE_CLIENT_ID}


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
