"""The HTTP side of the test issuer: metadata, keys, and the endpoints that a client and its browser call.

Served on 127.0.0.1 while its block runs. Requests are answered one at a time.
"""

import base64
import binascii
import json
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as ec_key
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as rsa_key
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from stepwire_local.http_server import LoopbackServer, QuietHandler
from stepwire_local.issuer.grants import Client, Form, Grants, Refused
from stepwire_local.issuer.id_jag import EXCHANGE, JWT_BEARER, PROFILE, Assertions
from stepwire_local.issuer.shapes import Shape

_KID = "the-key"
_ALGORITHMS = {"RSA": "RS256", "EC": "ES256"}
_LONGEST = 65_536  # bytes of a body
_GRANTS = ("authorization_code", "refresh_token", "client_credentials", JWT_BEARER, EXCHANGE)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Test issuer: sign in</title>
<style>
:root {{ color-scheme: light dark; font: 18px/1.6 system-ui, sans-serif; }}
body {{ margin: 3rem auto; max-width: 30rem; padding: 0 1rem; }}
</style>
</head><body><main><h1>Who are you?</h1>
<p>This is the test issuer of the local stack: it asks for no password.</p>
<ul>
{links}
</ul></main></body></html>
"""
_METHODS = ("none", "client_secret_basic", "client_secret_post")


class Answer(NamedTuple):
    """A response: a document, a redirect, or a page."""

    status: int
    document: Any = None
    location: str = ""
    page: str = ""


class LocalIssuer(LoopbackServer):
    """An issuer of a shape.

    Args:
        shape: how it behaves.
        clients: clients that it knows, by id.
        documents: client ID metadata documents that it would find at their URLs; nothing is fetched.
        port: of 127.0.0.1; 0 takes a free one.
        people: who may sign in, with their groups: a page asks which of them it is, unless `login_hint` names one.
            Without any, everybody is signed in as `user`, without a page.
    """

    def __init__(
        self,
        shape: Shape,
        clients: Mapping[str, Client] | None = None,
        documents: Mapping[str, Any] | None = None,
        port: int = 0,
        people: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self.shape, self.people = shape, people
        self.clients, self.documents = dict(clients or {}), dict(documents or {})
        self.user = "alice"
        """The subject of the next sign-ins."""
        self.asked: list[tuple[str, Form]] = []
        """The paths and parameters of requests to the endpoints."""
        self._turn = threading.Lock()
        super().__init__(_handler_of(self), port)
        self.url = self.origin + shape.path
        self._key: Any = rsa_key(65537, 2048) if shape.key == "RSA" else ec_key(SECP256R1())
        self.assertions = Assertions(self.url, self._key.public_key())
        """Enterprise-managed authorization: the servers, or the identity providers, that it knows."""
        self.grants = Grants(shape, self.url, self.sign, time.time, self.assertions, people)

    def sign(self, claims: Mapping[str, Any], kind: str = "JWT") -> str:
        """Return a token of a type with these claims, signed with the issuer's key."""
        headers = {"kid": _KID, "typ": kind}
        return jwt.encode(dict(claims), self._key, algorithm=_ALGORITHMS[self.shape.key], headers=headers)

    def metadata(self) -> Mapping[str, Any]:
        """Return what the issuer says of itself."""
        shape, base = self.shape, self.origin + self.shape.endpoints
        listed = {
            "code_challenge_methods_supported": ["S256"] if shape.lists_s256 else None,
            "token_endpoint_auth_methods_supported": _METHODS[0 if shape.lists_none else 1 :],
            "client_id_metadata_document_supported": True if "documents" in shape.becomes_client_by else None,
            "registration_endpoint": f"{base}/register" if "registration" in shape.becomes_client_by else None,
            "authorization_response_iss_parameter_supported": True if shape.answers_with_iss else None,
            "grant_types_supported": _GRANTS if shape.takes_id_jags else None,
            "authorization_grant_profiles_supported": [PROFILE] if shape.takes_id_jags else None,
        }
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "jwks_uri": f"{self.origin}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [_ALGORITHMS[shape.key]],
            **{name: value for name, value in listed.items() if value is not None},
        }

    def answer(self, method: str, path: str, parameters: Form, body: bytes, authorization: str) -> Answer:
        """Return the answer to a request."""
        with self._turn:
            if method == "GET" and path in self._documents():
                return Answer(200, self._documents()[path])
            endpoint = path.removeprefix(self.shape.endpoints)
            self.asked.append((endpoint, parameters))
            if (method, endpoint) == ("GET", "/authorize"):
                return self._authorize(parameters)
            if (method, endpoint) == ("POST", "/token"):
                return self._token(parameters, authorization)
            if (method, endpoint) == ("POST", "/register") and "registration" in self.shape.becomes_client_by:
                return self._register(body)
            return Answer(404)

    def _documents(self) -> Mapping[str, Any]:
        path = self.shape.path.rstrip("/")
        # OIDC puts the well-known part after the issuer's path, RFC 8414 before it.
        places = {
            "openid-configuration": "{path}/.well-known/{name}",
            "oauth-authorization-server": "/.well-known/{name}{path}",
        }
        found = {places[name].format(path=path, name=name): self.metadata() for name in self.shape.metadata}
        algorithm: Any = RSAAlgorithm if self.shape.key == "RSA" else ECAlgorithm
        public = algorithm.to_jwk(self._key.public_key(), as_dict=True) | {"kid": _KID, "use": "sig"}
        return {**found, "/keys": {"keys": [public]}}

    def _authorize(self, asked: Form) -> Answer:
        """Redirect to the client. Unless 1. the client and 2. the callback are known, nothing goes there."""
        client = self._client(asked.get("client_id", ""))
        callback = asked.get("redirect_uri", "")
        if client is None or callback not in client.redirect_uris:
            return Answer(400, {"error": "invalid_request", "error_description": "unknown client or callback"})
        if self.people and asked.get("login_hint") not in self.people:
            return Answer(200, page=_question(f"{self.shape.endpoints}/authorize", asked, self.people))
        try:
            told = {"code": self.grants.code(asked, asked["login_hint"] if self.people else self.user)}
        except Refused as refused:
            told = {"error": refused.error}
        told |= {"state": asked["state"]} if "state" in asked else {}
        told |= {"iss": self.url} if self.shape.answers_with_iss else {}
        return Answer(302, location=f"{callback}{'&' if '?' in callback else '?'}{urlencode(told)}")

    def _token(self, form: Form, authorization: str) -> Answer:
        given = {name: form[name] for name in ("client_id", "client_secret") if name in form} | _basic(authorization)
        client = self._client(given.get("client_id", ""))
        if client is None or client.secret != given.get("client_secret"):
            return Answer(401, {"error": "invalid_client"})
        try:
            return Answer(200, self.grants.tokens(form, given["client_id"], client))
        except Refused as refused:
            return Answer(400, {"error": refused.error})

    def _client(self, client_id: str) -> Client | None:
        if "documents" in self.shape.becomes_client_by and client_id.startswith("https://"):
            return _of_document(client_id, self.documents.get(client_id))
        return self.clients.get(client_id)

    def _register(self, body: bytes) -> Answer:
        try:
            asked: Any = json.loads(body)
            client = Client(tuple(map(str, asked["redirect_uris"])))
        except (ValueError, KeyError, TypeError):
            return Answer(400, {"error": "invalid_client_metadata"})
        client_id = f"registered-{secrets.token_hex(4)}"
        self.clients[client_id] = client
        return Answer(201, asked | {"client_id": client_id, "token_endpoint_auth_method": "none"})


def _question(path: str, asked: Form, people: Mapping[str, Sequence[str]]) -> str:
    """Return the page that asks who signs in: a link for each person, back to the same request."""
    links = list[str]()
    for name, groups in people.items():
        url = f"{path}?{urlencode({**asked, 'login_hint': name})}"
        words = f"{name}, of {' and '.join(groups)}" if groups else name
        links.append(f'<li><a href="{escape(url)}">{escape(words)}</a></li>')
    return _PAGE.format(links="\n".join(links))


def _of_document(url: str, document: Any) -> Client | None:
    """Return the client that a metadata document describes; None if it is missing, malformed, or of another client."""
    found = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    uris: Any = found.get("redirect_uris")
    if found.get("client_id") != url or not isinstance(uris, list):
        return None
    return Client(tuple(map(str, cast("list[Any]", uris))))


def _basic(authorization: str) -> dict[str, str]:
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        return {}
    try:
        name, _, secret = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return {}
    return {"client_id": unquote(name), "client_secret": unquote(secret)}


def _handler_of(issuer: LocalIssuer) -> type[QuietHandler]:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self._reply(b"")

        def do_POST(self) -> None:
            self._reply(self.body(_LONGEST))

        def _reply(self, body: bytes) -> None:
            parts = urlsplit(self.path)
            text = parts.query if self.command == "GET" else body.decode(errors="replace")
            parameters = dict(parse_qsl(text, keep_blank_values=True))
            authorization = self.headers.get("authorization", "")
            answer = issuer.answer(self.command, parts.path, parameters, body, authorization)
            location = {"location": answer.location} if answer.location else {}
            kind = (
                {"content-type": "text/html; charset=utf-8", "content-security-policy": _POLICY} if answer.page else {}
            )
            headers = {"cache-control": "no-store", "access-control-allow-origin": "*", **location, **kind}
            self.reply(answer.status, (answer.page or json.dumps(answer.document)).encode(), headers)

    return Handler
