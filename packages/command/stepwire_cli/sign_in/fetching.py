"""Read public documents, within bounds: size, time, redirects, and no private address that a public one leads to.

A metadata document names other URLs, and its author chooses them. So a URL that a document or a redirect names is not
asked if its host has a private address, unless the server that the user named has one too. A name is resolved once, and
the request goes to what was found then.
"""

import json
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urljoin, urlsplit

import httpx2

from stepwire_cli.sign_in.addresses import is_public
from stepwire_cli.sign_in.facts import shown
from stepwire_cli.sign_in.pinning import ADDRESSES

LARGEST: Final = 1_000_000
"""Bytes of a document that are read."""
_REDIRECTS: Final = 3
_SECONDS: Final = httpx2.Timeout(10.0)
_ALL_SECONDS: Final = 30.0  # for a whole document; a trickle of bytes renews the timeout of each read

Resolve = Callable[[str], Iterable[str]]


class NotRead(Exception):
    """A document could not be read. The message is a clause that says why."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status
        """The HTTP status, if there was an answer."""


class NoAnswer(NotRead):
    """Nothing answered: network, name, certificate, time."""


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, read whole."""

    url: str
    """Where it came from, after redirects."""
    status: int
    headers: httpx2.Headers
    body: bytes
    was_redirected: bool = False


def addresses(host: str) -> list[str]:
    """Return the IP addresses of a name; none if it has none."""
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)]
    except (OSError, UnicodeError):
        return []


@dataclass
class Reader:
    """Reads documents for one server."""

    http: httpx2.Client
    url: str | None
    """The server's, which the user named; None: nothing that is named may be at a private address."""
    now: Callable[[], float]
    """The time in seconds, which never goes back."""
    resolve: Resolve = addresses
    _found: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def get(self, url: str) -> Answer:
        """Return the answer to a GET, after at most three redirects.

        Raises:
            NotRead: there is none, or none that may be read.
        """
        first = url
        for _ in range(_REDIRECTS + 1):
            answer = self.ask("GET", url)
            if answer.status not in (301, 302, 303, 307, 308) or not (target := answer.headers.get("location")):
                return Answer(answer.url, answer.status, answer.headers, answer.body, was_redirected=url != first)
            url = urljoin(url, target)
        raise NotRead(f"{shown(first)} redirects more than {_REDIRECTS} times")

    def document(self, url: str) -> tuple[dict[str, Any], Answer]:
        """Return the JSON object at a URL.

        Raises:
            NotRead: it cannot be read, or is none.
        """
        answer = self.get(url)
        if answer.status != HTTPStatus.OK:
            raise NotRead(f"{shown(url)} answers {answer.status}", answer.status)
        return json_object(answer), answer

    def ask(self, method: str, url: str, **options: Any) -> Answer:
        """Return the answer to one request; redirects are not followed.

        Raises:
            NotRead: there is none, or none that may be read.
        """
        self._check(url)
        # Uncompressed: a small answer could otherwise become a large one before its size is seen.
        options["headers"] = {"accept-encoding": "identity", **options.get("headers", {})}
        options["extensions"] = {ADDRESSES: self._addresses(parts_of(url).hostname)}
        try:
            with self.http.stream(method, url, timeout=_SECONDS, follow_redirects=False, **options) as response:
                return Answer(url, response.status_code, response.headers, self._body(response, url))
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
            raise NoAnswer(f"{shown(url)} does not answer: {_words(error)}") from None

    def _body(self, response: httpx2.Response, url: str) -> bytes:
        """Read up to the limit; nothing of a stream of events, which may never end."""
        found, until = bytearray(), self.now() + _ALL_SECONDS
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return b""
        for part in response.iter_bytes():
            found += part
            if len(found) > LARGEST:
                raise NotRead(f"{shown(url)} has more than {LARGEST // 1_000_000} MB")
            if self.now() > until:
                raise NoAnswer(f"{shown(url)} does not end within {_ALL_SECONDS:.0f} s")
        return bytes(found)

    def _check(self, url: str) -> None:
        parts = parts_of(url)
        if self._is_private(parts.hostname or "") and not (self.url and self._is_private(parts_of(self.url).hostname)):
            raise NotRead(f"{shown(url)} is at a private address, where {_whose(self.url)} has no business: not asked")
        if parts.scheme == "http" and not self._is_private(parts.hostname or ""):
            raise NotRead(f"{shown(url)} is not https: hosts refuse it, and it was not asked")

    def _is_private(self, host: str) -> bool:
        return not all(map(is_public, self._addresses(host)))

    def _addresses(self, host: str) -> tuple[str, ...]:
        if host not in self._found:
            self._found[host] = tuple(dict.fromkeys(self.resolve(host)))
        return self._found[host]


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the JSON object of an answer.

    Raises:
        NotRead: it has none.
    """
    try:
        found: object = json.loads(answer.body)
    except (ValueError, RecursionError):
        kind = answer.headers.get("content-type", "no content type").partition(";")[0]
        raise NotRead(f"{shown(answer.url)} is not JSON ({kind})", answer.status) from None
    if not isinstance(found, dict):
        raise NotRead(f"{shown(answer.url)} is no JSON object", answer.status)
    return cast("dict[str, Any]", found)


def _whose(url: str | None) -> str:
    return "a public document" if url is None else shown(url)


def parts_of(url: str) -> Any:
    """Return the parts of a URL.

    Raises:
        NotRead: it is none, or none that may be asked.
    """
    if any(character.isspace() or not character.isprintable() for character in url):  # Python would leave some out
        raise NotRead(f"{shown(url)} is no URL")
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port >= 0
    except ValueError:
        raise NotRead(f"{shown(url)} is no URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or not has_port:
        raise NotRead(f"{shown(url)} is no URL that hosts can ask")
    return parts


def _words(error: Exception) -> str:
    return shown(str(error) or type(error).__name__).rstrip(".")
