"""Documents of the operator's issuer, fetched over HTTPS.

The rule: only over TLS (this machine excepted, for the local stack), no redirect is followed, no proxy of the
environment is used, and of an answer a bounded part is read. Nothing of an answer is logged.
"""

import http.client
import ipaddress
import json
from typing import Any, Final, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from stepwire.json_text import JsonObject, as_object

_SILENCE: Final = 4.0  # seconds without a byte; two documents are read within any function's time
_LONGEST: Final = 65_536  # bytes of an answer; a token with hundreds of groups fits
_NO_ANSWER: Final = (OSError, http.client.HTTPException, ValueError)


class Unanswered(Exception):
    """The issuer does not answer, or not with what it should; the message is safe to log."""

    def __init__(self, reason: str, status: int = 0) -> None:
        """Keep the reason, and the status of HTTP if there was an answer."""
        super().__init__(reason)
        self.status = status


class NoRedirects(HTTPRedirectHandler):
    """Makes an error of a redirect, which would carry what is sent to another server."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        """Follow none."""


def metadata_of(issuer: str) -> JsonObject:
    """Return the issuer's OIDC metadata, which must name it.

    Raises:
        Unanswered: no answer, or the metadata of another issuer.
    """
    document = read_document(f"{issuer.rstrip('/')}/.well-known/openid-configuration", issuer)
    if document.get("issuer") != issuer:
        raise Unanswered("its metadata name another issuer")
    return document


def read_document(url: object, issuer: str, body: bytes | None = None) -> JsonObject:
    """Return the JSON object that a URL of an issuer answers with, to a GET, or to a POST with a body.

    Raises:
        Unanswered: no answer, another status than 2xx, or a URL without TLS.
    """
    opener = build_opener(NoRedirects(), ProxyHandler({}))
    request = Request(checked_url(url, issuer), body, {"accept": "application/json"})  # noqa: S310 - checked
    try:
        with opener.open(request, timeout=_SILENCE) as answer:
            text = cast(bytes, answer.read(_LONGEST + 1))
        return as_object(json.loads(text if len(text) <= _LONGEST else b""))
    except HTTPError as error:
        error.close()
        raise Unanswered(f"HTTP {error.code}", error.code) from None
    except _NO_ANSWER as fault:
        raise Unanswered(type(fault).__name__) from None


def checked_url(url: object, issuer: str) -> str:
    """Return a URL over TLS; where the issuer itself is on this machine, also one on this machine.

    Raises:
        Unanswered: it is another.
    """
    is_tls = isinstance(url, str) and urlsplit(url).scheme == "https"
    if is_tls or (isinstance(url, str) and _is_local(url) and _is_local(issuer)):
        return str(url)
    raise Unanswered("its metadata name a URL without TLS")


def _is_local(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme != "http":
        return False
    try:
        return parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
