"""The endpoint starts on a local stack, and answers a client."""

import json
import urllib.request
from pathlib import Path

from stepwire_local import LocalStack

TEMPLATE = Path(__file__).parents[1] / "template.yaml"


def test_a_client_initializes_and_lists_the_tools() -> None:
    with LocalStack(TEMPLATE) as stack:
        client = {"name": "a test", "version": "1"}
        begun = post(stack.url, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        listed = post(stack.url, "tools/list")

    assert begun["protocolVersion"] == "2025-11-25"
    assert [tool["name"] for tool in listed["tools"] if not tool["name"].startswith("task_")] == []


def post(url: str, method: str, **params: object) -> dict:
    """Send a request of MCP 2025-11-25, and return its result."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["result"]
