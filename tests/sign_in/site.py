"""An endpoint on the local stack, with a test issuer of some shape: what a client meets that has only the URL."""

from base64 import urlsafe_b64encode
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import httpx

from stepwire_local import LocalStack
from stepwire_local.issuer import SHAPES, Client, LocalIssuer
from tests.ports import free_port
from tests.waiting import HANG_GUARD

ROOT: Final = Path(__file__).parents[2]
TOOLS: Final = Path(__file__).parent / "template.yaml"
CALLBACK: Final = "http://localhost:8080/callback"
GIVEN_ID: Final = "given-id"
WITH_SECRET: Final = "with-secret"
SECRET: Final = "a secret of the test"
DOCUMENT: Final = "https://client.example/oauth/metadata.json"
SCOPE: Final = "workflows"


_VERIFIER: Final = "a-verifier-of-at-least-43-characters-and-no-more-than-128"


@dataclass(frozen=True)
class Site:
    """An endpoint and its issuer."""

    url: str
    issuer: LocalIssuer

    def asked(self, endpoint: str) -> list[Mapping[str, str]]:
        """Return the parameters of the requests to an endpoint of the issuer, in order."""
        return [parameters for path, parameters in self.issuer.asked if path == endpoint]

    def listing(self, token: str) -> httpx.Response:
        """Return the answer to a request with a token."""
        headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {token}"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        return httpx.post(
            self.url, json=message, headers=headers | {"mcp-protocol-version": "2025-11-25"}, timeout=HANG_GUARD
        )

    def sign_in(self, scope: str) -> dict[str, Any]:
        """Return the tokens, with a refresh token, of a sign-in with a scope of the caller's choice."""
        verifier, challenge = proof()
        client = {"client_id": GIVEN_ID, "redirect_uri": CALLBACK}
        asked = {"response_type": "code", "code_challenge_method": "S256", "code_challenge": challenge}
        code = self.issuer.grants.code({**client, **asked, "scope": scope, "resource": self.url}, self.issuer.user)
        form = {**client, "grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        return dict(self.issuer.grants.tokens(form, GIVEN_ID, self.issuer.clients[GIVEN_ID]))

    def token(self, **claims: Any) -> str:
        """Return a token with these claims, signed by the issuer; None leaves one out."""
        usual = {"iss": self.issuer.url, "sub": "alice", "aud": self.url, "scope": SCOPE, "exp": 4_000_000_000}
        return self.issuer.sign({name: value for name, value in (usual | claims).items() if value is not None})


def proof() -> tuple[str, str]:
    """Return a verifier of PKCE, and its challenge."""
    return _VERIFIER, urlsafe_b64encode(sha256(_VERIFIER.encode()).digest()).rstrip(b"=").decode()


@contextmanager
def site_of(shape: str, **parameters: str) -> Generator[Site]:
    """Serve the root template with an issuer of a shape, and two tools."""
    clients = {GIVEN_ID: Client((CALLBACK,)), WITH_SECRET: Client((CALLBACK,), SECRET)}
    document = {"client_id": DOCUMENT, "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with LocalIssuer(SHAPES[shape], clients, {DOCUMENT: document}) as issuer:
        given = {**issuer.shape.parameters(issuer.url, url, SCOPE), **parameters}
        with LocalStack(ROOT / "stack.yaml", others=[TOOLS], port=port, parameters=given):
            yield Site(url, issuer)
