"""What a card reads of a task, and what lets it answer: the result of each tool that only a card calls.

The rule: tokens are in `_meta`, never in the content or the structured content, which a host may give to its model.
"""

from datetime import timedelta
from typing import Final

from stepwire.json_text import JsonObject, load_json, write
from stepwire.protocol.tokens import answer_token
from stepwire.rendering import CARD, modern_status, request_params, status_message, timestamp
from stepwire.server.kit import Call, Kit
from stepwire.tasks.inputs import Elicitation, InputRequest, UrlElicitation
from stepwire.tasks.task import Completed, Failed, Task, ToolResult
from stepwire.visible_text import visible

_MILLISECOND: Final = timedelta(milliseconds=1)
_LINE_ENDS: Final = "\n\t"


def shown(kit: Kit, call: Call, task: Task, fault: str | None = None) -> ToolResult:
    """Return a task as its card reads it; with a fault: as the error of a tool, in words for the card's user."""
    data = task_data(kit, task)
    tokens = {
        one["key"]: answer_token(call.caller.principal, task.task_id, one["key"], kit.secret())
        for one in data["questions"]
    }
    result: JsonObject = {
        "content": [{"type": "text", "text": fault or f"The task {task.task_id} is {data['status']}."}],
        "structuredContent": data,
        "isError": fault is not None,
        "_meta": {CARD: {"taskId": task.task_id, "tokens": tokens}},
    }
    return ToolResult(write(result), is_error=fault is not None)


def task_data(kit: Kit, task: Task) -> JsonObject:
    """Write how a task stands; see docs/cards.md for the members."""
    now, message = kit.now(), status_message(task)
    until: JsonObject = {"endedAt": timestamp(task.last_updated_at)} if task.has_ended else {}
    pace: JsonObject = {} if task.has_ended else {"pollIntervalMs": task.poll_hint(now) // _MILLISECOND}
    return {
        "taskId": task.task_id,
        "tool": task.work.tool,
        "title": _title(kit, task),
        "status": modern_status(task.status),
        **({} if message is None else {"statusMessage": message}),
        "createdAt": timestamp(task.created_at),
        "lastUpdatedAt": timestamp(task.last_updated_at),
        **until,
        "now": timestamp(now),
        "ttlMs": task.ttl // _MILLISECOND,
        **pace,
        **_progress(task),
        **_states(kit, task),
        "questions": [_question(one) for one in questions_of(task)],
        **_end(kit, task),
    }


def questions_of(task: Task) -> tuple[InputRequest, ...]:
    """Return the open questions that a person answers."""
    return tuple(one for one in task.input_requests if isinstance(one.asked, Elicitation))


def _title(kit: Kit, task: Task) -> str:
    tool = kit.catalog.known(task.work.tool)
    if tool is None:
        return task.work.tool
    return tool.title or (tool.annotations or {}).get("title") or tool.name


def _progress(task: Task) -> JsonObject:
    progress = task.progress
    if progress is None:
        return {}
    message = None if task.has_ended else task.status.message
    return {
        "progress": {
            "progress": progress.done,
            **({} if progress.total is None else {"total": progress.total}),
            **({} if message is None else {"message": visible(message)}),
        }
    }


def _states(kit: Kit, task: Task) -> JsonObject:
    names = kit.operations.upkeep.passed_states(task)
    return {"states": [visible(name) for name in names]} if names else {}


def _question(request: InputRequest) -> JsonObject:
    asked = request.asked
    params = request_params(request)
    form_or_page: JsonObject = (
        {"url": params["url"]} if isinstance(asked, UrlElicitation) else {"requestedSchema": params["requestedSchema"]}
    )
    return {
        "key": request.key,
        "message": visible(asked.message, _LINE_ENDS) if isinstance(asked, Elicitation) else "",
        "mode": params["mode"],
        **form_or_page,
        "attempt": 2 if request.is_asked_again else 1,
        **({} if request.refusal is None else {"error": request.refusal}),
    }


def _end(kit: Kit, task: Task) -> JsonObject:
    """Return the result or the error of a task that has one."""
    match task.status:
        case Completed():
            match kit.operations.result_of(task):
                case ToolResult(text):
                    value: JsonObject = load_json(text)
                    return {"result": {name: value[name] for name in _OF_A_RESULT if name in value}}
                case error:
                    return {"error": {"code": error.code, "message": error.message}}
        case Failed(error):
            return {"error": {"code": error.code, "message": error.message}}
        case _:
            return {}


_OF_A_RESULT: Final = ("content", "structuredContent", "isError")
