"""`mcp` 2.3 with the tasks extension of `examples/tasks_client.py` runs tasks from start to end, at 2026-07-28."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import MCPError
from mcp.client import Client
from mcp_types import TextContent

from examples.tasks_client import TaskCancelled, TaskHandle, Tasks, cancel_task, get_task, wait_for_task

pytestmark = pytest.mark.anyio
TOOL = "wait_and_echo"


@pytest.fixture
def seen() -> list[Any]:
    """The statuses of its tasks that the client has seen."""
    return []


@pytest.fixture
async def client(url: str, seen: list[Any]) -> AsyncIterator[Client]:
    """A client with tasks, in an open session."""
    async with Client(url, extensions=[Tasks(watch=seen.append)]) as client:
        yield client


async def test_a_task_runs_to_its_result(client: Client, seen: list[Any]) -> None:
    result = await client.call_tool(TOOL, {"message": "hello", "seconds": 1})

    assert client.protocol_version == "2026-07-28"
    assert result.structured_content == {"message": "hello", "waited_seconds": 1}
    assert [state.status for state in seen][:1] == ["working"]
    assert [state.status for state in seen][-1] == "completed"
    assert len({state.task_id for state in seen}) == 1


async def test_a_cancelled_task_has_no_result(client: Client) -> None:
    handle = await start(client, {"message": "never", "seconds": 3600})

    await cancel_task(client.session, handle.task_id)

    with pytest.raises(TaskCancelled):
        await wait_for_task(client.session, handle)


async def test_a_cancel_that_comes_too_late_changes_nothing(client: Client) -> None:
    handle = await start(client, {"message": "done"})
    await wait_for_task(client.session, handle)

    await cancel_task(client.session, handle.task_id)

    assert (await get_task(client.session, handle.task_id)).status == "completed"


async def test_a_tool_error_is_a_completed_task(client: Client, seen: list[Any]) -> None:
    result = await client.call_tool(TOOL, {"message": "x", "error": "Shop.Closed", "cause": "Come back tomorrow."})

    assert seen[-1].status == "completed"
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert "Shop.Closed" in result.content[0].text
    assert "Come back tomorrow." in result.content[0].text


async def test_a_protocol_error_is_a_failed_task(client: Client, seen: list[Any]) -> None:
    error = {"code": 4001, "message": "Not for you.", "data": {"retry": False}}

    with pytest.raises(MCPError) as raised:
        await client.call_tool(TOOL, {"message": "x", "error": "Stepwire.ProtocolError", "cause": json.dumps(error)})

    assert seen[-1].status == "failed"
    assert raised.value.error.model_dump() == error


async def test_another_client_continues_a_task_by_its_id(client: Client, url: str) -> None:
    handle = await start(client, {"message": "shared", "seconds": 1})

    async with Client(url, extensions=[Tasks()]) as other:
        result = await wait_for_task(other.session, handle)

    assert result.structured_content == {"message": "shared", "waited_seconds": 1}


async def test_an_unknown_task_is_an_error(client: Client) -> None:
    with pytest.raises(MCPError) as raised:
        await get_task(client.session, "nobody-knows-it")

    assert raised.value.error.code == -32602


async def test_a_client_without_the_extension_gets_the_result_itself(url: str) -> None:
    async with Client(url) as client:
        result = await client.call_tool(TOOL, {"message": "plain", "seconds": 1})

    assert result.structured_content == {"message": "plain", "waited_seconds": 1}


async def test_the_same_library_gets_a_result_in_the_legacy_era(url: str) -> None:
    async with Client(url, mode="legacy") as client:
        version = client.protocol_version
        result = await client.call_tool(TOOL, {"message": "plain"})

    assert version == "2025-11-25"
    assert result.structured_content == {"message": "plain", "waited_seconds": 0}


async def start(client: Client, arguments: dict[str, Any]) -> TaskHandle:
    handle = await client.session.call_tool(TOOL, arguments, allow_claimed=True)
    assert isinstance(handle, TaskHandle)
    return handle


@pytest.mark.parametrize(
    "arguments", [{}, {"region": "eu-central-1", "count": -7, "sure": False}, {"region": " grün "}, {"region": ""}]
)
async def test_a_client_repeats_parameters_in_headers(own_url: str, arguments: dict[str, Any]) -> None:
    async with Client(own_url) as client:
        await client.list_tools()

        result = await client.call_tool("parrot", arguments)

    assert result.structured_content == arguments


async def test_a_client_without_the_tool_list_learns_the_headers_from_a_refusal(own_url: str) -> None:
    async with Client(own_url) as client:
        result = await client.call_tool("parrot", {"region": "a"})

    assert result.structured_content == {"region": "a"}
