"""Servers and issuers for `stepwire sign-in`, without a network: what each URL answers, as data.

`issuers/*.json` holds metadata of real issuers, each with its source, its date, and how it came about.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import urlsplit

import httpx2

from stepwire_cli.sign_in.commands import site_at
from stepwire_cli.sign_in.facts import Site
from stepwire_cli.sign_in.fetching import Reader
from stepwire_local.lambdas.loading import load_handler

URL: Final = "https://mcp.example.com/mcp"
ISSUER: Final = "https://issuer.example.com"
RESOURCE_AT: Final = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
ISSUER_AT: Final = f"{ISSUER}/.well-known/oauth-authorization-server"
ROOT_AT: Final = "https://mcp.example.com/.well-known/oauth-protected-resource"
OPENID_AT: Final = f"{ISSUER}/.well-known/openid-configuration"
KEYS_AT: Final = f"{ISSUER}/keys"
RSA: Final = {"keys": [{"kty": "RSA", "use": "sig"}]}
FOLDER: Final = Path(__file__).parent / "issuers"
METADATA: Final = Path(__file__).parents[3] / "functions" / "metadata"
MIRRORED: Final = ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server")
UNAUTHORIZED: Final = httpx2.Response(401, headers={"www-authenticate": "Bearer", "apigw-requestid": "1"}, json={})
NOT_FOUND: Final = httpx2.Response(404, json={"message": "Not Found"})
HTML: Final = httpx2.Response(200, headers={"content-type": "text/html; charset=utf-8"}, content=b"<html></html>")
GOOD: Final[Mapping[str, Any]] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "registration_endpoint": f"{ISSUER}/register",
    "jwks_uri": KEYS_AT,
    "code_challenge_methods_supported": ["S256"],
    "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
    "client_id_metadata_document_supported": True,
    "authorization_response_iss_parameter_supported": True,
}

Answers = Mapping[str, object]
"""What URLs answer: a response, an error to raise, or a value that is served as JSON."""


def without(*fields: str, **changes: object) -> dict[str, Any]:
    """Return good metadata of an issuer without some fields, and with others."""
    return {name: value for name, value in {**GOOD, **changes}.items() if name not in fields}


def resource(issuer: str = ISSUER, **changes: object) -> dict[str, Any]:
    """Return good metadata of a server."""
    return {"resource": URL, "authorization_servers": [issuer], "scopes_supported": ["call"], **changes}


def site(changes: Answers | None = None) -> dict[str, object]:
    """Return a server whose sign-in works in every host that can sign in by URL."""
    good = {URL: UNAUTHORIZED, RESOURCE_AT: resource(), ISSUER_AT: dict(GOOD), KEYS_AT: RSA}
    return {**good, **(changes or {})}


@dataclass
class Web:
    """Answers requests, and keeps which URLs were asked."""

    answers: Answers
    addresses: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of hosts; the others have a public one."""
    asked: list[str] = field(default_factory=list[str])

    def reader(self, url: str | None = URL) -> Reader:
        """Return a reader that asks here."""
        http = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        return Reader(http, url, lambda: 0.0, lambda host: [self.addresses.get(host, "93.184.215.14")])

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        url = str(request.url)
        self.asked.append(url)
        found = self.answers.get(url, self.answers.get("*", NOT_FOUND))
        if isinstance(found, Exception):
            raise found
        if isinstance(found, httpx2.Response):
            return httpx2.Response(found.status_code, headers=found.headers, content=found.content)
        return httpx2.Response(200, json=found)


@dataclass(frozen=True)
class Recorded:
    """Metadata of a real issuer."""

    key: str
    name: str
    kind: str
    """recorded: as it was served; assembled: put together from what the source says of it."""
    source: str
    date: str
    metadata: dict[str, Any]
    keys: dict[str, Any]
    note: str
    """What is changed in it, or not known."""
    found_at: str
    """Where its metadata are, as in the order of the clients."""

    def web(self) -> Web:
        """Return a Stepwire endpoint that trusts it."""
        keys_at = self.metadata["jwks_uri"]
        answers = {URL: UNAUTHORIZED, RESOURCE_AT: resource(self.metadata["issuer"])}
        return Web({**answers, self.found_at: self.metadata, keys_at: self.keys})


def mirror(client_documents: str = "announce") -> Web:
    """Return an endpoint with a Cognito user pool, and the metadata that functions/metadata serves for it."""
    origin = URL.removesuffix("/mcp")
    environment = {
        "AUTHORIZER": "cognito",
        "RESOURCE": URL,
        "ISSUER": "http://127.0.0.1:1",  # nothing listens there: the function then keeps its mirror
        "SCOPES": "call",
        "RESOURCE_NAME": "Stepwire",
        "GRANT_TYPES": "authorization_code,refresh_token",
        "SIGN_IN_URL": "https://example.auth.eu-central-1.amazoncognito.com",
        "CLIENT_DOCUMENTS": client_documents,
        "CLIENT_ID": "",
        "CALLBACK_URL": "http://localhost:8080/callback",
    }
    with patch.dict(os.environ, environment):
        handler = load_handler("app.handler", METADATA, "MetadataFunction")
        served = {path: handler({"routeKey": f"GET {path}"}, None)["body"] for path in MIRRORED}
    return Web({URL: UNAUTHORIZED, **{f"{origin}{path}": json.loads(body) for path, body in served.items()}})


def recorded() -> list[Recorded]:
    """Return all real issuers, by key."""
    return [_recorded(path) for path in sorted(FOLDER.glob("*.json"))]


def _recorded(path: Path) -> Recorded:
    found = json.loads(path.read_text(encoding="utf-8"))
    issuer: str = found["metadata"]["issuer"]
    parts = urlsplit(issuer)
    ending = {
        "rfc 8414": f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{parts.path.rstrip('/')}",
        "openid": f"{issuer.rstrip('/')}/.well-known/openid-configuration",
    }
    one = Recorded(
        path.stem, found["name"], found["kind"], found["source"], found["date"], {}, found["keys"], found["note"], ""
    )
    return replace(one, metadata=found["metadata"], found_at=ending[found["served"]])


def found(changes: Answers | None = None, **addresses: str) -> Site:
    """Check a good site with changes."""
    hosts = {name.replace("_", "."): address for name, address in addresses.items()}
    return site_at(URL, Web(site(changes), hosts).reader())


def said(checked_site: Site) -> str:
    """Return all findings."""
    return " / ".join(one.what for one in checked_site.findings)
