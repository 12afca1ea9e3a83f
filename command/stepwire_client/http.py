"""The HTTP client beneath the library's transport: every failure becomes the answer to the request that met it.

The library's transport tells callers little of what went wrong, and a lost connection ends its whole session. So a
failure becomes a JSON-RPC error here, with its kind in `data`, which `refusals.py` reads. The rule: the session goes on
whatever happens to one request.
"""

import json
from http import HTTPStatus
from typing import Any, Final, cast

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, JSONRPCError
from pydantic import ValidationError

from stepwire_client.errors import SignInNeeded

KIND: Final = "stepwire_client/kind"
"""In the `data` of an error: what sort of failure it stands for."""
RETRY_AFTER: Final = "stepwire_client/retryAfter"
STATUS: Final = "stepwire_client/status"
NOT_CONNECTED: Final = "not_connected"
BUSY: Final = "busy"
SIGN_IN: Final = "sign_in"
NOT_MCP: Final = "not_mcp"

_SECONDS: Final = httpx2.Timeout(30.0, read=300.0)  # as the library's own client: a server may hold a stream open
_OFFERED: Final = ("application/json", "text/event-stream")
_BUSY: Final = frozenset({429, 502, 503, 504})


class McpHttpClient(httpx2.AsyncClient):
    """Sends requests, and answers for a server that does not."""

    def __init__(self, *, headers: dict[str, str] | None = None, auth: httpx2.Auth | None = None) -> None:
        super().__init__(headers=headers, auth=auth, timeout=_SECONDS)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; never raise for what the network or the server does."""
        try:
            response = await super().send(request, **options)
            return await _explained(response)
        except (SignInNeeded, OAuthFlowError) as error:
            return _answer(request, 401, SIGN_IN, str(error) or "The sign-in failed.")
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            host = request.url.copy_with(userinfo=b"", query=None)
            return _answer(request, 503, NOT_CONNECTED, f"{host} cannot be reached: {_in_words(error)}.")


async def _explained(response: httpx2.Response) -> httpx2.Response:
    """Return a response as it is, or one that says why it is of no use."""
    status = response.status_code
    if status < HTTPStatus.BAD_REQUEST:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.request.method != "POST" or status != HTTPStatus.OK or kind in _OFFERED:
            return response
        await response.aclose()
        return _answer(response.request, 400, NOT_MCP, f"It answers with {kind or 'no content type'}, not as MCP does.")
    if response.request.method != "POST":
        return response
    body = await response.aread()
    return _of_an_error(response, _error_in(body))


def _of_an_error(response: httpx2.Response, said: JSONRPCError | None) -> httpx2.Response:
    request, status = response.request, response.status_code
    words = said.error.message if said else f"It answers with {status} {response.reason_phrase}."
    if status in (401, 403):
        return _answer(request, status, SIGN_IN, words, said)
    if status in _BUSY:
        return _answer(request, status, BUSY, words, said, _seconds_in(response.headers.get("retry-after")))
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
    data = {**(cast("dict[str, Any]", more) if isinstance(more, dict) else {}), KIND: kind, STATUS: status}
    error = {"code": code, "message": words, "data": {**data, RETRY_AFTER: retry_after}}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    return httpx2.Response(status, request=request, headers={"content-type": "application/json"}, content=body)


def _seconds_in(header: str | None) -> float | None:
    """Read `Retry-After`, where it is a number of seconds."""
    return float(header) if header is not None and header.isdecimal() else None


def _in_words(error: Exception) -> str:
    words = str(error) or type(error).__name__
    return words.rstrip(".")
