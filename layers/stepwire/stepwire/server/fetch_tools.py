"""The tools for clients without tasks: wait for a task's result, answer its question, cancel it, list one's tasks.

A client that has no tasks cannot send `tasks/get`. Its model can call tools, so these tools do what the methods do,
under the same principal, limits and audit. Their descriptions and results are written for models: each result says
what to do next. A client that declares tasks sees the list alone, because its extension has no method for it.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Final

from stepwire.catalog.tools import ANSWER_TOOL, CANCEL_TOOL, LIST_TOOL, RESULT_TOOL
from stepwire.errors import TaskAlreadyEnded
from stepwire.hooks import Extra, Tools
from stepwire.json_text import JsonObject
from stepwire.rendering import modern_status
from stepwire.server.call import Call
from stepwire.server.results import (
    LIST_STEP,
    NotOpen,
    answer_question,
    fetch_step,
    next_step,
    offered_names,
    question_shown,
    questions_for_models,
    summary,
    task_result,
    text_result,
    who_answers,
)
from stepwire.server.services import Services
from stepwire.server.ways import OwnTool, Wait
from stepwire.tasks.answers import Action
from stepwire.tasks.task import Cancelled, ToolResult, tool_error

_TASK_ID: Final[JsonObject] = {
    "type": "string",
    "description": "The task_id that the call of the tool gave you. Copy it exactly.",
}
_WAIT_SECONDS: Final[JsonObject] = {
    "type": "number",
    "minimum": 0,
    "description": "The longest time to wait; 0 to look at once. Left out, or too large: as long as the server allows.",
}
_AFTER_SECONDS: Final[JsonObject] = {
    "type": "number",
    "minimum": 0,
    "description": "The age of the task in the result that you have read last, as that result names it.",
}
_SHOWN_TASKS: Final = 20


def _result(services: Services, call: Call, arguments: JsonObject) -> Wait:
    asked = arguments.get("wait_seconds")
    longest = services.patience.unresumable_request
    # Compared before it becomes a timedelta, which 1e300 seconds would overflow.
    patience = timedelta(seconds=asked) if asked is not None and asked < longest.total_seconds() else longest
    services.polls.check(call.caller.principal, arguments["task_id"], call.at)
    return Wait(services.operations.get(call.caller.principal, arguments["task_id"]), patience)


def _answer(services: Services, call: Call, arguments: JsonObject) -> ToolResult:
    response = {"action": arguments.get("action", Action.ACCEPT.value), "content": arguments.get("answer", {})}
    services.polls.check(call.caller.principal, arguments["task_id"], call.at)
    try:
        answered = answer_question(services, call, arguments, response, partial(questions_for_models, services))
    except NotOpen as refused:
        task, is_taken = refused.task, False
        if questions_for_models(services, task):
            reason = "has no open question with this key."
        elif task.input_requests:
            reason = "waits for a person, not for you."
        else:
            reason = "has no open question; it may have been answered already."
        words = f"Nothing was answered: the task {task.task_id} {reason}"
    else:
        task, is_taken = answered.task, answered.again is None
        if is_taken:
            words = f"The answer was taken by the task {task.task_id}."
        else:
            words = (
                f"The answer was not accepted. The task {task.task_id} asks again, and the question has another key."
            )
    words = " ".join([words, *who_answers(services, call, task), next_step(services, call, task)])
    if not is_taken:
        return tool_error(words)
    return task_result(words, {**summary(services, task), **question_shown(services, call, task)})


def _cancel(services: Services, call: Call, arguments: JsonObject) -> ToolResult:
    services.polls.check(call.caller.principal, arguments["task_id"], call.at)
    try:
        task = services.operations.cancel(call.caller.principal, arguments["task_id"])
        words = f"The task {task.task_id} was cancelled, and its workflow does not run any more."
    except TaskAlreadyEnded:
        task = services.operations.get(call.caller.principal, arguments["task_id"])
        words = f"Nothing was cancelled: the task {task.task_id} had ended already, as {modern_status(task)}."
        if not isinstance(task.status, Cancelled):
            words = f"{words} {fetch_step(task.task_id)}"
    return task_result(words, summary(services, task))


def _list(services: Services, call: Call, _arguments: JsonObject) -> ToolResult:
    services.polls.check(call.caller.principal, LIST_TOOL, call.at)
    tasks = services.operations.page(call.caller.principal, None).tasks[:_SHOWN_TASKS]
    shown = [summary(services, task) for task in tasks]
    words = "\n".join(map(_line, shown)) if shown else "You have no tasks."
    if not shown or not call.declares_tasks:
        return text_result(words, {"tasks": shown})
    return text_result(f"{words}\n{LIST_STEP}", {"tasks": shown, "instructions": LIST_STEP})


def _line(task: JsonObject) -> str:
    follows = f"  follows {task['follows']}" if "follows" in task else ""
    return f"{task['taskId']}  {task['tool']}  {task['status']}  created {task['createdAt']}{follows}"


_READS: Final[JsonObject] = {"readOnlyHint": True, "openWorldHint": False}
_BY_NAME: Final = (
    OwnTool(
        ANSWER_TOOL,
        "Answer a task's question",
        f"Answer the question with which a task waits. {RESULT_TOOL} shows the question, and the JSON Schema that the "
        "answer must match. Answer only what you know; ask your user if you do not.",
        {
            "task_id": _TASK_ID,
            "question": {"type": "string", "description": "The key of the question, exactly as it was shown."},
            "answer": {
                "type": "object",
                "description": "The fields of the answer, matching the schema that was shown.",
            },
            "action": {
                "type": "string",
                "enum": [action.value for action in Action],
                "description": "accept (when left out) gives the answer; decline and cancel give none.",
            },
        },
        ("task_id", "question"),
        {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        _answer,
    ),
    OwnTool(
        CANCEL_TOOL,
        "Cancel a task",
        "Stop the workflow of a task. Only when the user no longer wants the result: what was stopped cannot go on.",
        {"task_id": _TASK_ID},
        ("task_id",),
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        _cancel,
    ),
    OwnTool(
        LIST_TOOL,
        "List my tasks",
        f"List your newest {_SHOWN_TASKS} tasks with their task_id and status, also those of earlier conversations and "
        "those by which an operator continued one. Use it when you have lost a task_id.",
        {},
        (),
        _READS,
        _list,
    ),
    OwnTool(
        RESULT_TOOL,
        "Wait for a task's result",
        "Get the result of a task that another tool has started. Waits some seconds for the end, and returns early "
        "when there is progress or a question. If the task is not done yet, call it again with the same task_id; a "
        "workflow may take minutes or hours. If a call of it times out, nothing is lost: call it again with "
        "wait_seconds 3. Returns the same result that the tool itself would have returned.",
        {"task_id": _TASK_ID, "wait_seconds": _WAIT_SECONDS, "after_seconds": _AFTER_SECONDS},
        ("task_id",),
        _READS,
        _result,
    ),
)


def _tools(services: Services, call: Call) -> Mapping[str, OwnTool]:
    names = offered_names(services, call)
    return {tool.name: tool for tool in _BY_NAME if tool.name in names}


FETCH_TOOLS: Final = Extra(name="fetch_tools", tools=Tools(_tools))
