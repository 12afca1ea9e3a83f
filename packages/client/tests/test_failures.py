"""How the client handles servers that are down, busy, not MCP, or that need sign-in."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from packages.client.tests.conftest import Story
from packages.client.tests.test_client import User, running
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.mcp_server import McpServer
from stepwire_client import (
    Busy,
    CallFailed,
    NotConnected,
    NotUnderstood,
    Refused,
    SignInNeeded,
    TaskCancelled,
    TaskClientError,
    Unanswered,
    UnknownTask,
    Working,
    connect,
)
from tests.kits import ARGUMENTS, FORM, OPTIONAL, OUTPUT, TOOLS, World, catalog_of
from tests.refusals.endpoint import serving

pytestmark = pytest.mark.anyio
HTML = HttpResponse(200, "<html>Welcome</html>", {"content-type": "text/html"})
NOT_JSON = HttpResponse(200, "Welcome", {"content-type": "application/json"})
OTHER_JSON = HttpResponse(200, '{"hello": "world"}', {"content-type": "application/json"})
NOT_FOUND = HttpResponse(404, "<html>No such page</html>", {"content-type": "text/html"})
UNAUTHORIZED = HttpResponse(401, '{"message":"Unauthorized"}', {"content-type": "application/json"})
FORBIDDEN = HttpResponse(403, '{"message":"Forbidden"}', {"content-type": "application/json"})
DOWN = HttpResponse(503, '{"message":"Unavailable"}', {"content-type": "application/json", "retry-after": "7"})

Answer = Callable[[HttpRequest], HttpResponse]


def always(response: HttpResponse) -> Answer:
    """Answer every request with the same response."""
    return lambda _request: response


def broken(_request: HttpRequest) -> HttpResponse:
    """Break the connection."""
    raise ConnectionAbortedError


def result(value: object) -> Answer:
    """Answer with a result."""

    def answer(request: HttpRequest) -> HttpResponse:
        body = {"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "result": value}
        return HttpResponse(200, json.dumps(body), {"content-type": "application/json"})

    return answer


@dataclass
class FailingServer:
    """A server that fails the first requests that contain a given word."""

    world: World
    answers: list[Answer] = field(default_factory=list[Answer])
    word: bytes = b""

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        if self.answers and request.method == "POST" and self.word in request.body:
            return self.answers.pop(0)(request)
        return self.world.server.handle(request)


@pytest.fixture
def weather(world: World) -> FailingServer:
    """The failures in front of the server."""
    return FailingServer(world)


@pytest.fixture
def url(weather: FailingServer) -> Iterator[str]:
    """The URL of that server."""
    with serving(weather.handle) as url:
        yield url


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        pytest.param(HTML, NotUnderstood, "text/html", id="a web page"),
        pytest.param(NOT_JSON, NotUnderstood, "", id="not JSON"),
        pytest.param(OTHER_JSON, NotUnderstood, "", id="other JSON"),
        pytest.param(NOT_FOUND, NotUnderstood, "404", id="no such page"),
        pytest.param(UNAUTHORIZED, SignInNeeded, "401", id="no sign-in"),
        pytest.param(FORBIDDEN, SignInNeeded, "403", id="no right"),
        pytest.param(DOWN, Busy, "503", id="down"),
    ],
)
async def test_each_kind_of_refusal_raises_its_own_error(
    url: str, weather: FailingServer, answer: HttpResponse, kind: type[TaskClientError], words: str
) -> None:
    weather.answers = [always(answer)] * 10

    with pytest.raises(kind) as raised:
        async with connect(url):
            pass

    assert words in str(raised.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/mcp", "http://nobody.invalid/mcp", "ftp://host/mcp", "host", ""])
async def test_an_unreachable_server_raises_an_error(url: str) -> None:
    with pytest.raises(NotConnected):
        async with connect(url):
            pass


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_polls_continue_after_failures_and_respect_retry_after(
    url: str, weather: FailingServer, world: World, story: Story, mode: str
) -> None:
    def end() -> None:
        world.succeed(world.workflows.starts[-1].execution.name.rpartition("-")[2], OUTPUT)
        weather.word, weather.answers = b"tasks/get", [always(DOWN), broken]

    story.happenings = {1: end}

    async with connect(url, pace=story.pace, mode=mode) as client:  # pyright: ignore[reportArgumentType] - one of two
        called = await client.call_tool("optional", ARGUMENTS)

    assert called.structured_content == OUTPUT
    assert story.pauses == [2, 7, 2], "the pauses must be the hint, Retry-After, and twice the first pause"


async def test_a_tool_that_the_server_gets_later_is_called_as_a_task(
    url: str, weather: FailingServer, story: Story
) -> None:
    world = weather.world

    async with connect(url, pace=story.pace, mode="legacy") as client:
        await client.create_task("optional", ARGUMENTS)
        services = replace(world.services, catalog=catalog_of(*TOOLS, replace(OPTIONAL, name="later")))
        world.server = McpServer(services, frozenset(), world.faults.append)
        later = await client.create_task("later", ARGUMENTS)

    assert isinstance(later, Working)


async def test_a_wait_for_questions_that_breaks_begins_anew(
    url: str, weather: FailingServer, world: World, story: Story
) -> None:
    def end() -> None:
        if world.workflows.resumptions and world.workflows.running():
            world.succeed(running(world), OUTPUT)

    weather.word, weather.answers = b"tasks/result", [always(DOWN)]
    story.happenings = {1: lambda: world.ask(running(world))}
    story.always = end
    user = User()

    async with connect(url, pace=story.pace, mode="legacy", callbacks=user.callbacks) as client:
        called = await client.call_tool("optional", ARGUMENTS)

    assert called.structured_content == OUTPUT
    assert user.asked == [FORM["message"]]


async def test_a_poll_that_never_succeeds_ends_the_wait_and_not_the_task(
    url: str, weather: FailingServer, world: World, story: Story
) -> None:
    weather.word, weather.answers = b"tasks/get", [always(DOWN)] * 1000

    async with connect(url, pace=story.pace) as client:
        with pytest.raises(Busy) as raised:
            await client.call_tool("optional", ARGUMENTS)

    assert raised.value.retry_after == 7
    assert len(story.pauses) == story.pace.attempts
    assert world.workflows.running()


async def test_a_connection_that_breaks_does_not_end_the_session(
    url: str, weather: FailingServer, story: Story
) -> None:
    async with connect(url, pace=story.pace) as client:
        task = await client.create_task("optional", ARGUMENTS)
        task_id = getattr(task, "task_id", "")
        weather.answers = [broken]

        with pytest.raises(NotConnected):
            await client.get_task(task_id)
        after = await client.get_task(task_id)

    assert after.status == "working"


async def test_a_task_without_its_outcome_is_an_error(url: str, weather: FailingServer) -> None:
    async with connect(url) as client:
        task = await client.create_task("optional", ARGUMENTS)
        body = {"taskId": "t", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
        weather.word = b"tasks/get"

        weather.answers = [result({**body, "ttlMs": None, "status": "completed", "resultType": "complete"})]
        with pytest.raises(NotUnderstood, match="without its outcome"):
            await client.get_task(getattr(task, "task_id", ""))
        weather.answers = [result({"status": "resting"})]
        with pytest.raises(NotUnderstood):
            await client.get_task(getattr(task, "task_id", ""))


def test_the_errors_are_one_tree() -> None:
    leaves: list[Callable[..., TaskClientError]] = [
        NotConnected,
        Busy,
        SignInNeeded,
        NotUnderstood,
        Refused,
        UnknownTask,
        CallFailed,
        TaskCancelled,
        Unanswered,
    ]

    assert all(issubclass(leaf, TaskClientError) for leaf in leaves if isinstance(leaf, type))
