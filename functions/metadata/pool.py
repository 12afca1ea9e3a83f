"""Ask the user pool whether the mirror must stand aside: once per instance, and only if there is a mirror.

The rule: the answer can only remove the mirror. No text of the pool reaches a document, no redirect is followed, and a
pool that is silent, slow or malformed leaves the mirror, because the stack was deployed with it.

HTTP and TLS are imported where they are used, because most instances ask nobody and would start three times as slowly.
"""
# ruff: noqa: PLC0415

import json
import logging
from contextlib import closing
from typing import Any, NamedTuple, cast

_PATIENCE = 3.0  # seconds, for both requests together; the function has five
_SILENCE = 1.5  # seconds without a byte
_OK = 200
_LONGEST = 65_536  # bytes of the pool's metadata
_NO_ANSWER = (OSError, ValueError, TypeError, AttributeError)

_log = logging.getLogger(__name__)


def pool_does_without_a_mirror(
    issuer: str, sign_in: str, client_id: str, callback_url: str, patience: float = _PATIENCE
) -> bool:
    """Return whether the pool's own metadata must be used; False if it has not said so in time.

    That is so if they list what strict clients demand, or if the pool names itself in its answers (RFC 9207): clients
    compare that name with the issuer of the metadata that they read.

    Args:
        issuer: URL of the pool, as in the tokens.
        sign_in: base URL of its sign-in pages.
        client_id: a public client of the pool; empty if none is known.
        callback_url: a callback URL of that client.
        patience: how long to wait, in seconds. A pool that sends a byte now and then is left to its thread.
    """
    from queue import Empty, SimpleQueue
    from threading import Thread

    found: SimpleQueue[bool] = SimpleQueue()
    ask = lambda: found.put(_does_without(issuer, sign_in, client_id, callback_url))  # noqa: E731
    Thread(target=ask, daemon=True).start()
    try:
        return found.get(timeout=patience)
    except Empty:
        _log.warning("the pool has not answered in time: the metadata mirror is used.")
        return False


def _does_without(issuer: str, sign_in: str, client_id: str, callback_url: str) -> bool:
    says = _metadata(issuer)
    reasons = {
        "its metadata are complete": _is_complete(says),
        "its metadata announce iss": says.get("authorization_response_iss_parameter_supported") is True,
        "its answers have iss": bool(client_id) and _answers_with_iss(sign_in, client_id, callback_url),
    }
    for reason in (reason for reason, holds in reasons.items() if holds):
        _log.warning("the metadata mirror is not used: %s. Deploy with Metadata=pool.", reason)
    return any(reasons.values())


def _is_complete(says: dict[str, Any]) -> bool:
    needed = {"code_challenge_methods_supported": "S256", "token_endpoint_auth_methods_supported": "none"}
    return all(isinstance(says.get(name), list) and value in says[name] for name, value in needed.items())


def _metadata(issuer: str) -> dict[str, Any]:
    try:
        answer = _get(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        says: Any = json.loads(answer.body) if answer.status == _OK else None
    except _NO_ANSWER:
        return {}
    return cast("dict[str, Any]", says) if isinstance(says, dict) else {}


def _answers_with_iss(sign_in: str, client_id: str, callback_url: str) -> bool:
    """Return whether an error that the pool sends to a client has `iss`: RFC 9207 wants it there too.

    The request names a scope that does not exist, so it ends at once, without a page and without anybody's sign-in.
    """
    from urllib.parse import parse_qs, urlencode, urlsplit

    query = {"response_type": "code", "client_id": client_id, "redirect_uri": callback_url, "scope": "none/such"}
    try:
        location = _get(f"{sign_in}/oauth2/authorize?{urlencode(query)}").location
        return location.startswith(callback_url) and "iss" in parse_qs(urlsplit(location).query)
    except _NO_ANSWER:
        return False


class _Answer(NamedTuple):
    status: int
    location: str
    body: bytes


def _get(url: str) -> _Answer:
    """Return the answer to a GET.

    Raises:
        OSError: there is none.
    """
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        with closing(kind(parts.netloc, timeout=_SILENCE)) as connection:
            connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
            answer = connection.getresponse()
            return _Answer(answer.status, answer.getheader("location", ""), answer.read(_LONGEST))
    except HTTPException as error:
        raise ConnectionError(f"{url}: {error!r}") from None
