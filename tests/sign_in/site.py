"""An endpoint on the local stack, with a test issuer of some shape: what a client meets that has only the URL."""

import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from local import LocalStack
from local.issuer import SHAPES, Client, LocalIssuer
from tests.waiting import HANG_GUARD

ROOT: Final = Path(__file__).parents[2]
TOOLS: Final = Path(__file__).parent / "template.yaml"
CALLBACK: Final = "http://localhost:8080/callback"
GIVEN_ID: Final = "given-id"
WITH_SECRET: Final = "with-secret"
SECRET: Final = "a secret of the test"
DOCUMENT: Final = "https://client.example/oauth/metadata.json"
SCOPE: Final = "workflows"


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

    def token(self, **claims: Any) -> str:
        """Return a token with these claims, signed by the issuer; None leaves one out."""
        usual = {"iss": self.issuer.url, "sub": "alice", "aud": self.url, "scope": SCOPE, "exp": 4_000_000_000}
        return self.issuer.sign({name: value for name, value in (usual | claims).items() if value is not None})


@contextmanager
def site_of(shape: str, **parameters: str) -> Generator[Site]:
    """Serve the root template with an issuer of a shape, and two tools."""
    clients = {GIVEN_ID: Client((CALLBACK,)), WITH_SECRET: Client((CALLBACK,), SECRET)}
    document = {"client_id": DOCUMENT, "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    with LocalIssuer(SHAPES[shape], clients, {DOCUMENT: document}) as issuer:
        given = {**issuer.shape.parameters(issuer.url, url, SCOPE), **parameters}
        with LocalStack(ROOT / "template.yaml", others=[TOOLS], port=port, parameters=given):
            yield Site(url, issuer)
