"""Mistakes in what a client's user appends to the endpoint's URL."""

import json

import pytest

from stepwire.principal import Caller
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
def test_an_invalid_value_is_refused_at_initialize_with_the_valid_ones(query: str) -> None:
    world = World()

    response = world.server.handle(
        HttpRequest("POST", PLAIN_HEADERS, json.dumps(INITIALIZE).encode(), Caller(ALICE), query=query)
    )

    error = json.loads(response.body)["error"]
    assert (response.status, error["code"]) == (200, -32602)
    assert "resume in the URL must be given once, as 1 or 0" in error["message"]
    assert "mcp-session-id" not in response.headers


@pytest.mark.parametrize("query", ["", "x=1", "%ff=%", "&&&", "resumed"])
def test_other_query_parameters_are_ignored(query: str) -> None:
    world = World()

    response = world.server.handle(
        HttpRequest("POST", PLAIN_HEADERS, json.dumps(INITIALIZE).encode(), Caller(ALICE), query=query)
    )

    assert response.status == 200
    assert "mcp-session-id" in response.headers
