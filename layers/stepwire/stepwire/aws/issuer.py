"""The operator's issuer, asked over HTTPS: where it signs people in, and for the token of a code.

The rule: only URLs of the issuer's own metadata are asked, only over TLS (this machine excepted, for the local stack),
no redirect is followed, and of an answer a bounded part is read. Nothing of an answer is logged.
"""

import http.client
import ipaddress
import json
import time
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from msgspec import Struct

from stepwire.approval_page.signing_in import Endpoints, IssuerUnavailable, SignInRefused
from stepwire.json_text import JsonObject, as_object

_SILENCE: Final = 4.0  # seconds without a byte; the function has 15
_LONGEST: Final = 65_536  # bytes of an answer; a token with hundreds of groups fits
_KEPT_FOR: Final = 3600.0  # seconds
_REFUSED: Final = 400
_NO_ANSWER: Final = (OSError, http.client.HTTPException, ValueError)


class _NoRedirects(HTTPRedirectHandler):
    """Makes an error of a redirect."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        """Follow none."""


class HttpsIssuer(Struct):
    """An issuer with OIDC metadata, as the endpoint's JWT authorizer needs it, too."""

    url: str
    _endpoints: Endpoints | None = None
    _read_at: float = 0.0

    def endpoints(self) -> Endpoints:
        """Return where it is asked; its metadata are read once an hour.

        Raises:
            IssuerUnavailable: it does not say.
        """
        if self._endpoints is None or time.monotonic() - self._read_at > _KEPT_FOR:
            document = self._asked(f"{self.url.rstrip('/')}/.well-known/openid-configuration")
            if document.get("issuer") != self.url:
                raise IssuerUnavailable("its metadata name another issuer")
            endpoints = (document.get("authorization_endpoint"), document.get("token_endpoint"))
            self._endpoints = Endpoints(*map(self._checked, endpoints))
            self._read_at = time.monotonic()
        return self._endpoints

    def access_token(self, form: Mapping[str, str]) -> str:
        """Return the access token for a grant of a public client.

        Raises:
            IssuerUnavailable: no answer.
            SignInRefused: the issuer refuses the grant.
        """
        token = self._asked(self.endpoints().token, urlencode(form).encode()).get("access_token")
        if not isinstance(token, str):
            raise IssuerUnavailable("it answers without an access token")
        return token

    def _asked(self, url: str, body: bytes | None = None) -> JsonObject:
        # Without proxies: nothing of the environment decides who is asked.
        opener = build_opener(_NoRedirects(), ProxyHandler({}))
        request = Request(self._checked(url), body, {"accept": "application/json"})  # noqa: S310 - checked
        try:
            with opener.open(request, timeout=_SILENCE) as answer:
                text = cast(bytes, answer.read(_LONGEST + 1))
            return as_object(json.loads(text if len(text) <= _LONGEST else b""))
        except HTTPError as error:
            error.close()
            if error.code == _REFUSED and body is not None:
                raise SignInRefused("The issuer does not take the code, which is of use only once.") from None
            raise IssuerUnavailable(f"HTTP {error.code}") from None
        except _NO_ANSWER as fault:
            raise IssuerUnavailable(type(fault).__name__) from None

    def _checked(self, url: object) -> str:
        """Return a URL over TLS; where the issuer itself is on this machine, also one on this machine."""
        is_tls = isinstance(url, str) and urlsplit(url).scheme == "https"
        if is_tls or (isinstance(url, str) and _is_local(url) and _is_local(self.url)):
            return str(url)
        raise IssuerUnavailable("its metadata name a URL without TLS")


def _is_local(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme != "http":
        return False
    try:
        return parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
