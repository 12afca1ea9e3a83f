"""The tasks extension (`io.modelcontextprotocol/tasks`, protocol 2026-07-28) for clients of the Python library `mcp`.

`mcp` 2.3 lets extensions claim results of `tools/call` but has none for tasks. The rule: with `Tasks()`, a `Client`
hides tasks: `call_tool` returns the tool's result when the work is done.

    async with Client(url, extensions=[Tasks()]) as client:
        result = await client.call_tool("profile_dataset", {"csv": text})

To follow the task yourself, call `session.call_tool(..., allow_claimed=True)`, which returns a `TaskHandle`, and use
the functions below. A handle is enough, also later and from another machine.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, assert_never

import anyio
from mcp.client import ClientExtension, ClientSession
from mcp.client.extension import ClaimContext, ResultClaim
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ErrorData, InputRequest, InputResponse, Request, RequestParams, Result
from pydantic import AwareDatetime, Field, TypeAdapter

EXTENSION: Final = "io.modelcontextprotocol/tasks"
DEFAULT_POLL_INTERVAL: Final = 1.0  # seconds; for servers that give no hint


class Task(Result):
    """The fields of every task, in any status."""

    task_id: str
    status_message: str | None = None
    created_at: AwareDatetime
    last_updated_at: AwareDatetime
    ttl_ms: int | None
    poll_interval_ms: int | None = None

    @property
    def poll_interval(self) -> float:
        """The seconds to wait before the next poll."""
        return DEFAULT_POLL_INTERVAL if self.poll_interval_ms is None else self.poll_interval_ms / 1000


class TaskHandle(Task):
    """The answer to a `tools/call` that became a task."""

    result_type: Literal["task"] = "task"
    status: Literal["working", "input_required", "completed", "failed", "cancelled"]


class Working(Task):
    """The task is running."""

    status: Literal["working"]


class InputRequired(Task):
    """The task waits for answers."""

    status: Literal["input_required"]
    input_requests: dict[str, InputRequest]


class Completed(Task):
    """The tool returned a result, or an error of its own."""

    status: Literal["completed"]
    result: CallToolResult


class Failed(Task):
    """The call ended with a protocol error."""

    status: Literal["failed"]
    error: ErrorData


class Cancelled(Task):
    """The task was cancelled."""

    status: Literal["cancelled"]


TaskState = Working | InputRequired | Completed | Failed | Cancelled
_TASK_STATE: Final[TypeAdapter[TaskState]] = TypeAdapter(Annotated[TaskState, Field(discriminator="status")])

Watch = Callable[[TaskHandle | TaskState], None]
Answer = Callable[[Mapping[str, InputRequest]], Awaitable[Mapping[str, InputResponse]]]


class TaskCancelled(Exception):
    """The task was cancelled, so there is no result."""


class TaskNeedsInput(Exception):
    """The task waits for answers, and the client has no `answer` function."""


class _TaskParams(RequestParams):
    task_id: str


class _UpdateParams(_TaskParams):
    input_responses: dict[str, InputResponse]


class _GetTask(Request[_TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"  # X25: the library mirrors it into Mcp-Name


class _CancelTask(Request[_TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    name_param = "taskId"


class _UpdateTask(Request[_UpdateParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    name_param = "taskId"


async def get_task(session: ClientSession, task_id: str) -> TaskState:
    """Return the present state of the task.

    Raises:
        MCPError: this caller has no such task (-32602), or the request failed.
    """
    return await session.send_request(_GetTask(params=_TaskParams(task_id=task_id)), _TASK_STATE)


async def cancel_task(session: ClientSession, task_id: str) -> None:
    """Request cancellation of the task; it may still complete."""
    await session.send_request(_CancelTask(params=_TaskParams(task_id=task_id)), Result)


async def update_task(session: ClientSession, task_id: str, responses: Mapping[str, InputResponse]) -> None:
    """Answer some or all of the task's input requests, each under its key."""
    params = _UpdateParams(task_id=task_id, input_responses=dict(responses))
    await session.send_request(_UpdateTask(params=params), Result)


async def wait_for_task(
    session: ClientSession, task: Task, *, watch: Watch | None = None, answer: Answer | None = None
) -> CallToolResult:
    """Poll the task until it ends, as often as the server asks for, and return the tool's result.

    Args:
        session: an open session; not necessarily the one that started the task.
        task: its handle, or a later state of it.
        watch: is shown every state.
        answer: answers input requests; it sees each one once.

    Raises:
        MCPError: the call failed as a request would, or a poll failed (-32602: the task has expired).
        TaskCancelled, TaskNeedsInput: as they say.
    """
    answered: set[str] = set()
    while True:
        await anyio.sleep(task.poll_interval)
        task = await get_task(session, task.task_id)
        if watch is not None:
            watch(task)
        match task:
            case Completed():
                return task.result
            case Failed():
                raise MCPError.from_error_data(task.error)
            case Cancelled():
                raise TaskCancelled(task.task_id)
            case InputRequired():
                await _answer(session, task, answer, answered)
            case Working():
                pass
            case _:
                assert_never(task)


async def _answer(session: ClientSession, task: InputRequired, answer: Answer | None, answered: set[str]) -> None:
    """Answer the new input requests: a poll may still show a request whose answer is on its way."""
    if answer is None:
        raise TaskNeedsInput(", ".join(task.input_requests))
    requests = {key: request for key, request in task.input_requests.items() if key not in answered}
    if requests:
        await update_task(session, task.task_id, await answer(requests))
        answered.update(requests)


class Tasks(ClientExtension):
    """Lets `Client.call_tool` wait for tasks; `watch` sees the handle first, then the state after each poll."""

    identifier = EXTENSION

    def __init__(self, *, watch: Watch | None = None, answer: Answer | None = None) -> None:
        self._watch = watch
        self._answer = answer

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Return the claims for results that are tasks."""
        return (ResultClaim(result_type="task", model=TaskHandle, resolve=self._resolve),)

    async def _resolve(self, handle: TaskHandle, context: ClaimContext) -> CallToolResult:
        if self._watch is not None:
            self._watch(handle)
        return await wait_for_task(context.session, handle, watch=self._watch, answer=self._answer)
