"""Client ID metadata documents: what a host publishes of itself, checked before an issuer is told to trust it.

Whoever controls the callbacks of a document gets the codes of those who sign in. So a callback must be on this
machine's loopback, on the document's own host, or one that is known of the host.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlsplit

from stepwire_cli.sign_in.facts import shown
from stepwire_cli.sign_in.fetching import NoAnswer, NotRead, Reader
from stepwire_cli.sign_in.hosts import HOSTS

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
KNOWN: Final = tuple(host.document for host in HOSTS if host.document is not None and "{" not in host.document)
"""The documents of hosts whose URL is always the same."""


@dataclass(frozen=True)
class Checked:
    """A document, and whether an issuer should trust it."""

    url: str
    is_allowed: bool
    why: str = ""
    """What is wrong with it, or what could not be checked."""


def checked(url: str, reader: Reader) -> Checked:
    """Check a document: 1. its URL, 2. that it can be read, 3. that it is of this client, 4. public, 5. its callbacks.

    A known document that does not answer from here is allowed: its URL is trusted, and some hosts answer only browsers
    and issuers. One that is not known is not, because its URL may be mistyped.
    """
    if fault := _url_fault(url):
        return Checked(url, is_allowed=False, why=fault)
    try:
        found, answer = reader.document(url)
    except NotRead as error:
        is_trusted = url in KNOWN and (isinstance(error, NoAnswer) or error.status not in (None, HTTPStatus.OK))
        return Checked(url, is_trusted, f"not checked: {error}" if is_trusted else str(error))
    moved = ["it redirects, which issuers do not follow"] if answer.was_redirected else []
    fault = next(iter((*moved, *_faults(found, url))), "")
    return Checked(url, not fault, fault)


def _url_fault(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "it is no URL"
    if "*" in url:
        return "it is a pattern: whoever can put a file there would be a client; name whole documents"
    is_one = parts.scheme == "https" and parts.hostname and parts.path not in ("", "/") and not parts.fragment
    return "" if is_one else "a document is at a URL with https and a path"


def _faults(found: dict[str, Any], url: str) -> Iterator[str]:
    if found.get("client_id") != url:
        yield f"its client_id is {shown(str(found.get('client_id')))}, not its URL"
    if found.get("token_endpoint_auth_method") != "none":
        yield "its token_endpoint_auth_method is not none, and Cognito takes public clients only"
    callbacks = found.get("redirect_uris")
    if not isinstance(callbacks, list) or not callbacks:
        yield "it has no redirect_uris"
    else:
        strange = [str(one) for one in cast("list[object]", callbacks) if not _is_expected(one, url)]
        if strange:
            yield f"it names callbacks that are not its own: {shown(', '.join(strange))}"


def _is_expected(callback: object, url: str) -> bool:
    if not isinstance(callback, str):
        return False
    try:
        parts = urlsplit(callback)
    except ValueError:
        return False
    if parts.scheme == "http":
        return parts.hostname in _LOOPBACK
    return parts.scheme == "https" and parts.hostname in {urlsplit(url).hostname, *_own_hosts(url)}


def _own_hosts(url: str) -> Iterator[str | None]:
    for host in HOSTS:
        if host.document == url:
            yield from (urlsplit(callback).hostname for callback in host.callbacks)
