"""How the client handles servers that are down, busy, not MCP, or that need sign-in."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from mcp_types import TextContent
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
    Pace,
    Refused,
    SignInNeeded,
    TaskCancelled,
    TaskClientError,
    Unanswered,
    UnknownTask,
    Working,
    connect,
)
from stepwire_client.client import Mode
from tests.clients.endpoint import serving
from tests.kits import ARGUMENTS, FORM, OPTIONAL, OUTPUT, TOOLS, World, catalog_of

pytestmark = pytest.mark.anyio
HTML = HttpResponse(200, "<html>Welcome</html>", {"content-type": "text/html"})
NOT_JSON = HttpResponse(200, "Welcome", {"content-type": "application/json"})
OTHER_JSON = HttpResponse(200, '{"hello": "world"}', {"content-type": "application/json"})
NOT_FOUND = HttpResponse(404, "<html>No such page</html>", {"content-type": "text/html"})
UNAUTHORIZED = HttpResponse(401, '{"message":"Unauthorized"}', {"content-type": "application/json"})
FORBIDDEN = HttpResponse(403, '{"message":"Forbidden"}', {"content-type": "application/json"})
DOWN = HttpResponse(503, '{"message":"Unavailable"}', {"content-type": "application/json", "retry-after": "7"})
NOON = "Fri, 27 Nov 2026 12:00:00 GMT"


def down_until(time: str, **headers: str) -> HttpResponse:
    """Return DOWN with a time in place of the seconds."""
    return HttpResponse(503, DOWN.body, {**DOWN.headers, "retry-after": time, **headers})


CRASHED = HttpResponse(500, '{"message":"Internal Server Error"}', {"content-type": "application/json"})

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


def error(code: int, **data: object) -> Answer:
    """Answer with an error of JSON-RPC, and HTTP status 200 as servers of 2025-11-25 do."""

    def answer(request: HttpRequest) -> HttpResponse:
        said = {"code": code, "message": "Not now.", "data": data}
        body = {"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "error": said}
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
@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        pytest.param(always(DOWN), 7, id="Retry-After"),
        pytest.param(always(down_until("Fri, 27 Nov 2026 12:00:07 GMT", date=NOON)), 7, id="a time"),
        pytest.param(always(down_until("Friday, 27-Nov-26 12:00:07 GMT", date=NOON)), 7, id="a time of RFC 850"),
        pytest.param(always(down_until("Fri Nov 27 12:00:07 2026", date=NOON)), 7, id="a time of asctime"),
        pytest.param(always(down_until("Sun, 06 Nov 1994 08:49:37 GMT")), 1, id="a time that has passed"),
        pytest.param(always(down_until("Fri, 31 Dec 9999 23:59:59 GMT")), 600, id="a time that never comes"),
        pytest.param(always(down_until("soon")), 1, id="no time"),
        pytest.param(error(-32603, retryAfterMs=7_000), 7, id="retryAfterMs"),
        pytest.param(always(CRASHED), 1, id="a function that has failed"),
    ],
)
async def test_polls_continue_after_failures_as_late_as_the_server_asks(
    url: str, weather: FailingServer, world: World, story: Story, mode: Mode, answer: Answer, pause: int
) -> None:
    def end() -> None:
        world.succeed(world.workflows.starts[-1].execution.name.rpartition("-")[2], OUTPUT)
        weather.word, weather.answers = b"tasks/get", [answer, broken]

    story.happenings = {1: end}

    async with connect(url, pace=story.pace, mode=mode) as client:
        called = await client.call_tool("optional", ARGUMENTS)

    assert called.structured_content == OUTPUT
    assert story.pauses == [2, pause, 2], "the pauses must be the hint, the server's, and twice the first pause"


@pytest.mark.parametrize(("mode", "word"), [("auto", b"tools/list"), ("legacy", b"tasks/result")])
async def test_a_failure_after_the_end_of_a_task_does_not_lose_its_result(
    url: str, weather: FailingServer, world: World, story: Story, mode: Mode, word: bytes
) -> None:
    def end() -> None:
        world.succeed(running(world), OUTPUT)
        weather.word, weather.answers = word, [error(-32603, retryAfterMs=1_000)]

    story.happenings = {1: end}

    async with connect(url, pace=story.pace, mode=mode) as client:
        called = await client.call_tool("structured", ARGUMENTS)

    assert weather.answers == []
    assert called.structured_content == OUTPUT


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_error_that_ends_a_wait_names_the_task_to_come_back_to(
    url: str, weather: FailingServer, world: World, story: Story, mode: Mode
) -> None:
    def expire() -> None:
        world.succeed(running(world), OUTPUT)
        weather.word, weather.answers = b"tasks/get", [always(UNAUTHORIZED)]

    story.happenings = {1: expire}

    async with connect(url, pace=story.pace, mode=mode) as client:
        with pytest.raises(SignInNeeded) as raised:
            await client.call_tool("optional", ARGUMENTS)
    assert raised.value.task_id is not None
    async with connect(url, pace=story.pace, mode=mode) as client:
        result = await client.task_result(raised.value.task_id)

    assert result.structured_content == OUTPUT


async def test_a_result_that_the_server_cannot_return_now_is_no_failure_of_the_task(
    url: str, weather: FailingServer, world: World, story: Story
) -> None:
    story.happenings = {1: lambda: world.succeed(running(world), OUTPUT)}
    weather.word, weather.answers = b"tasks/result", [error(-32603)]

    async with connect(url, pace=story.pace, mode="legacy") as client:
        with pytest.raises(Refused) as raised:
            await client.call_tool("optional", ARGUMENTS)
        result = await client.task_result(running(world))

    assert not isinstance(raised.value, CallFailed)
    assert result.structured_content == OUTPUT


@pytest.mark.parametrize(("answer", "kind"), [(always(DOWN), Busy), (broken, NotConnected)], ids=["down", "broken"])
async def test_an_outage_is_no_reason_to_speak_an_older_version(
    url: str, weather: FailingServer, answer: Answer, kind: type[TaskClientError]
) -> None:
    weather.word, weather.answers = b"server/discover", [answer]

    with pytest.raises(kind):
        async with connect(url):
            pass
    async with connect(url) as client:
        assert client.protocol_version == "2026-07-28"


@pytest.mark.parametrize(
    ("asked", "pauses"), [(0, [1, 2, 4]), (120, [120, 120, 120]), (10**6, [600, 600, 600])], ids=str
)
async def test_a_pause_grows_and_is_as_long_as_the_server_asks(story: Story, asked: int, pauses: list[int]) -> None:
    async def refuse() -> None:
        raise Busy("Not now.", asked)

    with pytest.raises(Busy):
        await Pace(clock=story, attempts=4).insist(refuse)

    assert story.pauses == pauses


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


async def test_an_event_of_a_stream_may_be_as_large_as_a_body(url: str, weather: FailingServer) -> None:
    text = "x" * 2_000_000

    def streamed(request: HttpRequest) -> HttpResponse:
        answer = result({"content": [{"type": "text", "text": text}]})(request)
        return HttpResponse(200, f"data: {answer.body}\n\n", {"content-type": "text/event-stream"})

    weather.word, weather.answers = b"tools/call", [streamed]

    async with connect(url, mode="legacy") as client:
        called = await client.call_tool("forbidden", ARGUMENTS)

    assert called.content == [TextContent(type="text", text=text)]


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
