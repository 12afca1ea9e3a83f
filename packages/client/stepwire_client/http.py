"""The HTTP client beneath the library's transport: every failure becomes the answer to the request that met it.

The library's transport tells callers little of what went wrong, and a lost connection ends its whole session. So a
failure becomes a JSON-RPC error here, with its kind in `data`, which `refusals.py` reads. The rules: the session goes
on whatever happens to one request; and no answer takes more memory or time than `Bounds`, except a stream of events,
which may last as long as the server holds it (the library bounds each of its events).
"""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final, cast

import anyio
import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError
from mcp.shared.inbound import MCP_METHOD_HEADER
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, JSONRPCError
from pydantic import ValidationError

from stepwire_client.errors import SignInNeeded

KIND: Final = "stepwire_client/kind"
"""In the `data` of an error: what sort of failure it stands for."""
RETRY_AFTER: Final = "stepwire_client/retryAfter"
STATUS: Final = "stepwire_client/status"
EXPLAINED: Final = "stepwire_client/explained"
NOT_CONNECTED: Final = "not_connected"
BUSY: Final = "busy"
SIGN_IN: Final = "sign_in"
NO_CLIENT: Final = "no_client"
NOT_MCP: Final = "not_mcp"

_SECONDS: Final = httpx2.Timeout(30.0, read=300.0)  # as the library's own client: a server may hold a stream open
_EVENTS: Final = "text/event-stream"
_OFFERED: Final = ("application/json", _EVENTS)
_SHOWN: Final = 100  # characters of what an issuer says
_DISCOVER: Final = "server/discover"
_OUTAGES: Final = frozenset({429, 503})  # 500, 502 and 504 may be how an older server fails at an unknown method
_BUSY: Final = frozenset({429, 502, 503, 504})
"""API Gateway also says 500 for a function that is throttled, or has failed: then the body is no JSON-RPC."""


@dataclass(frozen=True)
class Bounds:
    """The most that one answer may take."""

    size: int = 16_000_000
    """Bytes of a body."""
    seconds: float = 60.0
    """From the headers to the end of the body."""


class _TooMuch(httpx2.StreamError):
    """An answer exceeds its bounds; the message says which."""


BOUNDS: Final = Bounds()


class McpHttpClient(httpx2.AsyncClient):
    """Sends requests, and answers for a server that does not."""

    def __init__(
        self, *, headers: dict[str, str] | None = None, auth: httpx2.Auth | None = None, bounds: Bounds = BOUNDS
    ) -> None:
        # Uncompressed: a small answer could otherwise become a large one before its size is seen.
        plain = {"accept-encoding": "identity", **(headers or {})}
        hooks = {"response": [self._bound]}  # also for the requests of a sign-in, which `send` never sees
        super().__init__(headers=plain, auth=auth, timeout=_SECONDS, event_hooks=hooks)
        self._bounds = bounds
        self._outage: httpx2.Response | None = None

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; never raise for what the network or the server does.

        An outage says nothing of the versions of a server. But the library, which meets an error when it asks for
        them, goes on with `initialize` and the older version: that gets the same answer, and is not sent.
        """
        if self._outage is not None:
            found = self._outage
            return httpx2.Response(found.status_code, request=request, headers=found.headers, content=found.content)
        response = await self._sent(request, **options)
        if request.headers.get(MCP_METHOD_HEADER) == _DISCOVER and response.status_code in _OUTAGES:
            self._outage = response
        return response

    async def _sent(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **options)
            return await _explained(response)
        except _TooMuch as error:
            return _answer(request, 400, NOT_MCP, str(error))
        except OAuthRegistrationError as error:
            return _answer(
                request, 401, NO_CLIENT, f"The issuer registers no client by itself ({str(error)[:_SHOWN]})."
            )
        except (SignInNeeded, OAuthFlowError) as error:
            return _answer(request, 401, SIGN_IN, str(error) or "The sign-in failed.")
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            host = request.url.copy_with(userinfo=b"", query=None)
            return _answer(request, 503, NOT_CONNECTED, f"{host} cannot be reached: {_in_words(error)}.")

    async def _bound(self, response: httpx2.Response) -> None:
        """Have the body of a response counted while it is read."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise _TooMuch("It answers compressed, which was not asked for.")
        if _kind_of(response) != _EVENTS:
            response.stream = _Bounded(cast(httpx2.AsyncByteStream, response.stream), self._bounds)


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error where it exceeds its bounds."""

    def __init__(self, inner: httpx2.AsyncByteStream, bounds: Bounds) -> None:
        self._inner = inner
        self._bounds = bounds

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        most, until = self._bounds.size, anyio.current_time() + self._bounds.seconds
        async for part in self._inner:
            most -= len(part)
            if most < 0:
                raise _TooMuch(f"It answers with more than {self._bounds.size / 1_000_000:g} MB.")
            if anyio.current_time() > until:
                raise _TooMuch(f"Its answer does not end within {self._bounds.seconds:g} s.")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _explained(response: httpx2.Response) -> httpx2.Response:
    """Return a response as it is, or one that says why it is of no use."""
    status = response.status_code
    if status < HTTPStatus.BAD_REQUEST:
        kind = _kind_of(response)
        if response.request.method != "POST" or status != HTTPStatus.OK or kind == _EVENTS:
            return response
        if kind in _OFFERED:
            await response.aread()  # here, where what is wrong with it becomes an answer
            return response
        await response.aclose()
        return _answer(response.request, 400, NOT_MCP, f"It answers with {kind or 'no content type'}, not as MCP does.")
    if response.request.method != "POST":
        return response
    body = await response.aread()
    return _of_an_error(response, _error_in(body))


def _kind_of(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _of_an_error(response: httpx2.Response, said: JSONRPCError | None) -> httpx2.Response:
    request, status = response.request, response.status_code
    words = said.error.message if said else f"It answers with {status} {response.reason_phrase}."
    if status in (401, 403):
        return _answer(request, status, SIGN_IN, words, said)
    if status in _BUSY or (status == HTTPStatus.INTERNAL_SERVER_ERROR and said is None):
        return _answer(request, status, BUSY, words, said, _seconds_in(response.headers))
    return response if said else _answer(request, status, NOT_MCP, words)


def _error_in(body: bytes) -> JSONRPCError | None:
    try:
        return JSONRPCError.model_validate_json(body)
    except ValidationError:
        return None


def _answer(
    request: httpx2.Request,
    status: int,
    kind: str,
    words: str,
    said: JSONRPCError | None = None,
    retry_after: float | None = None,
) -> httpx2.Response:
    """Make the response that the transport hands on as the answer to its request."""
    code = said.error.code if said else (CONNECTION_CLOSED if kind == NOT_CONNECTED else INVALID_REQUEST)
    more: object = said.error.data if said else None
    data = {
        **(cast("dict[str, Any]", more) if isinstance(more, dict) else {}),
        KIND: kind,
        STATUS: status,
        EXPLAINED: said is not None,
    }
    error = {"code": code, "message": words, "data": {**data, RETRY_AFTER: retry_after}}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    return httpx2.Response(status, request=request, headers={"content-type": "application/json"}, content=body)


def _seconds_in(headers: httpx2.Headers) -> float | None:
    """Read `Retry-After`: seconds, or a time, which counts from the server's own clock (RFC 9110, 10.2.3)."""
    asked = headers.get("retry-after", "")
    if asked.isdecimal():
        return float(asked)
    until, now = _moment_in(asked), _moment_in(headers.get("date", "")) or datetime.now(UTC)
    return None if until is None else max((until - now).total_seconds(), 0.0)


def _moment_in(text: str) -> datetime | None:
    """Read a time as HTTP writes it, always in GMT; None: it is none."""
    try:
        return parsedate_to_datetime(text).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _in_words(error: Exception) -> str:
    words = str(error) or type(error).__name__
    return words.rstrip(".")
