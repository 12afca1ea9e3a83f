"""The HTTP server: serves an API (or another application) on 127.0.0.1, in its own thread.

The rule: only requests whose host is this machine are served, on any port, because the port may be forwarded. API
Gateway routes by host name too, so a foreign name would not arrive there either. Here the rule also stops DNS
rebinding by web pages.
"""

import asyncio
import contextlib
import errno
import json
import logging
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import uvicorn

from stepwire_local.errors import LocalStackError, PortInUse
from stepwire_local.gateway import (
    cors,
    function_authorizers,
    header_changes,
    http_api,
    jwt_tokens,
    payloads,
    signatures,
)
from stepwire_local.gateway.exchanges import Exchange
from stepwire_local.gateway.function_authorizers import Broken, Denied, FunctionAuthorizer, Unauthorized
from stepwire_local.gateway.http_api import Api, Match, Request, Response
from stepwire_local.gateway.issuers import Issuer
from stepwire_local.gateway.jwt_tokens import InvalidToken, JwtAuthorizer
from stepwire_local.gateway.loopback import is_loopback
from stepwire_local.gateway.signatures import SignatureAuthorizer
from stepwire_local.lambdas.invocations import PAYLOAD_LIMIT

logger = logging.getLogger(__name__)

# Requests that are answered at the same time; later ones wait. In AWS an account has 1,000.
CONCURRENCY = 200

HOST = "127.0.0.1"
_STARTING = 10.0  # seconds

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Tell = Callable[[Exchange], None]


def tell_nobody(_exchange: Exchange) -> None:
    """Ignore an exchange."""


class Gateway:
    """The ASGI application in front of one API.

    `tell` gets each request and its response, after the response was sent.
    """

    def __init__(self, api: Api, tell: Tell = tell_nobody) -> None:
        self._api = api
        self._tell = tell
        self._places = asyncio.Semaphore(CONCURRENCY)
        issuers = {route.authorizer.issuer for route in api.routes if isinstance(route.authorizer, JwtAuthorizer)}
        self._issuers = {issuer: Issuer(issuer) for issuer in issuers}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        at, began = datetime.now().astimezone(), time.monotonic()
        answered = await self._answer(_request(scope), receive)
        await reply(send, answered.response)
        took = time.monotonic() - began
        self._report(Exchange(answered.request, answered.response, at, took, answered.route))

    async def _answer(self, request: Request, receive: Receive) -> "_Answered":
        """Check 1. the host: requests to another host are not ours; 2. the sizes; 3. the route and access to it."""
        hosts = [value for name, value in request.headers if name == "host"]
        if len(hosts) != 1 or not is_loopback(hosts[0]):
            return _Answered(request, http_api.FORBIDDEN)
        if _size(request) > http_api.HEADERS_LIMIT:
            return _Answered(request, http_api.HEADERS_TOO_LARGE)
        match = await self._admit(request)
        if isinstance(match, Response):
            return _Answered(request, match)
        route, body = match.route.key, await read(receive, http_api.BODY_LIMIT)
        if body is None:
            return _Answered(request, http_api.TOO_LARGE, route)
        whole = replace(request, body=body)
        return _Answered(whole, await self._invoke(match, whole), route)

    def _report(self, exchange: Exchange) -> None:
        try:
            self._tell(exchange)
        except Exception:
            logger.exception("A request could not be written down.")

    async def _admit(self, request: Request) -> Match | Response:
        """Return the route for a request, with its caller, or API Gateway's own response.

        1. The route: a CORS preflight needs none; only a `$default` or `ANY` route that requires sign-in stops it;
        2. a token, if the route requires one; 3. its validity; 4. the route's scopes.
        """
        found = self._api.match(request.method, request.path)
        asked = self._api.cors is not None and cors.is_preflight(request.method, request.headers)
        if self._api.cors and asked and (found is None or found.route.authorization == "NONE"):
            return Response(204, cors.preflight(self._api.cors, request.headers))
        if found is None:
            return self._api.replies.no_route
        return http_api.refusal(found.route) or await self._authorize(found, request)

    async def _authorize(self, found: Match, request: Request) -> Match | Response:
        match found.route.authorizer:
            case None:
                return found
            case FunctionAuthorizer() as authorizer:
                return await self._ask(found, authorizer, request)
            case SignatureAuthorizer() as authorizer:
                caller = signatures.caller_of(authorizer, request.headers, request.query)
                return http_api.FORBIDDEN if caller is None else replace(found, context=caller)
            case JwtAuthorizer() as authorizer:
                return await self._sign_in(found, authorizer, request)

    async def _ask(self, match: Match, authorizer: FunctionAuthorizer, request: Request) -> Match | Response:
        """Ask a function authorizer about a request."""
        api = self._api
        arn = f"arn:aws:execute-api:{api.region}:{api.account}:{api.id}/{api.stage}/{request.method}{match.path}"
        try:
            token = function_authorizers.token_in(authorizer, request.headers)
            event = json.dumps(function_authorizers.event(token, arn))
            outcome = await asyncio.wrap_future(authorizer.function.start(event))
            return replace(match, context=function_authorizers.context_in(outcome, arn))
        except Unauthorized:
            return api.replies.unauthorized
        except Denied:
            return api.replies.denied
        except Broken:
            return api.replies.broken

    async def _sign_in(self, match: Match, authorizer: JwtAuthorizer, request: Request) -> Match | Response:
        token = jwt_tokens.token_of(authorizer.source, request.headers, request.query)
        if token is None:
            return http_api.unauthorized(None)
        keys = self._issuers[authorizer.issuer].keys
        try:
            # In a thread, because it may fetch the keys.
            caller = await asyncio.to_thread(jwt_tokens.sign_in, token, authorizer, keys, datetime.now(UTC))
        except InvalidToken as error:
            return http_api.unauthorized(str(error))
        if not jwt_tokens.may_use(caller, match.route.scopes):
            return http_api.out_of_scope(match.route)
        return replace(match, caller=caller)

    async def _invoke(self, match: Match, request: Request) -> Response:
        integration = match.route.integration
        if isinstance(integration, Response):
            return integration
        event = payloads.event(self._api, match, request, request_id=str(uuid.uuid4()), at=datetime.now(UTC))
        payload = json.dumps(event)
        if len(payload) > PAYLOAD_LIMIT:
            return http_api.TOO_LARGE
        async with self._places:
            started = asyncio.wrap_future(integration.function.start(payload))
            try:
                outcome = await asyncio.wait_for(asyncio.shield(started), integration.timeout)
            except TimeoutError:
                return self._api.replies.timed_out
        response = payloads.response(outcome, self._api, integration)
        changes = integration.header_changes
        response = replace(response, headers=header_changes.changed(response.status, response.headers, changes))
        if self._api.cors is None:
            return response
        return replace(response, headers=cors.of_response(self._api.cors, request.headers, response.headers))


@dataclass(frozen=True)
class _Answered:
    request: Request  # with its body, if that was read
    response: Response
    route: str = ""


def _request(scope: Scope) -> Request:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    source = scope["client"][0] if scope.get("client") else HOST
    return Request(scope["method"], path, query, headers, b"", source)


def _size(request: Request) -> int:
    line = len(request.path) + len(request.query)
    return line + sum(len(name) + len(value) + 4 for name, value in request.headers)


async def reply(send: Send, response: Response) -> None:
    """Send a response."""
    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in response.headers]
    if response.status >= 200 and response.status not in (204, 304):  # noqa: PLR2004  # those that may have a body
        headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


async def read(receive: Receive, limit: int) -> bytes | None:
    """Return the body; None if it is longer than so many bytes."""
    body = bytearray()
    while True:
        part = await receive()
        body += part.get("body", b"")
        if len(body) > limit:
            return None
        if not part.get("more_body"):
            return bytes(body)


def listen(port: int, host: str = HOST) -> socket.socket:
    """Take the port (0: any free one) at an IPv4 address of this machine.

    Raises:
        PortInUse: another process has the port, or the address is not available.
    """
    # Name the protocol, so that asyncio recognises TCP and sets TCP_NODELAY: otherwise each response waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        raise PortInUse(_why_not(port, host, error)) from error
    return listener


def _why_not(port: int, host: str, error: OSError | OverflowError) -> str:
    in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    reason = "in use" if in_use else f"not available ({getattr(error, 'strerror', None) or error})"
    return f"Port {port} of {host} is {reason}. Choose another, as `make run PORT=3001` does; 0 is any free one."


@contextmanager
def serving(application: Application, listener: socket.socket) -> Generator[None]:
    """Serve until the block ends; then drop the requests that still wait."""
    config = uvicorn.Config(
        application,
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=4 * http_api.HEADERS_LIMIT,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=_run, args=(server, listener), name="http", daemon=True)
    thread.start()
    try:
        _await_start(server, thread)
        yield
    finally:
        server.should_exit = True
        thread.join(timeout=5)
        listener.close()


def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(server.serve(sockets=[listener]))


def _await_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    for _ in range(int(_STARTING / 0.005)):
        if server.started:
            return
        thread.join(timeout=0.005)
        if not thread.is_alive():
            break
    raise LocalStackError("The HTTP server did not start.")
