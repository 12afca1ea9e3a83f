"""The card of a task in hosts with MCP Apps: what a call of a tool returns there, and the tools that only a card calls.

A host without tasks shows the card beside the conversation; so the call answers soon, and its model need not poll. The
host keeps the tools of `visibility: ["app"]` from its model: that a person answers rests on this, and on tokens that no
text for a model holds. The rule: tokens are in `_meta`, never in the content or the structured content, which a host
may give to its model. Loaded with the first request of such a host.
"""

import hmac
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from stepwire.codec import MILLISECOND
from stepwire.engine.calls import Begun
from stepwire.errors import TaskAlreadyEnded
from stepwire.extras.cards import CARD, naming_card
from stepwire.extras.cards.audit import ANSWERED
from stepwire.json_text import JsonObject, load_json, write
from stepwire.protocol.tokens import mac_of
from stepwire.rendering import line_data, modern_status, request_params, status_message, timestamp
from stepwire.server.call import Call
from stepwire.server.results import NotOpen, answer_or_raise, answer_question, title_of, unfinished
from stepwire.server.services import Services
from stepwire.server.ways import OwnTool
from stepwire.tasks.answers import Action
from stepwire.tasks.inputs import Elicitation, InputRequest, UrlElicitation
from stepwire.tasks.task import Completed, Failed, Task, ToolResult
from stepwire.visible_text import visible

CARD_TASK_TOOL: Final = "card_task"
CARD_ANSWER_TOOL: Final = "card_answer"
CARD_CANCEL_TOOL: Final = "card_cancel"
_ANSWER: Final = "stepwire card answer 1"
_MORE: Final = (
    "If this client shows cards, your user sees the task on one, with its progress and its result, and the card tells "
    "you when it has ended: then you may end your turn now."
)
_LINE_ENDS: Final = "\n\t"
_OF_A_RESULT: Final = ("content", "structuredContent", "isError")
_TASK_ID: Final[JsonObject] = {"type": "string", "description": "The id of the task that the card shows."}
_NOT_OPEN: Final = "Nothing was answered: this question is no longer open."
_NOT_FROM_HERE: Final = "Nothing was answered: the answer does not come from the card of this question."


def first_result(services: Services, call: Call, begun: Begun) -> ToolResult:
    """Return the result of a call whose task a card shows: the tool's own where it ends soon.

    Raises:
        WorkflowError: the workflow ended with a JSON-RPC error.
    """
    patience = min(services.patience.first_request, services.patience.unresumable_request)
    *_, task = services.operations.watch(
        begun.task, patience, lambda seen: seen.has_ended or bool(questions_of(seen)), call.deadline
    )
    if task.has_ended:
        return _with_card(answer_or_raise(services, task), task)
    return _with_card(unfinished(services, call, task, is_repeat=begun.is_repeat, more=_MORE), task)


def _with_card(result: ToolResult, task: Task) -> ToolResult:
    named = naming_card(result.value(), task.task_id, has_ended=task.has_ended)
    return ToolResult(write(named), result.is_error)


def _task(services: Services, call: Call, arguments: JsonObject) -> ToolResult:
    services.polls.check(call.caller.principal, arguments["task_id"], call.at)
    return shown(services, call, services.operations.get(call.caller.principal, arguments["task_id"]))


def _answer(services: Services, call: Call, arguments: JsonObject) -> ToolResult:
    """Answer one question. The token is checked before anything else is read."""
    task_id = arguments["task_id"]
    services.polls.check(call.caller.principal, task_id, call.at)
    if not _is_signed(services, call, arguments):
        return shown(services, call, services.operations.get(call.caller.principal, task_id), _NOT_FROM_HERE)
    response = {"action": arguments["action"], "content": arguments.get("content", {})}
    try:
        answered = answer_question(services, call, arguments, response, questions_of)
    except NotOpen as refused:
        return shown(services, call, refused.task, _NOT_OPEN)
    task = answered.task
    if answered.again is not None:
        return shown(services, call, task, f"The answer was not accepted: {answered.again.refusal}.")
    services.operations.recorder.note(ANSWERED, task, arguments["action"])
    return shown(services, call, task)


def _is_signed(services: Services, call: Call, arguments: JsonObject) -> bool:
    named = (arguments["token"], call.caller.principal, arguments["task_id"], arguments["question"])
    return is_answer_token(*named, services.secret()) or any(
        is_answer_token(*named, other) for other in services.other_secrets()
    )


def answer_token(owner: str, task_id: str, key: str, secret: bytes) -> str:
    """Return the token that lets a card answer one question of a task, bound to the caller, the task and the question.

    Keys are used once in the life of a task, and a question is answered once; so is a token of use only once.
    """
    # None of the parts has a line break.
    return mac_of(_ANSWER, "\n".join((owner, task_id, key)), secret)


def is_answer_token(token: str, owner: str, task_id: str, key: str, secret: bytes) -> bool:
    """Tell whether a text is the token for a question, signed with this secret."""
    return hmac.compare_digest(token.encode(errors="replace"), answer_token(owner, task_id, key, secret).encode())


def _cancel(services: Services, call: Call, arguments: JsonObject) -> ToolResult:
    services.polls.check(call.caller.principal, arguments["task_id"], call.at)
    try:
        task = services.operations.cancel(call.caller.principal, arguments["task_id"])
    except TaskAlreadyEnded:
        task = services.operations.get(call.caller.principal, arguments["task_id"])
    return shown(services, call, task)


# ------------------------------------------------------------------------------------------------ what a card reads


def shown(services: Services, call: Call, task: Task, fault: str | None = None) -> ToolResult:
    """Return a task as its card reads it; with a fault: as the error of a tool, in words for the card's user."""
    data = task_data(services, task)
    tokens = {
        one["key"]: answer_token(call.caller.principal, task.task_id, one["key"], services.secret())
        for one in data["questions"]
    }
    result: JsonObject = {
        "content": [{"type": "text", "text": fault or f"The task {task.task_id} is {data['status']}."}],
        "structuredContent": data,
        "isError": fault is not None,
        "_meta": {CARD: {"taskId": task.task_id, "tokens": tokens}},
    }
    return ToolResult(write(result), is_error=fault is not None)


def task_data(services: Services, task: Task) -> JsonObject:
    """Write how a task stands; see docs/extras/cards.md for the members."""
    now, message, states = services.now(), status_message(task), services.operations.upkeep.passed_states(task)
    until: JsonObject = {"endedAt": timestamp(task.last_updated_at)} if task.has_ended else {}
    pace: JsonObject = {} if task.has_ended else {"pollIntervalMs": task.poll_hint(now) // MILLISECOND}
    return {
        "taskId": task.task_id,
        "tool": task.work.tool,
        "title": title_of(services, task),
        "status": modern_status(task),
        **({} if message is None else {"statusMessage": message}),
        "createdAt": timestamp(task.created_at),
        "lastUpdatedAt": timestamp(task.last_updated_at),
        **until,
        "now": timestamp(now),
        "ttlMs": task.kept // MILLISECOND,
        **pace,
        **_progress(task),
        **({} if task.in_line is None else {"line": line_data(task.in_line)}),
        **({"states": [visible(name) for name in states]} if states else {}),
        "questions": [_question(one) for one in questions_of(task)],
        **_end(services, task),
    }


def questions_of(task: Task) -> tuple[InputRequest, ...]:
    """Return the open questions that a person answers."""
    return tuple(one for one in task.input_requests if isinstance(one.asked, Elicitation))


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


def _end(services: Services, task: Task) -> JsonObject:
    """Return the result or the error of a task that has one."""
    match task.status:
        case Completed():
            match services.operations.result_of(task):
                case ToolResult(text):
                    value: JsonObject = load_json(text)
                    return {"result": {name: value[name] for name in _OF_A_RESULT if name in value}}
                case error:
                    return {"error": {"code": error.code, "message": error.message}}
        case Failed(error):
            return {"error": {"code": error.code, "message": error.message}}
        case _:
            return {}


# -------------------------------------------------------------------------------------------------------- the tools


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
