"""Released clients use groups of tools: by the query and by the path, in both eras."""

from typing import Any, Final

import pytest
from mcp.client import Client

pytestmark = [pytest.mark.anyio, pytest.mark.long]
OWN: Final = {"task_answer", "task_cancel", "task_list", "task_result"}
ECHO: Final = {"message": "hello", "waited_seconds": 0}


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
