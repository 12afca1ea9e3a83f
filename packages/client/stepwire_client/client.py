"""The client: calls that are tasks where the server has them, in either era.

    async with connect("https://example.com/mcp", callbacks=Callbacks(elicit=ask)) as client:
        result = await client.call_tool("profile_dataset", {"csv": text})

        async for state in client.stream_tool("profile_dataset", {"csv": text}):   # states, then the result
            print(state)

        task = await client.create_task("profile_dataset", {"csv": text})           # keep its id ...

    async with connect(url) as client:                                             # ... and come back, from anywhere
        result = await client.task_result(task_id)

The rule: a task outlives its client. Whatever ends a wait here, an error, a cancelled scope or the end of the process,
leaves the task running; only `cancel_task` ends it.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Literal, TypeAlias, cast

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.client import Client
from mcp_types import CallToolResult, Implementation, InputResponse, Tool

from stepwire_client.callbacks import Callbacks
from stepwire_client.eras import Claims, all_tools, era_of
from stepwire_client.errors import NotConnected
from stepwire_client.following import Beside, Waits, Watch, followed, named, result_of
from stepwire_client.http import BOUNDS, McpHttpClient
from stepwire_client.pace import Pace
from stepwire_client.refusals import the_only_one_in, told
from stepwire_client.states import Listing, Task
from stepwire_client.streams import streams

Mode: TypeAlias = Literal["auto", "legacy", "2026-07-28"]
"""`auto` takes 2026-07-28 where the server has it; `legacy` asks for 2025-11-25."""
NAME: Final = "stepwire-client"
"""What the client calls itself, unless told otherwise."""
_NO_CALLBACKS: Final = Callbacks()
_PACE: Final = Pace()
_NOBODY: Final[Mapping[str, Any]] = {}


class TaskClient:
    """An open connection. `connect` makes it."""

    def __init__(self, client: Client, callbacks: Callbacks, pace: Pace, beside: Beside) -> None:
        self._client = client
        self._callbacks = callbacks
        self._pace = pace
        self._beside = beside
        self._era = era_of(client)

    @property
    def mcp(self) -> Client:
        """The library's own client, for all that is no task."""
        return self._client

    @property
    def protocol_version(self) -> str:
        """The version that was negotiated."""
        return self._client.protocol_version

    @property
    def lists_tasks(self) -> bool:
        """Whether `list_tasks` finds a list. A server without sign-in has none: it cannot tell whose a task is."""
        return self._era.lists

    async def tools(self) -> list[Tool]:
        """Return all tools of the server."""
        return await all_tools(self._client)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] = _NOBODY,
        *,
        watch: Watch | None = None,
        ttl: timedelta | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> CallToolResult:
        """Call a tool and return its result, however long that takes.

        Args:
            name: the tool.
            arguments: its arguments.
            watch: is shown every state of the task, the ended one too.
            ttl: how long the server is to keep the task; 2026-07-28 leaves that to the server.
            meta: goes into the request's `_meta`.

        Raises:
            CallFailed, TaskCancelled, Unanswered: the task ended without a result, or waits for an answer.
            TaskClientError: the call or a poll failed; a task that was begun goes on.
        """
        begun = await self.create_task(name, arguments, ttl=ttl, meta=meta)
        if isinstance(begun, CallToolResult):
            return begun
        return await self._result(begun, watch, name)

    async def stream_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] = _NOBODY,
        *,
        ttl: timedelta | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Task | CallToolResult]:
        """Call a tool; yield each state of its task, and the result last. Raises as `call_tool` does."""
        begun = await self.create_task(name, arguments, ttl=ttl, meta=meta)
        if isinstance(begun, CallToolResult):
            yield begun
            return
        async with aclosing(self._followed(begun)) as states:
            state: Task = begun
            async for state in states:
                yield state
        yield await self._outcome(state, name)

    async def create_task(
        self,
        name: str,
        arguments: Mapping[str, Any] = _NOBODY,
        *,
        ttl: timedelta | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Task | CallToolResult:
        """Call a tool and return its task as soon as there is one, or the result, where the call became no task."""
        return await self._era.create(name, arguments, ttl, meta)

    async def get_task(self, task_id: str) -> Task:
        """Return the present state of a task; an ended one has its result.

        Raises:
            UnknownTask: this caller has no such task, or it has expired.
        """
        return await self._era.get(task_id)

    async def task_result(self, task_id: str, *, watch: Watch | None = None) -> CallToolResult:
        """Wait for a task that any client of this caller began, and return its result. Raises as `call_tool` does."""
        return await self._result(await self._pace.insist(lambda: self._era.get(task_id)), watch, None)

    async def follow_task(self, task_id: str) -> AsyncGenerator[Task]:
        """Yield the present state of a task, then the state after each poll, to the ended one."""
        begun = await self._pace.insist(lambda: self._era.get(task_id))
        async with aclosing(self._followed(begun)) as states:
            async for state in states:
                yield state

    async def update_task(self, task_id: str, responses: Mapping[str, InputResponse]) -> None:
        """Answer some or all open questions, each under its key. 2026-07-28 only.

        Raises:
            NotOffered: in 2025-11-25, which asks while the result is waited for.
        """
        await self._era.update(task_id, responses)

    async def cancel_task(self, task_id: str) -> None:
        """Ask for a task's end. It may still complete.

        Raises:
            UnknownTask: this caller has no such task.
            Refused: in 2025-11-25, the task has ended already.
        """
        await self._era.cancel(task_id)

    async def list_tasks(self, cursor: str | None = None) -> Listing:
        """Return a page of the caller's tasks.

        Raises:
            NotOffered: the server lists no tasks. 2026-07-28 has no such method; `mode="legacy"` may find one.
        """
        return await self._era.list(cursor)

    async def _result(self, begun: Task, watch: Watch | None, name: str | None) -> CallToolResult:
        state = begun
        async with aclosing(self._followed(begun)) as states:
            async for state in states:
                if watch is not None:
                    watch(state)
        return await self._outcome(state, name)

    async def _outcome(self, state: Task, name: str | None) -> CallToolResult:
        """Return the result of an ended task, checked against the tool's schema as the library does for plain calls."""
        with named(state.task_id):
            result = result_of(state)
            if name is not None and not result.is_error:
                await self._pace.insist(lambda: self._check(result, name))
            return result

    async def _check(self, result: CallToolResult, name: str) -> None:
        with told():
            await self._client.session.validate_tool_result(name, result)  # it may ask for the list of tools

    def _followed(self, begun: Task) -> AsyncGenerator[Task]:
        return followed(Waits(self._era, self._callbacks, self._pace, self._beside), begun)


@asynccontextmanager
async def connect(
    url: str,
    *,
    auth: httpx2.Auth | None = None,
    headers: Mapping[str, str] | None = None,
    callbacks: Callbacks = _NO_CALLBACKS,
    mode: Mode = "auto",
    client_info: Implementation | None = None,
    pace: Pace = _PACE,
) -> AsyncGenerator[TaskClient]:
    """Connect to a server, and agree on a version.

    Args:
        url: the endpoint.
        auth: signs the requests: the library's `OAuthClientProvider`, or any other of httpx2.
        headers: go with each request, such as `Authorization`.
        callbacks: answer what the server asks. What has no callback is not declared.
        mode: which era to ask for.
        client_info: name and version of your program.
        pace: how fast to poll, and by which clock.

    Raises:
        NotConnected, Busy, SignInNeeded, NotUnderstood: there is no MCP server for this caller, or not now.
    """
    http, beside = McpHttpClient(headers=dict(headers or {}), auth=auth), Beside()
    client = Client(
        cast("Any", streams(_checked_url(url), http, BOUNDS.size)),
        mode=mode,
        extensions=[Claims()],
        client_info=client_info or Implementation(name=NAME, version=_version()),
        **callbacks.of_the_session(beside),
    )
    async with _open(client), _alone() as beside.group:
        yield TaskClient(client, callbacks, pace, beside)


@asynccontextmanager
async def _open(client: Client) -> AsyncGenerator[None]:
    """Open a connection, and close it at the end; what fails while it opens is one of this package's errors."""
    with told():
        await client.__aenter__()
    try:
        yield
    finally:
        await client.__aexit__(None, None, None)


@asynccontextmanager
async def _alone() -> AsyncGenerator[TaskGroup]:
    """Return the group of the waits, which ends with the connection. A single error leaves it without its group."""
    try:
        async with anyio.create_task_group() as waits:
            yield waits
            waits.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise the_only_one_in(group) from None


def _checked_url(url: str) -> str:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise NotConnected(f"{url!r} is no URL: {error}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise NotConnected(f"{url!r} is no URL of a server; it begins with https:// or http://.")
    return url


def _version() -> str:
    try:
        return version("stepwire-client")
    except PackageNotFoundError:
        return "0"
