"""Tasks, results and tools as each era writes them: the one bridge between the protocol and the tasks.

Section H of the checklist maps the fields. What everybody gets wrong: a tool that fails makes its task `failed` in
legacy, and `completed` with `isError` in modern (T18, X11).
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, cast

from stepwire.catalog import Tool
from stepwire.json_text import JsonObject, read_back
from stepwire.protocol.versions import META_SERVER, RELATED_TASK
from stepwire.tasks.inputs import FormElicitation, InputRequest, Mode, mode_of, params_of
from stepwire.tasks.task import (
    LONGEST_MESSAGE,
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Progress,
    Status,
    Task,
    TaskError,
    ToolResult,
    Working,
)
from stepwire.visible_text import visible

# Lines of a text that a workflow's author wrote stay lines.
_LINE_ENDS = "\n\t"
# Ours, on a result that stands for work still going on: where it goes on.
UNFINISHED_TASK = "stepwire/task"


def legacy_task(task: Task, at: datetime) -> JsonObject:
    """Write a task of 2025-11-25."""
    status = "failed" if tool_failed(task.status) else modern_status(task.status)
    return {
        **_task(task, status),
        "ttl": _milliseconds(task.ttl),
        "pollInterval": _milliseconds(task.poll_hint(at)),
    }


def modern_task(task: Task, at: datetime) -> JsonObject:
    """Write a task of 2026-07-28, without what its status carries (X6)."""
    return {
        **_task(task, modern_status(task.status)),
        "ttlMs": _milliseconds(task.ttl),
        "pollIntervalMs": _milliseconds(task.poll_hint(at)),
    }


def modern_requests(requests: Iterable[InputRequest], modes: frozenset[Mode]) -> JsonObject:
    """Write the questions that a client can ask, by their keys; what it did not declare is not shown (M44, M48)."""
    return {
        one.key: {"method": "elicitation/create", "params": _asked(one)}
        for one in requests
        if mode_of(one.elicitation) in modes
    }


def modern_answer(answer: ToolResult | TaskError) -> JsonObject:
    """Write what an ended task adds to `tasks/get` (X10)."""
    match answer:
        case ToolResult():
            return {"result": modern_result(answer)}
        case TaskError(code, message, data):
            error: JsonObject = {"code": code, "message": message}
            return {"error": error if data is None else {**error, "data": data}}


def modern_result(result: ToolResult) -> JsonObject:
    """Write a CallToolResult; two real clients insist on its resultType even inside a task."""
    return {"resultType": "complete", **result.value()}


def legacy_result(result: ToolResult, related_task: str | None = None) -> JsonObject:
    """Write a CallToolResult, in the answer to `tasks/result` with its task's id (T16)."""
    value = result.value()
    if not isinstance(value.get("structuredContent", {}), dict):
        del value["structuredContent"]  # M36: this era knows objects only; the text says it all the same
    if related_task is None:
        return value
    meta = cast(JsonObject, value.get("_meta", {}))
    return {**value, "_meta": {**meta, RELATED_TASK: {"taskId": related_task}}}


def unfinished_result(task: Task) -> JsonObject:
    """Say in a CallToolResult that the work goes on, and where: for a client that called without a task."""
    # M36: without structured content, a tool that promises some may only answer with an error.
    is_error = task.work.output_schema is not None
    words = (
        f"The workflow is still running, and nothing is lost: it goes on as the task {task.task_id}. "
        "Do not call the tool again for the same work. A client that supports MCP tasks gets the result by this id."
    )
    meta = {UNFINISHED_TASK: {"taskId": task.task_id, "status": "working"}}
    return {"content": [{"type": "text", "text": words}], "isError": is_error, "_meta": meta}


def _asked(request: InputRequest) -> JsonObject:
    """Write the parameters of an `elicitation/create`; where it is asked again, its message says why."""
    params = params_of(request.elicitation)
    message = visible(params["message"], _LINE_ENDS)  # a workflow may have put what its caller sent into its words
    if request.refusal is not None:
        message = f"{message} (The answer before was not accepted: {request.refusal}.)"
    return {**params, "message": message}


def legacy_request(request: InputRequest, related_task: str | None, message_id: str) -> JsonObject:
    """Write the parameters of an `elicitation/create`, with its task's id where the client knows it (T30)."""
    params = _asked(request)
    if not isinstance(request.elicitation, FormElicitation):
        params["elicitationId"] = message_id  # L19
    return params if related_task is None else {**params, "_meta": {RELATED_TASK: {"taskId": related_task}}}


def progress_params(progress: Progress, message: str | None, token: str | int) -> JsonObject:
    """Write the parameters of a `notifications/progress`."""
    said = {"total": progress.total, "message": None if message is None else visible(message)}
    return {
        "progressToken": token,
        "progress": progress.done,
        **{name: value for name, value in said.items() if value is not None},
    }


def legacy_tool(tool: Tool, *, with_tasks: bool) -> JsonObject:
    """Write a tool as `tools/list` of the legacy versions shows it."""
    shown = modern_tool(tool)
    if shown.get("outputSchema", {}).get("type") != "object":
        # M36: this era knows objects only, said so in so many words; clients take a list with another for broken.
        shown.pop("outputSchema", None)
    return {**shown, "execution": {"taskSupport": tool.task_support.value}} if with_tasks else shown


def modern_tool(tool: Tool) -> JsonObject:
    """Write a tool as `tools/list` of 2026-07-28 shows it."""
    shown: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": read_back(tool.input_schema),
        "outputSchema": read_back(tool.output_schema) if tool.output_schema else None,
        "annotations": tool.annotations,
    }
    return {key: value for key, value in shown.items() if value is not None}


def complete(result: JsonObject, server: JsonObject) -> JsonObject:
    """Make a modern result of it: with its type (M26) and who answers (M21)."""
    meta = {**cast(JsonObject, result.get("_meta", {})), META_SERVER: server}
    return {"resultType": "complete", **result, "_meta": meta}


def _task(task: Task, status: str) -> JsonObject:
    return {
        "taskId": task.task_id,
        "status": status,
        **_message(task),
        "createdAt": timestamp(task.created_at),
        "lastUpdatedAt": timestamp(task.last_updated_at),
    }


def timestamp(moment: datetime) -> str:
    """Write a moment as both eras do: ISO 8601 in UTC, with milliseconds."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def modern_status(status: Status) -> str:
    """Name a status in the words of 2026-07-28."""
    match status:
        case Working():
            return "working"
        case InputRequired():
            return "input_required"
        case Completed():
            return "completed"
        case Failed():
            return "failed"
        case Cancelled():
            return "cancelled"


def tool_failed(status: Status) -> bool:
    """Tell whether the tool has answered, and its answer is that it failed."""
    return isinstance(status, Completed) and status.result.is_error


def _message(task: Task) -> JsonObject:
    words = task.status.message
    match task.status:
        case InputRequired(requests):
            words = f"Waiting for an answer: {requests[0].elicitation.message}"
        case Working() if task.progress is not None:
            words = f"{_so_far(task.progress)}: {words}" if words else _so_far(task.progress)
        case _:
            pass
    return {} if words is None else {"statusMessage": visible(words)[:LONGEST_MESSAGE]}


def _so_far(progress: Progress) -> str:
    if progress.total:
        return f"{100 * progress.done / progress.total:.0f}%"
    return f"{progress.done:g} done"


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
