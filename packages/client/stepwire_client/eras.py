"""The requests about tasks in each era, behind one interface.

2025-11-25 has tasks in its core: the result is fetched by `tasks/result`, which also brings the questions.
2026-07-28 has the extension `io.modelcontextprotocol/tasks`: `tasks/get` shows questions and results, `tasks/update`
answers.
The rule: what the two have in common is in `client.py`; what only one of them has raises `NotOffered` in the other.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, Protocol

from mcp.client import Client, ClientSession
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    InputResponse,
    PaginatedRequestParams,
    Result,
    TaskMetadata,
    Tool,
)

from stepwire_client.errors import NotOffered, NotUnderstood, Refused, UnknownTask
from stepwire_client.pages import all_pages
from stepwire_client.refusals import told
from stepwire_client.states import Completed, Failed, Listing, Task
from stepwire_client.wire import (
    CancelTask,
    GetTask,
    LegacyCreated,
    LegacyPage,
    LegacyTask,
    ListTasks,
    ModernTask,
    TaskHandle,
    TaskParams,
    TaskResult,
    UpdateParams,
    UpdateTask,
)

EXTENSION: Final = "io.modelcontextprotocol/tasks"
LEGACY_VERSION: Final = "2025-11-25"
MODERN_VERSION: Final = "2026-07-28"
_SPARE: Final = frozenset({"forbidden", None})


class Requests(Protocol):
    """The requests about tasks in one era."""

    async def get(self, task_id: str) -> Task:
        """Return the present state of a task, with its outcome."""
        ...

    async def update(self, task_id: str, responses: Mapping[str, InputResponse]) -> None:
        """Answer questions, each under its key."""
        ...

    async def cancel(self, task_id: str) -> None:
        """Ask for a task's end."""
        ...

    async def list(self, cursor: str | None) -> Listing:
        """Return a page of the caller's tasks."""
        ...


class _Begun(CallToolResult):
    """What the claim hands on in place of a result: the call became a task."""

    handle: TaskHandle


class Claims(ClientExtension):
    """Declares the extension, and takes tasks as answers to calls."""

    identifier = EXTENSION

    def claims(self) -> tuple[ResultClaim[Any], ...]:
        """Return the claim for results that are tasks."""
        return (ResultClaim(result_type="task", model=TaskHandle, resolve=self._resolve),)

    async def _resolve(self, handle: TaskHandle, _context: ClaimContext) -> CallToolResult:
        # An error, as far as the library knows: so it is not held against the schema of the tool's output.
        return _Begun(content=[], is_error=True, handle=handle)


class ModernRequests:
    """The requests about tasks of 2026-07-28, in a session."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def get(self, task_id: str) -> Task:
        """Return the present state."""
        with told(task_id):
            found = await self._session.send_request(GetTask(params=TaskParams(task_id=task_id)), ModernTask)
        return found.state()

    async def update(self, task_id: str, responses: Mapping[str, InputResponse]) -> None:
        """Answer questions."""
        params = UpdateParams(task_id=task_id, input_responses=dict(responses))
        await _asked_of_a_task(self, task_id, self._session, UpdateTask(params=params))

    async def cancel(self, task_id: str) -> None:
        """Ask for the end."""
        await _asked_of_a_task(self, task_id, self._session, CancelTask(params=TaskParams(task_id=task_id)))

    @property
    def lists(self) -> bool:
        """Whether there is a list: there is none."""
        return False

    async def list(self, cursor: str | None) -> Listing:  # noqa: ARG002 - none here
        """Raise `NotOffered`."""
        raise NotOffered(f"{MODERN_VERSION} has no list of tasks. A connection with mode='legacy' may have one.")


class ModernTasks(ModernRequests):
    """Tasks of 2026-07-28."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.session)
        self._client = client

    async def create(
        self,
        name: str,
        arguments: Mapping[str, Any],
        ttl: timedelta | None,  # noqa: ARG002 - the extension leaves the lifetime to the server
        meta: Mapping[str, Any] | None,
    ) -> Task | CallToolResult:
        """Call a tool. The server decides whether the call becomes a task."""
        with told():
            result = await self._client.call_tool(name, dict(arguments), meta=_meta(meta))
        return result.handle.begun() if isinstance(result, _Begun) else result


class LegacyTasks:
    """Tasks of 2025-11-25."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tools: dict[str, Tool] = {}

    @property
    def _session(self) -> ClientSession:
        return self._client.session

    async def create(
        self,
        name: str,
        arguments: Mapping[str, Any],
        ttl: timedelta | None,
        meta: Mapping[str, Any] | None,
    ) -> Task | CallToolResult:
        """Call a tool, as a task if both the server and the tool have tasks."""
        if not await self._is_task(name):
            with told():
                return await self._client.call_tool(name, dict(arguments), meta=_meta(meta))
        milliseconds = None if ttl is None else round(ttl.total_seconds() * 1000)
        params = CallToolRequestParams(
            name=name, arguments=dict(arguments), task=TaskMetadata(ttl=milliseconds), _meta=_meta(meta)
        )
        with told():
            created = await self._session.send_request(CallToolRequest(params=params), LegacyCreated)
            state = created.task.unended()
        return await self.get(created.task.task_id) if state is None else state

    async def get(self, task_id: str) -> Task:
        """Return the present state; of an ended task, fetch its outcome too."""
        with told(task_id):
            found = await self._session.send_request(GetTask(params=TaskParams(task_id=task_id)), LegacyTask)
        return found.unended() or await self._outcome(found)

    async def wait(self, task_id: str) -> None:
        """Wait for the result, so that the server can ask its questions meanwhile. How it ends, `get` tells."""
        with told(task_id):
            await self._session.send_request(TaskResult(params=TaskParams(task_id=task_id)), CallToolResult)

    async def update(
        self,
        task_id: str,  # noqa: ARG002 - the interface's
        responses: Mapping[str, InputResponse],  # noqa: ARG002 - the interface's
    ) -> None:
        """Raise `NotOffered`."""
        raise NotOffered(f"{LEGACY_VERSION} asks while the result is waited for: give callbacks, and follow the task.")

    async def cancel(self, task_id: str) -> None:
        """End it."""
        await _asked_of_a_task(self, task_id, self._session, CancelTask(params=TaskParams(task_id=task_id)))

    @property
    def lists(self) -> bool:
        """Whether there is a list."""
        tasks = self._client.server_capabilities.tasks
        return tasks is not None and tasks.list is not None

    async def list(self, cursor: str | None) -> Listing:
        """Return a page."""
        if not self.lists:
            raise NotOffered(
                "The server does not list tasks: without sign-in, it cannot tell whose they are. A task's id is enough."
            )
        with told():
            page = await self._session.send_request(ListTasks(params=PaginatedRequestParams(cursor=cursor)), LegacyPage)
        return Listing(tuple(task.listed() for task in page.tasks), page.next_cursor)

    async def _outcome(self, task: LegacyTask) -> Task:
        request = TaskResult(params=TaskParams(task_id=task.task_id))
        try:
            with told():
                result = await self._session.send_request(request, CallToolResult)
        except Refused as refused:
            if task.status != "failed":
                raise
            return Failed(error=refused.error, **task.facts)
        except NotUnderstood:
            if task.status != "failed":
                raise
            # `mcp` 1.30 answers for a failed task with no result at all.
            words = task.status_message or "The task failed; the server does not say why."
            return Failed(error=ErrorData(code=INTERNAL_ERROR, message=words), **task.facts)
        return Completed(result=result, **task.facts)

    async def _is_task(self, name: str) -> bool:
        tasks = self._client.server_capabilities.tasks
        if tasks is None or tasks.requests is None or tasks.requests.tools is None:
            return False
        if name not in self._tools:  # also of a tool that the server has got since
            self._tools = {tool.name: tool for tool in await all_tools(self._client)}
        tool = self._tools.get(name)
        execution = None if tool is None else tool.execution
        return execution is not None and execution.task_support not in _SPARE


class NoTasks(LegacyTasks):
    """A version that has no tasks."""

    async def get(self, task_id: str) -> Task:  # noqa: ARG002 - the interface's
        """Raise `NotOffered`."""
        raise NotOffered(f"{self._client.protocol_version} has no tasks.")

    async def cancel(self, task_id: str) -> None:
        """Raise `NotOffered`."""
        await self.get(task_id)

    async def list(self, cursor: str | None) -> Listing:  # noqa: ARG002 - none here
        """Raise `NotOffered`."""
        raise NotOffered(f"{self._client.protocol_version} has no tasks.")

    async def _is_task(self, name: str) -> bool:  # noqa: ARG002 - the interface's
        return False


def era_of(client: Client) -> ModernTasks | LegacyTasks:
    """Return the requests of the version that was negotiated."""
    match client.protocol_version:
        case version if version == MODERN_VERSION:
            return ModernTasks(client)
        case version if version == LEGACY_VERSION:
            return LegacyTasks(client)
        case _:
            return NoTasks(client)


async def all_tools(client: Client) -> list[Tool]:
    """Return the tools of every page."""
    with told():
        pages = await all_pages(lambda cursor: client.list_tools(cursor=cursor))
    return [tool for page in pages for tool in page.tools]


async def _asked_of_a_task(era: Requests, task_id: str, session: ClientSession, request: Any) -> None:
    """Send a request about a task; where it is refused, look whether there is such a task at all."""
    try:
        with told(task_id):
            await session.send_request(request, Result)
    except UnknownTask as error:
        await era.get(task_id)
        raise Refused(error.error) from error


def _meta(meta: Mapping[str, Any] | None) -> Any:
    return None if meta is None else dict(meta)
