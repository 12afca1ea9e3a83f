"""The client of `stepwire_client` runs tasks from start to end, at 2026-07-28."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import TextContent

from stepwire_client import CallFailed, TaskCancelled, TaskClient, UnknownTask, Working, connect

pytestmark = pytest.mark.anyio
TOOL = "wait_and_echo"
TOOL_ERROR = {"message": "x", "error": "Shop.Closed", "cause": "Come back tomorrow."}


@pytest.fixture
def seen() -> list[Any]:
    """The statuses of its tasks that the client has seen."""
    return []


@pytest.fixture
async def client(url: str) -> AsyncIterator[TaskClient]:
    """A client with tasks, in an open session."""
    async with connect(url) as client:
        yield client


async def test_a_task_runs_to_its_result(client: TaskClient, seen: list[Any]) -> None:
    result = await client.call_tool(TOOL, {"message": "hello", "seconds": 1}, watch=seen.append)

    assert client.protocol_version == "2026-07-28"
    assert result.structured_content == {"message": "hello", "waited_seconds": 1}
    assert [state.status for state in seen][:1] == ["working"]
    assert [state.status for state in seen][-1] == "completed"
    assert len({state.task_id for state in seen}) == 1


async def test_a_cancelled_task_has_no_result(client: TaskClient) -> None:
    handle = await start(client, {"message": "never", "seconds": 3600})

    await client.cancel_task(handle.task_id)

    with pytest.raises(TaskCancelled):
        await client.task_result(handle.task_id)


async def test_a_cancel_that_comes_too_late_changes_nothing(client: TaskClient) -> None:
    handle = await start(client, {"message": "done"})
    await client.task_result(handle.task_id)

    await client.cancel_task(handle.task_id)

    assert (await client.get_task(handle.task_id)).status == "completed"


async def test_a_tool_error_is_a_completed_task(client: TaskClient, seen: list[Any]) -> None:
    result = await client.call_tool(TOOL, TOOL_ERROR, watch=seen.append)

    assert seen[-1].status == "completed"
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert "Shop.Closed" in result.content[0].text
    assert "Come back tomorrow." in result.content[0].text


async def test_a_protocol_error_is_a_failed_task(client: TaskClient, seen: list[Any]) -> None:
    error = {"code": 4001, "message": "Not for you.", "data": {"retry": False}}
    arguments = {"message": "x", "error": "Stepwire.ProtocolError", "cause": json.dumps(error)}

    with pytest.raises(CallFailed) as raised:
        await client.call_tool(TOOL, arguments, watch=seen.append)

    assert seen[-1].status == "failed"
    assert raised.value.error.model_dump() == error


@pytest.mark.long
async def test_another_client_continues_a_task_by_its_id(client: TaskClient, url: str) -> None:
    handle = await start(client, {"message": "shared", "seconds": 1})

    async with connect(url) as other:
        result = await other.task_result(handle.task_id)

    assert result.structured_content == {"message": "shared", "waited_seconds": 1}


async def test_an_unknown_task_is_an_error(client: TaskClient) -> None:
    with pytest.raises(UnknownTask) as raised:
        await client.get_task("nobody-knows-it")

    assert raised.value.error.code == -32602


async def test_a_client_without_the_extension_gets_the_result_itself(url: str) -> None:
    async with Client(f"{url}?rounds=1") as client:
        result = await client.call_tool(TOOL, {"message": "plain", "seconds": 1})

    assert result.structured_content == {"message": "plain", "waited_seconds": 1}


async def test_the_same_library_gets_a_result_in_the_legacy_era(url: str) -> None:
    async with Client(url, mode="legacy") as client:
        version = client.protocol_version
        result = await client.call_tool(TOOL, {"message": "plain"})

    assert version == "2025-11-25"
    assert result.structured_content == {"message": "plain", "waited_seconds": 0}


async def start(client: TaskClient, arguments: dict[str, Any]) -> Working:
    handle = await client.create_task(TOOL, arguments)
    assert isinstance(handle, Working)
    return handle


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"region": "eu-central-1", "count": -7, "sure": False},
        {"region": " grün "},
        pytest.param({"region": ""}, marks=pytest.mark.long),
    ],
)
async def test_a_client_repeats_parameters_in_headers(own_url: str, arguments: dict[str, Any]) -> None:
    async with Client(own_url) as client:
        await client.list_tools()

        result = await client.call_tool("parrot_by_header", arguments)

    assert result.structured_content == arguments


async def test_a_client_without_the_tool_list_learns_the_headers_from_a_refusal(own_url: str) -> None:
    async with Client(own_url) as client:
        result = await client.call_tool("parrot_by_header", {"region": "a"})

    assert result.structured_content == {"region": "a"}
