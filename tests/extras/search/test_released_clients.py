"""Released clients search for tools: by the query and by the path, in both eras."""

from typing import Any, Final

import pytest
from mcp.client import Client
from mcp_types import ElicitResult

from stepwire.extras.search import CALL_TOOL, FIND_TOOL
from stepwire_client import connect
from tests.integration.over_http.test_groups import names

pytestmark = [pytest.mark.anyio, pytest.mark.long]
REFUND: Final = {"order_id": "A-1002", "amount": "100.00", "currency": "EUR", "reason": "It wobbles."}


async def approve(context: object, params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"amount": 60})


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("suffix", ["?discover=1", "/discover/1"])
async def test_a_client_finds_a_tool_calls_it_and_is_asked_its_question(url: str, suffix: str, mode: Any) -> None:
    async with Client(url + suffix, mode=mode, elicitation_callback=approve) as client:
        shown = await names(client)
        found: Any = (await client.call_tool("find_tools", {"query": "refund an order"})).structured_content
        name: str = found["tools"][0]["name"]
        result = await client.call_tool("call_tool", {"name": name, "arguments": REFUND})

    assert shown == {FIND_TOOL, CALL_TOOL}
    assert name == "approve_refund"
    assert (result.structured_content or {})["refunded"] == "60.00"


async def test_a_client_with_tasks_gets_the_task_of_the_tool_that_it_found(url: str) -> None:
    seen: list[Any] = []

    async with connect(f"{url}?group=waiting&discover=1") as client:
        arguments = {"name": "wait_and_echo", "arguments": {"message": "hello", "seconds": 1}}
        result = await client.call_tool("call_tool", arguments, watch=seen.append)

    assert seen[-1].status == "completed"
    assert result.structured_content == {"message": "hello", "waited_seconds": 1}
