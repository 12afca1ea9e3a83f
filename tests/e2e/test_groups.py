"""Released clients use groups of tools and discovery: by the query and by the path, in both eras."""

from typing import Any, Final

import pytest
from mcp.client import Client
from mcp_types import ElicitResult

from stepwire_client import connect

pytestmark = [pytest.mark.anyio, pytest.mark.long]
OWN: Final = {"find_tools", "call_tool", "task_answer", "task_cancel", "task_list", "task_result"}
ECHO: Final = {"message": "hello", "waited_seconds": 0}
REFUND: Final = {"order_id": "A-1002", "amount": "100.00", "currency": "EUR", "reason": "It wobbles."}


async def approve(context: object, params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"amount": 60})


async def names(client: Any) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools} - OWN


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("suffix", ["?group=waiting", "/group/waiting", "?tools=wait_and_echo", "/tools/wait_and_echo"])
async def test_a_client_sees_and_calls_what_its_url_selects(url: str, suffix: str, mode: Any) -> None:
    async with Client(url + suffix, mode=mode) as client:
        shown = await names(client)
        result = await client.call_tool("wait_and_echo", {"message": "hello"})

    assert shown == {"wait_and_echo"}
    assert result.structured_content == ECHO


async def test_a_slash_at_the_end_of_the_url_says_nothing(url: str) -> None:
    async with Client(url) as client, Client(f"{url}/") as other:
        assert await names(client) == await names(other) != set()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("suffix", ["?discover=1", "/discover/1"])
async def test_a_client_finds_a_tool_calls_it_and_is_asked_its_question(url: str, suffix: str, mode: Any) -> None:
    async with Client(url + suffix, mode=mode, elicitation_callback=approve) as client:
        shown = await names(client)
        found: Any = (await client.call_tool("find_tools", {"query": "refund an order"})).structured_content
        name: str = found["tools"][0]["name"]
        result = await client.call_tool("call_tool", {"name": name, "arguments": REFUND})

    assert shown == set()
    assert name == "approve_refund"
    assert (result.structured_content or {})["refunded"] == "60.00"


async def test_a_client_with_tasks_gets_the_task_of_the_tool_that_it_found(url: str) -> None:
    seen: list[Any] = []

    async with connect(f"{url}?group=waiting&discover=1") as client:
        arguments = {"name": "wait_and_echo", "arguments": {"message": "hello", "seconds": 1}}
        result = await client.call_tool("call_tool", arguments, watch=seen.append)

    assert seen[-1].status == "completed"
    assert result.structured_content == {"message": "hello", "waited_seconds": 1}
