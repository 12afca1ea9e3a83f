"""The HTTP front: serves an HTTP API (or another application) on 127.0.0.1, in a thread of its own.

The rule: only requests that name this very endpoint as their host get in. API Gateway finds an API by its host name,
so a foreign name would not arrive there either; here it also keeps a web page from reaching the endpoint under a name
of its own.
"""

import asyncio
import contextlib
import json
import socket
import threading
import uuid
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import uvicorn

from local import cors, http_api, jwt_tokens
from local.errors import LocalStackError, PortInUse
from local.functions import PAYLOAD_LIMIT
from local.http_api import HttpApi, Match, Request, Response
from local.issuers import Issuer
from local.jwt_tokens import InvalidToken, JwtAuthorizer

# Requests that are answered at the same time; later ones wait. In AWS an account has 1,000.
CONCURRENCY = 200

HOST = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost", "[::1]")
_STARTING = 10.0  # seconds

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Gateway:
    """The ASGI application in front of one HTTP API."""

    def __init__(self, api: HttpApi, port: int) -> None:
        self._api = api
        self._hosts = frozenset(f"{name}:{port}" for name in NAMES)
        self._places = asyncio.Semaphore(CONCURRENCY)
        authorizers = [route.authorizer for route in api.routes if route.authorizer]
        self._issuers = {authorizer.issuer: Issuer(authorizer.issuer) for authorizer in authorizers}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            await reply(send, await self._answer(scope, receive))

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        """1. The host: what is meant for another API is none of ours; 2. sizes; 3. the route and who may use it."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value.lower() for name, value in headers if name == "host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return http_api.FORBIDDEN
        if _size(scope) > http_api.HEADERS_LIMIT:
            return http_api.HEADERS_TOO_LARGE
        source = scope["client"][0] if scope.get("client") else HOST
        path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
        request = Request(scope["method"], path, query, headers, b"", source)
        match = await self._admit(request)
        if isinstance(match, Response):
            return match
        body = await read(receive, http_api.BODY_LIMIT)
        return http_api.TOO_LARGE if body is None else await self._invoke(match, replace(request, body=body))

    async def _admit(self, request: Request) -> Match | Response:
        """Return the route for a request, with its caller, or the answer of API Gateway's own.

        1. The route; a page's preflight needs none, and gets past any but one whose sign-in it cannot have (a
        `$default` or `ANY` route); 2. a token, where the route wants one; 3. one that holds; 4. the route's scopes.
        """
        match = http_api.find_route(self._api.routes, request.method, request.path)
        asked = self._api.cors is not None and cors.is_preflight(request.method, request.headers)
        if self._api.cors and asked and (match is None or match.route.authorization == "NONE"):
            return Response(204, cors.preflight(self._api.cors, request.headers))
        if match is None:
            return http_api.NOT_FOUND
        if refusal := http_api.refusal(match.route):
            return refusal
        return match if match.route.authorizer is None else await self._sign_in(match, match.route.authorizer, request)

    async def _sign_in(self, match: Match, authorizer: JwtAuthorizer, request: Request) -> Match | Response:
        token = jwt_tokens.token_of(authorizer.source, request.headers, request.query)
        if token is None:
            return http_api.unauthorized(None)
        keys = self._issuers[authorizer.issuer].keys
        try:
            # In a thread: the keys may have to be fetched.
            caller = await asyncio.to_thread(jwt_tokens.sign_in, token, authorizer, keys, datetime.now(UTC))
        except InvalidToken as error:
            return http_api.unauthorized(str(error))
        if not jwt_tokens.may_use(caller, match.route.scopes):
            return http_api.out_of_scope(match.route)
        return replace(match, caller=caller)

    async def _invoke(self, match: Match, request: Request) -> Response:
        event = http_api.event(self._api, match, request, request_id=str(uuid.uuid4()), at=datetime.now(UTC))
        payload = json.dumps(event)
        if len(payload) > PAYLOAD_LIMIT:
            return http_api.TOO_LARGE
        integration = match.route.integration
        async with self._places:
            outcome = asyncio.wrap_future(integration.function.start(payload))
            try:
                response = http_api.response(await asyncio.wait_for(asyncio.shield(outcome), integration.timeout))
            except TimeoutError:
                return http_api.SERVICE_UNAVAILABLE
        if self._api.cors is None:
            return response
        return replace(response, headers=cors.of_response(self._api.cors, request.headers, response.headers))


def _size(scope: Scope) -> int:
    line = len(scope["raw_path"]) + len(scope["query_string"])
    return line + sum(len(name) + len(value) + 4 for name, value in scope["headers"])


async def reply(send: Send, response: Response) -> None:
    """Send a response."""
    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in response.headers]
    if response.status >= 200 and response.status not in (204, 304):  # noqa: PLR2004  # those that may have a body
        headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


async def read(receive: Receive, limit: int) -> bytes | None:
    """Return the body, or None when it is over so many bytes."""
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
        PortInUse: somebody else has it.
    """
    # The protocol is named so that asyncio recognises TCP and sends at once: otherwise each answer waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        raise PortInUse(
            f"Port {port} of {host} cannot be had: {error}. Choose another, or 0 for any free one."
        ) from error
    return listener


@contextmanager
def serving(application: Application, listener: socket.socket) -> Generator[None]:
    """Serve until the block ends; then cut what still waits."""
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
