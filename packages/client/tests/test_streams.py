"""What the streams of a connection do that no server can be made to show at the same moment each time."""

from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from stepwire_client.streams import streams

pytestmark = pytest.mark.anyio
URL = "http://127.0.0.1:9/mcp"
RESPONSE: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_a_response_that_arrives_while_the_connection_closes_ends_it_without_an_error() -> None:
    closes, is_answered = anyio.Event(), anyio.Event()

    async def served(request: httpx2.Request) -> httpx2.Response:
        if request.method == "DELETE":
            closes.set()
            await is_answered.wait()
            for _ in range(100):  # the response below passes through the transport meanwhile
                await anyio.lowlevel.checkpoint()
            return httpx2.Response(200)
        if b"initialize" in request.content:
            return httpx2.Response(200, json=RESPONSE, headers={"mcp-session-id": "one"})
        await closes.wait()
        is_answered.set()
        return httpx2.Response(200, json={**RESPONSE, "id": 2})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(served))
    async with streams(URL, http, 1_000) as (incoming, outgoing), incoming, outgoing:
        await outgoing.send(request(1, "initialize"))
        await incoming.receive()
        await outgoing.send(request(2, "tools/call"))

    assert is_answered.is_set()


def request(number: int, method: str) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params={}))
