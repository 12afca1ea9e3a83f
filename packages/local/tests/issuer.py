"""An OIDC issuer for tests, on 127.0.0.1: serves its discovery document and its keys, and issues tokens of every kind.

    with TestIssuer() as issuer:
        with LocalStack(template, parameters={"JwtIssuer": issuer.url, ...}):
            httpx.post(url, headers=issuer.bearer(aud="..."))

Other test folders import it. Its key and an unknown one are made once per process, because one takes a tenth of a
second.
"""

import hmac
import json
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm
from jwt.utils import base64url_decode, base64url_encode

from stepwire_local.http_server import LoopbackServer, QuietHandler

AUDIENCE: Final = "test"
KID: Final = "the-key"
DISCOVERY: Final = "/.well-known/openid-configuration"


@cache
def own_key() -> RSAPrivateKey:
    """Return the key with which the issuer signs, and which it publishes."""
    return generate_private_key(65537, 2048)


@cache
def unknown_key() -> RSAPrivateKey:
    """Return a key that the issuer does not publish."""
    return generate_private_key(65537, 2048)


class TestIssuer(LoopbackServer):
    """An issuer; it serves while its block runs.

    `documents` maps paths to their contents, and may be changed; `asked` lists the requested paths with their queries.
    `redirects` maps paths to where they redirect instead.
    """

    __test__ = False  # not a test class, despite its name

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {}
        self.redirects: dict[str, str] = {}
        self.asked: list[str] = []
        super().__init__(_handler_of(self))
        self.url = self.origin
        self.documents[DISCOVERY] = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
        self.documents["/keys"] = {"keys": [public_jwk(own_key(), KID)]}

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Return the claims of a valid token with these changes; None removes a claim."""
        now = int(time.time())
        usual = {"iss": self.url, "sub": "somebody", "aud": AUDIENCE, "iat": now, "nbf": now, "exp": now + 600}
        return {name: value for name, value in (usual | changes).items() if value is not None}

    def valid(self, **changes: Any) -> str:
        """Issue a token; without changes it is valid."""
        return signed(self.claims(**changes))

    def expired(self, **changes: Any) -> str:
        """Issue a token that expired a minute ago."""
        now = int(time.time())
        return self.valid(**{"iat": now - 660, "nbf": now - 660, "exp": now - 60, **changes})

    def for_another_audience(self, **changes: Any) -> str:
        """Issue a token for another audience."""
        return self.valid(**{"aud": "somebody-else", **changes})

    def unsigned(self, **changes: Any) -> str:
        """Issue a token whose signature was removed, although its header names an algorithm."""
        return self.valid(**changes).rpartition(".")[0] + "."

    def of_algorithm_none(self, **changes: Any) -> str:
        """Issue a token with the algorithm "none"."""
        return jwt.encode(self.claims(**changes), "", algorithm="none", headers={"kid": KID})

    def signed_by_another_key(self, **changes: Any) -> str:
        """Issue a token that names the issuer's key but is signed with an unknown one."""
        return signed(self.claims(**changes), key=unknown_key())

    def tampered(self, **changes: Any) -> str:
        """Issue a token, and change its subject after it was signed."""
        header, payload, signature = self.valid(**changes).split(".")
        claims = json.loads(base64url_decode(payload)) | {"sub": "somebody else"}
        return f"{header}.{base64url_encode(json.dumps(claims).encode()).decode()}.{signature}"

    def with_the_public_key_as_secret(self, **changes: Any) -> str:
        """Issue an HS256 token whose secret is the public key: the classic algorithm confusion."""
        header = json.dumps({"alg": "HS256", "typ": "JWT", "kid": KID}).encode()
        parts = [base64url_encode(part) for part in (header, json.dumps(self.claims(**changes)).encode())]
        # Signed by hand, because libraries refuse such a secret.
        secret = own_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        signature = hmac.digest(secret, b".".join(parts), "sha256")
        return b".".join([*parts, base64url_encode(signature)]).decode()

    def bearer(self, **changes: Any) -> dict[str, str]:
        """Return the header with a valid token."""
        return {"authorization": f"Bearer {self.valid(**changes)}"}


def signed(
    claims: Mapping[str, Any], *, key: RSAPrivateKey | None = None, kid: str | None = KID, algorithm: str = "RS256"
) -> str:
    """Sign claims; a kid of None leaves the header out."""
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(dict(claims), key or own_key(), algorithm=algorithm, headers=headers)


def public_jwk(key: RSAPrivateKey, kid: str) -> dict[str, Any]:
    """Return the public half of a key, as a JWKS lists it."""
    return RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": kid, "use": "sig", "alg": "RS256"}


def _handler_of(issuer: TestIssuer) -> type[QuietHandler]:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            path = self.path.partition("?")[0]
            document, location = issuer.documents.get(path), issuer.redirects.get(path)
            status = 302 if location is not None else 404 if document is None else 200
            self.reply(status, json.dumps(document).encode(), None if location is None else {"location": location})

    return Handler
