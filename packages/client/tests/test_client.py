"""The client against Stepwire in both eras: tasks, questions, resuming by id, and errors."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import pytest
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    Root,
    TextContent,
)
from pydantic import FileUrl

from packages.client.tests.conftest import NOBODY, Story
from stepwire_client import (
    Callbacks,
    CallFailed,
    Cancelled,
    Completed,
    InputRequired,
    NotOffered,
    Refused,
    Task,
    TaskCancelled,
    TaskClient,
    Unanswered,
    UnknownTask,
    Working,
    connect,
)
from stepwire_client.client import Mode
from tests.kits import ARGUMENTS, BAD_ARGUMENTS, FORM, OUTPUT, SAMPLING, URL, World

pytestmark = pytest.mark.anyio
each_era = pytest.mark.parametrize("mode", ["auto", "legacy"])
PROTOCOL_ERROR = '{"code": 4001, "message": "Not for you."}'


class User:
    """A user with one fixed answer, who records the questions."""

    def __init__(self, answer: ElicitResult | None = None) -> None:
        self.asked: list[str] = []
        self._answer = answer or ElicitResult(action="accept", content={"amount": 5})

    async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
        """Answer a form or a page."""
        self.asked.append(params.url if isinstance(params, ElicitRequestURLParams) else params.message)
        return ElicitResult(action="accept") if isinstance(params, ElicitRequestURLParams) else self._answer

    async def sample(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        """Answer for the model."""
        self.asked.append("sampling")
        return CreateMessageResult(role="assistant", content=TextContent(text="Paris"), model="m")

    async def roots(self) -> list[Root]:
        """List a folder."""
        self.asked.append("roots")
        return [Root(uri=FileUrl("file:///work"))]

    @property
    def callbacks(self) -> Callbacks:
        """The callbacks for everything it answers."""
        return Callbacks(self.elicit, self.sample, self.roots)


@asynccontextmanager
async def opened(url: str, mode: Mode, story: Story, callbacks: Callbacks = NOBODY) -> AsyncGenerator[TaskClient]:
    """Connect a client that polls by the clock of a story."""
    async with connect(url, mode=mode, pace=story.pace, callbacks=callbacks) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        yield client


def running(world: World) -> str:
    """Return the id of the newest task."""
    return world.workflows.starts[-1].execution.name.rpartition("-")[2]


def when(world: World, act: Callable[[str], object]) -> Callable[[], object]:
    """Do something to the task that is running then."""
    return lambda: act(running(world))


@each_era
async def test_a_call_yields_each_status_and_then_the_result(url: str, world: World, story: Story, mode: Mode) -> None:
    story.happenings = {2: when(world, lambda task_id: world.succeed(task_id, OUTPUT))}

    async with opened(url, mode, story) as client:
        seen = [state async for state in client.stream_tool("structured", ARGUMENTS)]

    *states, result = seen
    assert [type(state) for state in states] == [Working, Working, Completed]
    assert isinstance(result, CallToolResult)
    assert result.structured_content == OUTPUT
    assert story.pauses == [2, 2], "the pauses must be the poll hint of two seconds"


@each_era
async def test_call_tool_returns_the_result_and_reports_each_status(
    url: str, world: World, story: Story, mode: Mode
) -> None:
    story.happenings = {1: when(world, lambda task_id: world.succeed(task_id, OUTPUT))}
    seen = list[Task]()

    async with opened(url, mode, story) as client:
        result = await client.call_tool("optional", ARGUMENTS, watch=seen.append)

    assert result.structured_content == OUTPUT
    assert [state.status for state in seen] == ["working", "completed"]


@each_era
async def test_a_tool_that_is_no_task_is_called_plainly(url: str, world: World, story: Story, mode: Mode) -> None:
    world.clock.on_sleep = when(world, lambda task_id: world.succeed(task_id, OUTPUT))

    async with opened(url, mode, story) as client:
        seen = [state async for state in client.stream_tool("forbidden", ARGUMENTS)]

    assert [type(state) for state in seen] == [CallToolResult]
    assert story.pauses == []


@each_era
async def test_another_client_continues_a_task_by_its_id(url: str, world: World, story: Story, mode: Mode) -> None:
    async with opened(url, mode, story) as client:
        task = await client.create_task("optional", ARGUMENTS)
    assert isinstance(task, Working)
    world.succeed(task.task_id, OUTPUT)

    async with opened(url, mode, story) as client:
        result = await client.task_result(task.task_id)
        states = [state.status async for state in client.follow_task(task.task_id)]

    assert result.structured_content == OUTPUT
    assert states == ["completed"]


@each_era
@pytest.mark.parametrize(
    ("question", "asked"),
    [(FORM, FORM["message"]), (URL, URL["url"])],
    ids=["a form", "a page"],
)
async def test_a_question_is_answered_by_the_callback(
    url: str, world: World, story: Story, mode: Mode, question: Any, asked: str
) -> None:
    def end(task_id: str) -> None:
        if world.workflows.resumptions and world.workflows.running():
            world.succeed(task_id, OUTPUT)

    story.happenings = {1: when(world, lambda task_id: world.ask(task_id, elicitation=question))}
    story.always = when(world, end)
    user = User()

    async with opened(url, mode, story, user.callbacks) as client:
        seen = [state async for state in client.stream_tool("optional", ARGUMENTS)]

    assert user.asked == [asked]
    assert any(isinstance(state, InputRequired) for state in seen)
    assert len(world.workflows.resumptions) == 1


@pytest.mark.parametrize(
    ("question", "asked"), [({"sampling": SAMPLING}, "sampling"), ({"roots": {}}, "roots")], ids=["sampling", "roots"]
)
async def test_sampling_and_roots_are_answered_too(
    url: str, world: World, story: Story, question: Any, asked: str
) -> None:
    story.happenings = {
        1: when(world, lambda task_id: world.ask(task_id, other=question)),
        2: when(world, lambda task_id: world.succeed(task_id, OUTPUT)),
    }
    user = User()

    async with opened(url, "auto", story, user.callbacks) as client:
        await client.call_tool("optional", ARGUMENTS)

    assert user.asked == [asked]


@each_era
async def test_a_question_without_a_callback_ends_the_wait_and_not_the_task(
    url: str, world: World, story: Story, mode: Mode
) -> None:
    async with opened(url, mode, story, User().callbacks) as client:
        task = await client.create_task("optional", ARGUMENTS)
    assert isinstance(task, Working)
    world.ask(task.task_id)

    async with opened(url, mode, story) as client:
        with pytest.raises(Unanswered) as raised:
            await client.task_result(task.task_id)

    assert raised.value.task_id == task.task_id
    assert world.workflows.running()


async def test_questions_can_be_answered_without_callbacks(url: str, world: World, story: Story) -> None:
    async with opened(url, "auto", story, User().callbacks) as client:
        task = await client.create_task("optional", ARGUMENTS)
        assert isinstance(task, Working)
        world.ask(task.task_id)
        asked = await client.get_task(task.task_id)
        assert isinstance(asked, InputRequired)
        key = next(iter(asked.questions))
        await client.update_task(task.task_id, {key: ElicitResult(action="accept", content={"amount": 7})})

    assert world.workflows.resumptions[-1].output is not None
    assert "7" in world.workflows.resumptions[-1].output


@each_era
async def test_a_question_before_the_task_starts_is_answered_too(
    url: str, world: World, story: Story, mode: Mode
) -> None:
    user = User(ElicitResult(action="accept", content={"reason": "why not"}))

    def end() -> None:
        if world.workflows.running():
            world.succeed(running(world), OUTPUT)

    story.always = end

    async with opened(url, mode, story, user.callbacks) as client:
        result = await client.call_tool("confirmed", ARGUMENTS)

    assert user.asked == ['Really do "hello"?']
    assert result.structured_content == OUTPUT


@each_era
async def test_an_error_of_the_tool_is_a_result_in_both_eras(url: str, world: World, story: Story, mode: Mode) -> None:
    story.happenings = {1: when(world, lambda task_id: world.fail(task_id, "Shop.Closed", "Come back tomorrow."))}

    async with opened(url, mode, story) as client:
        seen = [state async for state in client.stream_tool("optional", ARGUMENTS)]

    assert isinstance(seen[-2], Completed)
    assert isinstance(seen[-1], CallToolResult)
    assert seen[-1].is_error


@each_era
async def test_a_protocol_error_is_raised(url: str, world: World, story: Story, mode: Mode) -> None:
    story.happenings = {1: when(world, lambda task_id: world.fail(task_id, "Stepwire.ProtocolError", PROTOCOL_ERROR))}

    async with opened(url, mode, story) as client:
        with pytest.raises(CallFailed) as raised:
            await client.call_tool("optional", ARGUMENTS)

    assert (raised.value.code, raised.value.task_id) == (4001, running(world))


@each_era
async def test_a_cancelled_task_has_no_result(url: str, story: Story, mode: Mode) -> None:
    async with opened(url, mode, story) as client:
        task = await client.create_task("optional", ARGUMENTS)
        assert isinstance(task, Working)
        await client.cancel_task(task.task_id)

        assert isinstance(await client.get_task(task.task_id), Cancelled)
        with pytest.raises(TaskCancelled):
            await client.task_result(task.task_id)


async def test_cancelling_an_ended_task_is_refused_in_the_legacy_era_only(url: str, world: World, story: Story) -> None:
    async with opened(url, "legacy", story) as client:
        task = await client.create_task("optional", ARGUMENTS)
        assert isinstance(task, Working)
        world.succeed(task.task_id, OUTPUT)

        with pytest.raises(Refused) as raised:
            await client.cancel_task(task.task_id)

    assert not isinstance(raised.value, UnknownTask)


@each_era
@pytest.mark.parametrize("request_of", ["get_task", "cancel_task", "task_result"])
async def test_an_unknown_task_has_its_own_error(url: str, story: Story, mode: Mode, request_of: str) -> None:
    async with opened(url, mode, story) as client:
        with pytest.raises(UnknownTask) as raised:
            await getattr(client, request_of)("nobody-knows-it")

    assert raised.value.task_id == "nobody-knows-it"


async def test_refused_arguments_are_reported_as_in_each_era(url: str, story: Story) -> None:
    async with opened(url, "auto", story) as client:
        begun = await client.create_task("optional", BAD_ARGUMENTS)
    assert isinstance(begun, CallToolResult)
    assert begun.is_error

    async with opened(url, "legacy", story) as client:
        with pytest.raises(Refused) as raised:
            await client.create_task("optional", BAD_ARGUMENTS)
    assert raised.value.code == -32602


async def test_tasks_are_listed_in_the_legacy_era_only(url: str, story: Story) -> None:
    async with opened(url, "legacy", story) as client:
        begun = await client.create_task("optional", ARGUMENTS, ttl=timedelta(minutes=30))
        listing = await client.list_tasks()
    assert isinstance(begun, Working)
    assert [(task.task_id, task.status) for task in listing.tasks] == [(begun.task_id, "working")]

    async with opened(url, "auto", story) as client:
        with pytest.raises(NotOffered):
            await client.list_tasks()


@each_era
async def test_leaving_early_leaves_the_task_running(url: str, world: World, story: Story, mode: Mode) -> None:
    story.happenings = {1: when(world, world.ask)}

    async with opened(url, mode, story, User().callbacks) as client:
        states = client.stream_tool("optional", ARGUMENTS)
        async for state in states:
            if isinstance(state, InputRequired):
                break
        await states.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - a generator

    assert world.workflows.running()


@pytest.mark.parametrize(("mode", "tool"), [("auto", "optional"), ("legacy", "optional"), ("auto", "confirmed")])
async def test_what_a_callback_raises_is_raised_and_answers_nothing(
    url: str, world: World, story: Story, mode: Mode, tool: str
) -> None:
    async def elicit(_params: ElicitRequestParams) -> ElicitResult:
        raise RuntimeError("The window was closed.")

    story.happenings = {1: when(world, world.ask)}

    async with opened(url, mode, story, Callbacks(elicit)) as client:
        with pytest.raises(RuntimeError, match=r"The window was closed\."):
            await client.call_tool(tool, ARGUMENTS)

    assert world.workflows.resumptions == []


@each_era
async def test_a_question_stays_open_if_its_client_leaves_while_it_is_asked(
    url: str, world: World, story: Story, mode: Mode
) -> None:
    is_asked, user = anyio.Event(), User()

    async def elicit(_params: ElicitRequestParams) -> ElicitResult:
        is_asked.set()
        await anyio.sleep_forever()
        raise AssertionError("it never answers")

    story.happenings = {1: when(world, world.ask)}
    async with opened(url, mode, story, Callbacks(elicit)) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "optional", ARGUMENTS)
        await is_asked.wait()
        group.cancel_scope.cancel()
    assert world.workflows.resumptions == []

    story.always = lambda: world.workflows.resumptions and world.succeed(running(world), OUTPUT)
    async with opened(url, mode, story, user.callbacks) as client:
        result = await client.task_result(running(world))

    assert user.asked == [FORM["message"]]
    assert result.structured_content == OUTPUT


def answered_elsewhere(world: World) -> None:
    """Answer the question with another client, and let the workflow end then."""
    (task,) = world.store.tasks.values()
    if task.input_requests:
        world.answers.respond(task.owner, task.task_id, {task.input_requests[0].key: {"action": "decline"}})
    elif world.workflows.running():
        world.succeed(task.task_id, OUTPUT)


def cancelled_elsewhere(world: World) -> None:
    """Cancel the task with another client."""
    (task,) = world.store.tasks.values()
    if not task.has_ended:
        world.operations.cancel(task.owner, task.task_id)


@each_era
@pytest.mark.parametrize(("happens", "status"), [(answered_elsewhere, Completed), (cancelled_elsewhere, Cancelled)])
async def test_whoever_asks_for_an_answer_that_nobody_waits_for_any_more_is_cancelled(
    url: str, world: World, story: Story, mode: Mode, happens: Callable[[World], None], status: type[Task]
) -> None:
    asked = list[str]()

    async def elicit(params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        story.always = lambda: happens(world)
        try:
            await anyio.sleep_forever()
        finally:
            asked.append("cancelled")
        raise AssertionError("it never answers")

    story.happenings = {1: when(world, world.ask)}

    async with opened(url, mode, story, Callbacks(elicit)) as client:
        task = await client.create_task("optional", ARGUMENTS)
        assert isinstance(task, Task)
        states = [state async for state in client.follow_task(task.task_id)]

    assert asked == [FORM["message"], "cancelled"]
    assert type(states[-1]) is status
