"""What a client's user may put behind the endpoint's URL by mistake."""

import json

import pytest

from stepwire.protocol.http import HttpRequest
from tests.kits import ALICE, World
from tests.server.clients import PLAIN_HEADERS

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "mcp", "version": "1"}},
}


@pytest.mark.parametrize("query", ["resume=maybe", "resume=", "resume=1&resume=0"])
def test_a_word_that_means_nothing_is_refused_when_the_client_connects_and_says_what_is_right(query: str) -> None:
    world = World()

    response = world.server.handle(
        HttpRequest("POST", PLAIN_HEADERS, json.dumps(INITIALIZE).encode(), ALICE, query=query)
    )

    error = json.loads(response.body)["error"]
    assert (response.status, error["code"]) == (200, -32602)
    assert "resume in the URL must be given once, as 1 or 0" in error["message"]
    assert "mcp-session-id" not in response.headers


@pytest.mark.parametrize("query", ["", "x=1", "%ff=%", "&&&", "resumed"])
def test_any_other_query_changes_nothing(query: str) -> None:
    world = World()

    response = world.server.handle(
        HttpRequest("POST", PLAIN_HEADERS, json.dumps(INITIALIZE).encode(), ALICE, query=query)
    )

    assert response.status == 200
    assert "mcp-session-id" in response.headers
