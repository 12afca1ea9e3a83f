"""The card of a task in hosts with MCP Apps: what a call of a tool returns there, and the tools that only a card calls.

A host without tasks shows the card beside the conversation; so the call answers soon, and its model need not poll. The
host keeps the tools of `visibility: ["app"]` from its model: that a person answers rests on this, and on tokens that no
text for a model holds. Loaded with the first request of such a host.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from stepwire.audit import AuditAction, AuditEntry
from stepwire.catalog.tools import CARD_ANSWER_TOOL, CARD_CANCEL_TOOL, CARD_TASK_TOOL
from stepwire.engine.idempotency import Begun
from stepwire.errors import TaskAlreadyEnded
from stepwire.json_text import JsonObject, write
from stepwire.protocol.tokens import is_answer_token
from stepwire.rendering import naming_card
from stepwire.server.extension import NotOpen, OwnTool
from stepwire.server.extensions.cards.views import questions_of, shown
from stepwire.server.kit import Call, Kit
from stepwire.server.tool_calls import answer_or_raise, permit
from stepwire.server.unfinished import unfinished
from stepwire.tasks.inputs import Action, retry_key
from stepwire.tasks.task import Task, ToolResult

_TASK_ID: Final[JsonObject] = {"type": "string", "description": "The id of the task that the card shows."}
_NOT_OPEN: Final = "Nothing was answered: this question is no longer open."
_NOT_FROM_HERE: Final = "Nothing was answered: the answer does not come from the card of this question."


def first_result(kit: Kit, call: Call, begun: Begun) -> ToolResult:
    """Return the result of a call whose task a card shows: the tool's own where it ends soon.

    Raises:
        WorkflowError: the workflow ended with a JSON-RPC error.
    """
    patience = min(kit.patience.first_request, kit.patience.unresumable_request)
    *_, task = kit.operations.watch(begun.task, patience, lambda seen: seen.has_ended or _asks(seen), call.deadline)
    if task.has_ended:
        return _with_card(answer_or_raise(kit, task), task)
    return _with_card(unfinished(kit, call, task, is_repeat=begun.is_repeat, on_card=True), task)


def _with_card(result: ToolResult, task: Task) -> ToolResult:
    named = naming_card(result.value(), task.task_id, has_ended=task.has_ended)
    return ToolResult(write(named), result.is_error)


def _asks(task: Task) -> bool:
    return bool(questions_of(task))


def _task(kit: Kit, call: Call, arguments: JsonObject) -> ToolResult:
    kit.polls.check(call.caller.principal, arguments["task_id"])
    return shown(kit, call, kit.operations.get(call.caller.principal, arguments["task_id"]))


def _answer(kit: Kit, call: Call, arguments: JsonObject) -> ToolResult:
    """Answer one question. The token is checked before anything else is read."""
    task_id, key = arguments["task_id"], arguments["question"]
    kit.polls.check(call.caller.principal, task_id)
    if not _is_signed(kit, call, arguments):
        return shown(kit, call, kit.operations.get(call.caller.principal, task_id), _NOT_FROM_HERE)
    response = {"action": arguments["action"], "content": arguments.get("content", {})}
    may_call = permit(kit, call.caller.scopes)

    def check(task: Task) -> None:
        may_call(task)
        if key not in {one.key for one in questions_of(task)}:
            raise NotOpen(task)

    try:
        after = kit.dialogue.respond(call.caller.principal, task_id, {key: response}, check)
    except NotOpen as refused:
        return shown(kit, call, refused.task, _NOT_OPEN)
    again = {retry_key(key, one.number): one for one in questions_of(after)}
    refused = next((one for retried, one in again.items() if retried == one.key), None)
    if refused is not None:
        return shown(kit, call, after, f"The answer was not accepted: {refused.refusal}.")
    action = AuditEntry(
        AuditAction.ANSWERED, call.caller.principal, after.work.tool, after.task_id, arguments["action"]
    )
    kit.operations.recorder.audit(action)
    return shown(kit, call, after)


def _is_signed(kit: Kit, call: Call, arguments: JsonObject) -> bool:
    named = (arguments["token"], call.caller.principal, arguments["task_id"], arguments["question"])
    return is_answer_token(*named, kit.secret()) or any(is_answer_token(*named, other) for other in kit.other_secrets())


def _cancel(kit: Kit, call: Call, arguments: JsonObject) -> ToolResult:
    kit.polls.check(call.caller.principal, arguments["task_id"])
    try:
        task = kit.operations.cancel(call.caller.principal, arguments["task_id"])
    except TaskAlreadyEnded:
        task = kit.operations.get(call.caller.principal, arguments["task_id"])
    return shown(kit, call, task)


# Without the URI of the card: their results need no card of their own.
_APP_ONLY: Final[JsonObject] = {"ui": {"visibility": ["app"]}}
_BY_NAME: Final = (
    OwnTool(
        CARD_ANSWER_TOOL,
        "Answer a question on the card",
        "For the card of a task, never for a model: gives a person's answer to a question of the task.",
        {
            "task_id": _TASK_ID,
            "question": {"type": "string", "description": "The key of the question."},
            "token": {"type": "string", "description": "The token of the question, which only the card has."},
            "action": {"type": "string", "enum": [action.value for action in Action]},
            "content": {"type": "object", "description": "The fields of the form, where the action is accept."},
        },
        ("task_id", "question", "token", "action"),
        {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        _answer,
        _APP_ONLY,
    ),
    OwnTool(
        CARD_CANCEL_TOOL,
        "Cancel the task of the card",
        "For the card of a task, never for a model: stops the workflow of the task.",
        {"task_id": _TASK_ID},
        ("task_id",),
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        _cancel,
        _APP_ONLY,
    ),
    OwnTool(
        CARD_TASK_TOOL,
        "Read the task of the card",
        "For the card of a task, never for a model: reads how the task stands.",
        {"task_id": _TASK_ID},
        ("task_id",),
        {"readOnlyHint": True, "openWorldHint": False},
        _task,
        _APP_ONLY,
    ),
)
TOOLS: Final[Mapping[str, OwnTool]] = MappingProxyType({tool.name: tool for tool in _BY_NAME})
"""The tools that only a card calls, in the order of their names."""
