"""Tasks as each era writes them, and the requests about them.

`mcp_types` has the shapes of 2025-11-25, but no times; of the extension it has none.
"""

from datetime import timedelta
from typing import Any, Literal

from mcp_types import (
    CallToolResult,
    ErrorData,
    InputRequest,
    InputResponse,
    PaginatedRequestParams,
    PaginatedResult,
    Request,
    RequestParams,
    Result,
)
from pydantic import AwareDatetime

from stepwire_client.errors import NotUnderstood
from stepwire_client.states import Cancelled, Completed, Failed, InputRequired, ListedTask, Status, Task, Working


class _Facts(Result):
    task_id: str
    status: Status
    status_message: str | None = None
    created_at: AwareDatetime
    last_updated_at: AwareDatetime


class LegacyTask(_Facts):
    """A task of 2025-11-25, which never has its outcome with it."""

    ttl: int | None = None
    poll_interval: int | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """What is known in every status."""
        return _facts(self, self.ttl, self.poll_interval)

    def listed(self) -> ListedTask:
        """Return it as an entry of a list."""
        return ListedTask(status=self.status, **self.facts)

    def unended(self) -> Task | None:
        """Return its state; None for those whose outcome is to be fetched."""
        match self.status:
            case "working":
                return Working(**self.facts)
            case "input_required":
                return InputRequired(questions={}, **self.facts)
            case "cancelled":
                return Cancelled(**self.facts)
            case _:
                return None


class LegacyCreated(Result):
    """The answer of 2025-11-25 to a call that became a task."""

    task: LegacyTask


class LegacyPage(PaginatedResult):
    """A page of `tasks/list`."""

    tasks: list[LegacyTask]


class TaskHandle(Result):
    """The answer of the extension to a call that became a task."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: Status
    status_message: str | None = None
    created_at: AwareDatetime
    last_updated_at: AwareDatetime
    ttl_ms: int | None = None
    poll_interval_ms: int | None = None

    def begun(self) -> Working:
        """Return the first state. A handle has no outcome, whatever its status."""
        return Working(**_facts(self, self.ttl_ms, self.poll_interval_ms))


class ModernTask(_Facts):
    """A task of the extension, with its questions or its outcome."""

    ttl_ms: int | None = None
    poll_interval_ms: int | None = None
    input_requests: dict[str, InputRequest] | None = None
    result: CallToolResult | None = None
    error: ErrorData | None = None

    def state(self) -> Task:
        """Return its state.

        Raises:
            NotUnderstood: the outcome is missing.
        """
        facts = _facts(self, self.ttl_ms, self.poll_interval_ms)
        match self:
            case ModernTask(status="working"):
                return Working(**facts)
            case ModernTask(status="input_required"):
                return InputRequired(questions=self.input_requests or {}, **facts)
            case ModernTask(status="cancelled"):
                return Cancelled(**facts)
            case ModernTask(status="completed", result=CallToolResult() as result):
                return Completed(result=result, **facts)
            case ModernTask(status="failed", error=ErrorData() as error):
                return Failed(error=error, **facts)
            case _:
                raise NotUnderstood(f"The server shows the task {self.task_id} as {self.status}, without its outcome.")


def _facts(task: Any, ttl: int | None, poll_interval: int | None) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "created_at": task.created_at,
        "last_updated_at": task.last_updated_at,
        "ttl": _span(ttl),
        "poll_interval": _span(poll_interval),
        "status_message": task.status_message,
    }


def _span(milliseconds: int | None) -> timedelta | None:
    try:
        return None if milliseconds is None else timedelta(milliseconds=milliseconds)
    except OverflowError:
        return timedelta.max


class TaskParams(RequestParams):
    """Names a task."""

    task_id: str


class UpdateParams(TaskParams):
    """Names a task, and answers its questions."""

    input_responses: dict[str, InputResponse]


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    """Asks for a task."""

    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"  # the library repeats it in Mcp-Name


class CancelTask(Request[TaskParams, Literal["tasks/cancel"]]):
    """Asks for a task's end."""

    method: Literal["tasks/cancel"] = "tasks/cancel"
    name_param = "taskId"


class UpdateTask(Request[UpdateParams, Literal["tasks/update"]]):
    """Answers questions; 2026-07-28 alone has it."""

    method: Literal["tasks/update"] = "tasks/update"
    name_param = "taskId"


class TaskResult(Request[TaskParams, Literal["tasks/result"]]):
    """Asks for the result, and waits for it; 2025-11-25 alone has it."""

    method: Literal["tasks/result"] = "tasks/result"


class ListTasks(Request[PaginatedRequestParams, Literal["tasks/list"]]):
    """Asks for the caller's tasks; 2025-11-25 alone has it."""

    method: Literal["tasks/list"] = "tasks/list"
