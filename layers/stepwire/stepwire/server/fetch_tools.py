"""The tools for clients without tasks: wait for a task's result, answer its question, cancel it, list one's tasks.

A client that has no tasks cannot send `tasks/get`. Its model can call tools, so these tools do what the methods do,
under the same principal, limits and audit. Their descriptions and results are written for models: each result says
what to do next. A client that declares tasks sees none of them. Both eras run them here; an `Era` says how
its client is answered and asked.
"""

import importlib
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from stepwire.catalog.tools import ANSWER_TOOL, CANCEL_TOOL, CARD_TOOLS, LIST_TOOL, RESULT_TOOL
from stepwire.engine.arguments import given_in
from stepwire.errors import TaskAlreadyEnded, UnknownTask
from stepwire.json_text import JsonObject, write
from stepwire.protocol.versions import LEGACY_WITH_TASKS
from stepwire.rendering import modern_status
from stepwire.schemas.validation import violations_of
from stepwire.server.kit import Call, Kit, Reply
from stepwire.server.tool_calls import answer_or_raise, arguments_of, permit, rejection
from stepwire.server.unfinished import (
    can_ask,
    fetch_step,
    next_step,
    offered_names,
    question_shown,
    questions_for_models,
    said,
    summary,
    told,
    unfinished,
    who_answers,
)
from stepwire.tasks.inputs import Action, retry_key
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import Cancelled, Task, ToolResult

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
_UNKNOWN: Final = tool_error(
    "You have no task with this task_id. Copy the id from the result of the call exactly; it may have expired."
)
"""The result for a task that is not there, whatever the reason."""
_SHOWN_TASKS: Final = 20


class Wait(Struct, frozen=True):
    """What `task_result` does: wait for news of a task."""

    task: Task
    patience: timedelta


class FetchTool(Struct, frozen=True, dict=True):
    """A tool of Stepwire's own."""

    name: str
    title: str
    description: str
    properties: JsonObject
    required: tuple[str, ...]
    annotations: JsonObject
    run: "Callable[[Kit, Call, JsonObject], ToolResult | Wait]"
    meta: JsonObject | None = None

    @cached_property
    def input_schema(self) -> JsonObject:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": self.properties,
            **({"required": list(self.required)} if self.required else {}),  # some validators refuse an empty list
            "additionalProperties": False,
        }

    @cached_property
    def input_schema_text(self) -> str:
        """The schema as JSON text, under which its compiled form is kept."""
        return write(self.input_schema)

    def shown(self, version: str) -> JsonObject:
        """Write it as `tools/list` of a version shows it."""
        return {
            **({"execution": {"taskSupport": "forbidden"}} if version == LEGACY_WITH_TASKS else {}),
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": self.annotations,
            **({} if self.meta is None else {"_meta": self.meta}),
        }


def find(kit: Kit, call: Call) -> FetchTool | None:
    """Return the tool of Stepwire's own that is called; None if the call names another, or one that is not offered."""
    name = str(call.params.get("name"))
    if name in CARD_TOOLS:
        return _for_cards(call).get(name)
    tool = _TOOLS.get(name)
    return tool if tool is not None and tool.name in offered_names(kit, call) else None


def offered(kit: Kit, call: Call) -> tuple[FetchTool, ...]:
    """Return the tools of Stepwire's own that this client is shown, in the order of their names."""
    names = offered_names(kit, call)
    return (*_for_cards(call).values(), *(tool for name, tool in _TOOLS.items() if name in names))


def _for_cards(call: Call) -> "Mapping[str, FetchTool]":
    """Return the tools that only a card calls, loaded with the first request of a host that shows cards."""
    if not call.shows_cards:
        return {}
    return importlib.import_module("stepwire.server.cards").TOOLS


class Era(Struct, frozen=True):
    """How the client of an era gets a result, and a question of the task that its model waits for."""

    write: Callable[[ToolResult], JsonObject]
    ask: Callable[[Task], Reply]
    """Puts the open questions to the client."""
    take: Callable[[Task], Task]
    """Returns the task with the answers that the call brings along."""


def run(kit: Kit, call: Call, tool: FetchTool, era: Era) -> Reply:
    """Run a tool of Stepwire's own. Bad arguments and unknown tasks are results that a model can act on."""
    sent = arguments_of(call)
    arguments = given_in(tool.input_schema_text, sent) if None in sent.values() else sent
    faults = violations_of(tool.input_schema_text, arguments)
    if faults:
        return era.write(tool_error(rejection(tool.name, faults)))
    try:
        outcome = tool.run(kit, call, arguments)
        return era.write(outcome) if isinstance(outcome, ToolResult) else _waited_for(kit, call, outcome, era)
    except UnknownTask:  # or it expired meanwhile
        return era.write(_UNKNOWN)


def _waited_for(kit: Kit, call: Call, wait: Wait, era: Era) -> Reply:
    """Wait for news of a task; a question that this client can be asked goes to it at once."""
    before = era.take(wait.task)

    def wants_client(seen: Task) -> bool:
        return _has_news(before, seen) or _can_ask_any(kit, call, seen)

    *_, task = kit.operations.watch(before, wait.patience, wants_client, call.deadline)
    if task.has_ended:
        return era.write(answer_or_raise(kit, task))
    return era.ask(task) if _can_ask_any(kit, call, task) else era.write(unfinished(kit, call, task))


def _can_ask_any(kit: Kit, call: Call, task: Task) -> bool:
    return any(can_ask(kit, call, one) for one in task.input_requests)


def _has_news(before: Task, now: Task) -> bool:
    """Tell whether a task has news for its caller: an end, a question, progress or another state."""
    known = (before.input_requests, before.progress, before.status.message)
    return now.has_ended or (now.input_requests, now.progress, now.status.message) != known


def _result(kit: Kit, call: Call, arguments: JsonObject) -> Wait:
    asked = arguments.get("wait_seconds")
    longest = kit.patience.unresumable_request
    # Compared before it becomes a timedelta, which 1e300 seconds would overflow.
    patience = timedelta(seconds=asked) if asked is not None and asked < longest.total_seconds() else longest
    kit.polls.check(call.owner, arguments["task_id"])
    return Wait(kit.operations.get(call.owner, arguments["task_id"]), patience)


class NotOpen(Exception):
    """The question is not open, or not one that the caller of the tool may answer."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task


def _answer(kit: Kit, call: Call, arguments: JsonObject) -> ToolResult:
    """Answer the question with this very key: a model answers what it has read, and not what is asked by now."""
    key, task_id = arguments["question"], arguments["task_id"]
    response = {"action": arguments.get("action", Action.ACCEPT.value), "content": arguments.get("answer", {})}
    may_call = permit(kit, call.scopes)

    def check(task: Task) -> None:
        may_call(task)
        if key not in {one.key for one in questions_for_models(kit, task)}:
            raise NotOpen(task)

    kit.polls.check(call.owner, task_id)
    try:
        after = kit.dialogue.respond(call.owner, task_id, {key: response}, check)
    except NotOpen as refused:
        return tool_error(_not_answered(kit, call, refused.task))
    again = next((one for one in after.input_requests if one.key == retry_key(key, one.number)), None)
    if again is not None:
        words = f"The answer was not accepted. The task {after.task_id} asks again, and the question has another key."
        return tool_error(" ".join([words, *who_answers(kit, call, after), next_step(kit, call, after)]))
    words = [
        f"The answer was taken by the task {after.task_id}.",
        *who_answers(kit, call, after),
        next_step(kit, call, after),
    ]
    return told(" ".join(words), {**summary(kit, after), **question_shown(kit, call, after)})


def _not_answered(kit: Kit, call: Call, task: Task) -> str:
    if questions_for_models(kit, task):
        reason = "has no open question with this key."
    elif task.input_requests:
        reason = "waits for a person, not for you."
    else:
        reason = "has no open question; it may have been answered already."
    words = f"Nothing was answered: the task {task.task_id} {reason}"
    return " ".join([words, *who_answers(kit, call, task), next_step(kit, call, task)])


def _cancel(kit: Kit, call: Call, arguments: JsonObject) -> ToolResult:
    kit.polls.check(call.owner, arguments["task_id"])
    try:
        task = kit.operations.cancel(call.owner, arguments["task_id"])
        words = f"The task {task.task_id} was cancelled, and its workflow does not run any more."
    except TaskAlreadyEnded:
        task = kit.operations.get(call.owner, arguments["task_id"])
        words = f"Nothing was cancelled: the task {task.task_id} had ended already, as {modern_status(task.status)}."
        if not isinstance(task.status, Cancelled):
            words = f"{words} {fetch_step(task.task_id)}"
    return told(words, summary(kit, task))


def _list(kit: Kit, call: Call, _arguments: JsonObject) -> ToolResult:
    kit.polls.check(call.owner, LIST_TOOL)
    tasks = kit.operations.page(call.owner, None).tasks[:_SHOWN_TASKS]
    shown = [summary(kit, task) for task in tasks]
    lines = [f"{one['taskId']}  {one['tool']}  {one['status']}  created {one['createdAt']}" for one in shown]
    words = "\n".join(lines) if lines else "You have no tasks."
    return said(words, {"tasks": shown})


_READS: Final[JsonObject] = {"readOnlyHint": True, "openWorldHint": False}
_BY_NAME: Final = (
    FetchTool(
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
    FetchTool(
        CANCEL_TOOL,
        "Cancel a task",
        "Stop the workflow of a task. Only when the user no longer wants the result: what was stopped cannot go on.",
        {"task_id": _TASK_ID},
        ("task_id",),
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        _cancel,
    ),
    FetchTool(
        LIST_TOOL,
        "List my tasks",
        f"List your newest {_SHOWN_TASKS} tasks with their task_id and status, also those of earlier conversations. "
        "Use it when you have lost a task_id.",
        {},
        (),
        _READS,
        _list,
    ),
    FetchTool(
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
_TOOLS: Final = MappingProxyType({tool.name: tool for tool in _BY_NAME})
