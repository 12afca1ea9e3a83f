"""The client works with other servers: task servers made with the released SDKs, without Stepwire."""

import pytest
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from stepwire_client import (
    Callbacks,
    CallFailed,
    Cancelled,
    Completed,
    InputRequired,
    TaskClientError,
    UnknownTask,
    Working,
    connect,
)

pytestmark = pytest.mark.anyio


async def accept(params: ElicitRequestParams) -> ElicitResult:
    """Answer every question."""
    assert params.message == "How many?"
    return ElicitResult(action="accept", content={"amount": 5})


def text_of(result: object) -> str:
    """Return the text of a result."""
    assert isinstance(result, CallToolResult)
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


async def test_a_task_is_followed_to_its_result(theirs: str) -> None:
    async with connect(theirs) as client:
        *states, result = [state async for state in client.stream_tool("count", {"polls": 3})]

    assert {type(state) for state in states[:-1]} == {Working}
    assert isinstance(states[-1], Completed)
    assert text_of(result) == "counted"


async def test_a_tool_without_tasks_is_called_plainly(theirs: str) -> None:
    async with connect(theirs) as client:
        result = await client.call_tool("plain")

    assert text_of(result) == "at once"


async def test_a_question_is_answered(theirs: str) -> None:
    async with connect(theirs, callbacks=Callbacks(elicit=accept)) as client:
        *states, result = [state async for state in client.stream_tool("ask")]

    assert any(isinstance(state, InputRequired) for state in states)
    assert text_of(result).replace(" ", "") == '{"amount":5}'


async def test_a_task_can_be_continued_by_its_id(theirs: str) -> None:
    async with connect(theirs) as client:
        task = await client.create_task("count", {"polls": 5})
        assert isinstance(task, Working)
        # In the same session, because `mcp` 1.30 shows a task only to the session that created it.
        result = await client.task_result(task.task_id)
        listed = await client.list_tasks()

    assert text_of(result) == "counted"
    assert task.task_id in [entry.task_id for entry in listed.tasks]


async def test_a_task_is_cancelled(theirs: str) -> None:
    async with connect(theirs) as client:
        task = await client.create_task("count", {"polls": 1_000_000})
        assert isinstance(task, Working)
        await client.cancel_task(task.task_id)

        assert isinstance(await client.get_task(task.task_id), Cancelled)


async def test_a_failed_task_has_its_error(theirs: str) -> None:
    async with connect(theirs) as client:
        try:
            said = text_of(await client.call_tool("broken"))
        except CallFailed as failed:  # `mcp` 1.30 keeps no result of a tool that raises
            said = str(failed)

    assert said == "it broke"


async def test_an_unknown_task_has_its_own_error(theirs: str) -> None:
    async with connect(theirs) as client:
        with pytest.raises(TaskClientError) as raised:
            await client.get_task("nobody-knows-it")

    assert isinstance(raised.value, UnknownTask)
