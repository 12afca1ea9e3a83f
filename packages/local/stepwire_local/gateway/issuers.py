"""The public keys of an OIDC issuer: found by discovery, cached for two hours.

The rule: only issuers on this machine are contacted, whatever a template or a discovery document names; no proxy is
used and no redirect followed. The times are API Gateway's: a timeout of 1.5 seconds, keys cached for two hours. A key
outside the cache stays unknown until the cache expires. Failures are not cached.
"""

import http.client
import ipaddress
import json
import threading
import time
from typing import Any, cast
from urllib.parse import urlsplit

import jwt

from stepwire_local.gateway.jwt_tokens import InvalidToken, Keys

KEPT_FOR = 7200.0  # seconds

_PATIENCE = 1.5  # seconds
_LONGEST = 1024 * 1024  # bytes of a document

# Raised while reading a document that is missing or malformed.
_NO_ANSWER = (OSError, http.client.HTTPException, AttributeError, KeyError, TypeError, ValueError)


def is_on_this_machine(url: str) -> bool:
    """Return whether a URL is plain HTTP to a loopback address."""
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname is None:
        return False
    try:
        return ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        return parts.hostname == "localhost"


class Issuer:
    """The keys of one issuer. Thread-safe; one thread at a time fetches."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._fetching = threading.Lock()
        self._fetched: Keys | None = None
        self._until = 0.0  # of time.monotonic()

    def keys(self) -> Keys:
        """Return the keys.

        Raises:
            InvalidToken: the issuer is unreachable or its answer is malformed; API Gateway answers 401 too.
        """
        with self._fetching:
            if self._fetched is None or time.monotonic() >= self._until:
                self._fetched = _fetched(self._url)
                self._until = time.monotonic() + KEPT_FOR
            return self._fetched


def _fetched(issuer: str) -> Keys:
    try:
        discovered = _document(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        address: str = discovered["jwks_uri"]
    except _NO_ANSWER as error:
        raise InvalidToken("OIDC discovery endpoint communication error") from error
    try:
        return _public_keys(_document(address))
    except _NO_ANSWER as error:
        raise InvalidToken("JWKS communication error") from error


def _document(url: str) -> dict[str, Any]:
    if not is_on_this_machine(url):
        raise OSError(f"{url} is not on this machine")
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_PATIENCE)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise OSError(f"{url} answers {answer.status}")
        document = json.loads(answer.read(_LONGEST))
    finally:
        connection.close()
    if not isinstance(document, dict):
        raise TypeError(f"{url} is no JSON object")
    return cast("dict[str, Any]", document)


def _public_keys(document: dict[str, Any]) -> Keys:
    keys: list[dict[str, Any]] = document.get("keys", [])
    wanted = [key for key in keys if key.get("kty") == "RSA" and "kid" in key and key.get("use", "sig") == "sig"]
    # Without the private part, in case the issuer publishes it.
    public = [{name: key[name] for name in ("kty", "kid", "n", "e") if name in key} for key in wanted]
    try:
        return {key["kid"]: jwt.PyJWK(key, "RS256").key for key in public}
    except jwt.PyJWTError as error:
        raise ValueError("a key is malformed") from error
