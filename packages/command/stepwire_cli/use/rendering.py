"""Tasks, tools and results as text and as JSON."""

import json
from typing import Any, Final

from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequest,
    TextContent,
    Tool,
)

from stepwire_cli.screen import Screen, moment, spoken
from stepwire_cli.use.forms import as_typed
from stepwire_cli.visible_text import indented, json_text, plain
from stepwire_client import Completed, Failed, InputRequired, ListedTask, Task

Json = dict[str, Any]
WITH_ERROR: Final = "completed, with an error"
_LONGEST_ERROR: Final = 400  # characters of a line about a task


def result_json(result: CallToolResult) -> Json:
    """Return a result as JSON."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"result_type"})


def result_text(result: CallToolResult) -> str:
    """Return a result for people: its text, or its data where the text says the same."""
    text = "\n".join(block.text if isinstance(block, TextContent) else f"({block.type})" for block in result.content)
    data: Any = result.structured_content
    if data is None or (text and not _says(text, data)):
        return text
    return json_text(data, indent=2)


def status_text(task: Task | ListedTask) -> str:
    """Return a task's status for people, in a line; with the error of a call that ended with one."""
    match task:
        case Completed(result=result) if result.is_error:
            return f"{WITH_ERROR}: {_in_a_line(result_text(result))}"
        case Failed(error=error):
            return f"failed: {_in_a_line(error.message)} ({error.code})"
        case ListedTask(status="failed"):  # so 2025-11-25 calls both; the message has the error
            return WITH_ERROR
        case _:
            return task.status


def _in_a_line(text: str) -> str:
    words = " ".join(plain(text).split())
    return words if len(words) <= _LONGEST_ERROR else f"{words[:_LONGEST_ERROR]} ..."


def task_json(task: Task | ListedTask) -> Json:
    """Return a task as JSON, with what its status has."""
    shown: Json = {
        "taskId": task.task_id,
        "status": task.status,
        "statusMessage": task.status_message,
        "createdAt": task.created_at.isoformat(),
        "lastUpdatedAt": task.last_updated_at.isoformat(),
        "ttlSeconds": None if task.ttl is None else task.ttl.total_seconds(),
    }
    match task:
        case InputRequired(questions=questions):
            shown["questions"] = {key: _question_json(question) for key, question in questions.items()}
        case Completed(result=result):
            shown["result"] = result_json(result)
        case Failed(error=error):
            shown["error"] = error.model_dump(mode="json", exclude_none=True)
        case _:
            pass
    return shown


def show_task(screen: Screen, task: Task) -> None:
    """Print what is known of a task, without its result."""
    kept = "for ever" if task.ttl is None else f"for {spoken(task.ttl)} from its creation"
    rows = [("task", task.task_id), ("status", status_text(task)), ("created", moment(task.created_at))]
    rows += [("changed", moment(task.last_updated_at)), ("kept", kept)]
    if task.status_message and not status_text(task).endswith(task.status_message):
        rows.append(("says", task.status_message))
    if isinstance(task, InputRequired):
        for question in task.questions.values():
            rows.append(("asks", _asked(question)))
            params = question.params if isinstance(question, ElicitRequest) else None
            if isinstance(params, ElicitRequestFormParams) and (values := as_typed(params)):
                rows.append(("answer", values))
    for name, value in rows:
        screen.result(f"{name:<9}{indented(value, 9)}")


def tool_rows(tools: list[Tool]) -> list[tuple[str, str, str]]:
    """Return a row for each tool: its name, its arguments, the first sentence of its description."""
    return [(plain(tool.name), _arguments(tool), _first_sentence(tool.description or "")) for tool in tools]


def _arguments(tool: Tool) -> str:
    required = tool.input_schema.get("required", ())
    names = tool.input_schema.get("properties", {})
    return plain(" ".join(name if name in required else f"[{name}]" for name in names))


def _first_sentence(text: str) -> str:
    words = " ".join(plain(text).split())
    end = words.find(". ")
    return words if end < 0 else words[: end + 1]


def _says(text: str, data: Any) -> bool:
    try:
        return json.loads(text) == data
    except ValueError:
        return False


def _question_json(question: InputRequest) -> Json:
    return question.model_dump(mode="json", by_alias=True, exclude_none=True)


def _asked(question: InputRequest) -> str:
    match question:
        case ElicitRequest(params=ElicitRequestURLParams() as params):
            return f"{params.message} {params.url}"
        case ElicitRequest(params=params):
            return params.message
        case _:
            return question.method
