"""POST to the endpoints of webhooks, which callers choose: the rules keep a request from reaching what it must not.

The name is resolved once; each address is checked, and the connection goes to the address that was checked, so a name
that changes in between (DNS rebinding) gains nothing. Redirects are not followed. Everything together has a deadline,
and of the response only a bounded part is read. Nothing of a URL or a response is logged.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from socket import create_connection
from threading import Thread
from typing import Any, Final, cast

from msgspec import Struct
from standardwebhooks.webhooks import Webhook

from stepwire.codec import NO_TIME
from stepwire.extras.events.ports import Answer, NotPublic, NotReached
from stepwire.extras.events.subscription import Endpoint, endpoint_of, is_public, is_success

DEADLINE: Final = 10.0  # seconds for a whole exchange, with the resolution of the name
LARGEST_ANSWER: Final = 64 * 1024  # bytes, with its headers
_LARGEST_ECHO: Final = 8 * 1024  # bytes of a body that are looked at
_CHUNK: Final = 16 * 1024

Resolve = Callable[[str, int], list[str]]


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


class HttpsEndpoints(Struct, frozen=True):
    """Endpoints on the public internet, over TLS."""

    allows_local: bool = False
    """Whether plain HTTP to this machine is allowed too; only the local stack may."""
    resolve: Resolve = resolve
    context: Callable[[], ssl.SSLContext] = ssl.create_default_context
    deadline: float = DEADLINE
    is_public: Callable[[str], bool] = is_public
    connect: Callable[[tuple[str, int], float], socket.socket] = create_connection

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a body and return the answer's status, with the beginning of its body."""
        endpoint = endpoint_of(url, allows_local=self.allows_local)
        end = time.monotonic() + self.deadline
        try:
            address = self._address_of(endpoint, end)
            with self.connect((address, endpoint.port), _left(end)) as plain:
                connection = self._secured(plain, endpoint, end)
                with connection:
                    return _exchange(connection, _request(endpoint, headers, body), end)
        except ssl.SSLError as fault:
            raise NotReached("timeout" if isinstance(fault, TimeoutError) else "tls_error") from None
        except TimeoutError:
            raise NotReached("timeout") from None
        except (OSError, http.client.HTTPException, ValueError):
            raise NotReached("connection_refused") from None

    def _address_of(self, endpoint: Endpoint, end: float) -> str:
        addresses = self._resolved(endpoint, _left(end))
        if not endpoint.is_tls:  # this machine, which only the local stack allows
            return addresses[0]
        # All of them: a name that has a private address too is not one to connect to.
        if not addresses or not all(self.is_public(address) for address in addresses):
            raise NotPublic
        return addresses[0]

    def _resolved(self, endpoint: Endpoint, seconds: float) -> list[str]:
        """Resolve a name. The system's resolver has no deadline: one that does not answer is left to its thread."""
        found = Future[list[str]]()

        def resolve() -> None:
            try:
                found.set_result(self.resolve(endpoint.host, endpoint.port))
            except Exception as fault:  # noqa: BLE001 - raised where the result is asked for
                found.set_exception(fault)

        Thread(target=resolve, daemon=True).start()
        return found.result(seconds)

    def _secured(self, plain: socket.socket, endpoint: Endpoint, end: float) -> socket.socket:
        if not endpoint.is_tls:
            return plain
        plain.settimeout(_left(end))
        return self.context().wrap_socket(plain, server_hostname=endpoint.host)


def _request(endpoint: Endpoint, headers: Mapping[str, str], body: bytes) -> bytes:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    named = host if endpoint.is_tls else f"{host}:{endpoint.port}"
    lines = [
        f"POST {endpoint.target} HTTP/1.1",
        f"host: {named}",
        *(f"{name}: {value}" for name, value in headers.items()),
        f"content-length: {len(body)}",
        "accept-encoding: identity",
        "connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def _exchange(connection: socket.socket, request: bytes, end: float) -> Answer:
    for start in range(0, len(request), _CHUNK):
        connection.settimeout(_left(end))
        connection.sendall(request[start : start + _CHUNK])
    response = http.client.HTTPResponse(cast(Any, _Received(connection, end)), method="POST")
    try:
        response.begin()
        body = response.read(_LARGEST_ECHO) if is_success(response.status) else b""
        return Answer(response.status, body, _asked_pause(response))
    finally:
        response.close()


def _asked_pause(response: http.client.HTTPResponse) -> timedelta:
    """Read `Retry-After`: seconds, or a time, which counts from the receiver's own clock (RFC 9110, 10.2.3)."""
    asked, now = (response.getheader(name, "") for name in ("retry-after", "date"))
    try:
        if asked.isdecimal():
            return timedelta(seconds=int(asked))
        return max(_moment_in(asked) - _moment_in(now), NO_TIME)
    except (ValueError, OverflowError):
        return NO_TIME


def _moment_in(text: str) -> datetime:
    return parsedate_to_datetime(text).replace(tzinfo=UTC)  # HTTP writes all times in GMT


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _Received(Struct, frozen=True):
    """What `http.client` needs of a socket: a file of what is received, within the deadline and the largest size."""

    connection: socket.socket
    end: float

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Bounded(self.connection, self.end))


class _Bounded(io.RawIOBase):
    def __init__(self, connection: socket.socket, end: float) -> None:
        self._connection, self._end, self._room = connection, end, LARGEST_ANSWER

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._room <= 0:
            raise ConnectionAbortedError  # only headers can be so long: of a body, less is looked at
        self._connection.settimeout(_left(self._end))
        count = self._connection.recv_into(buffer, min(len(buffer), self._room))
        self._room -= count
        return count


def sign(secret: str, message_id: str, at: datetime, body: str) -> str:
    """Return the signature of a message, with its version."""
    return Webhook(secret).sign(message_id, at, body)
