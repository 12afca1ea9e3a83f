"""What a client without tasks is told of work that goes on: how its task stands, who may answer, what to do next.

All words are for models: each result says what to do next. Who is offered which tool of Stepwire's own is decided
here, because the words name no tool that the client is not shown.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from stepwire.catalog.tools import ANSWER_TOOL, CANCEL_TOOL, LIST_TOOL, RESULT_TOOL, Tool
from stepwire.json_text import Json, JsonObject, write
from stepwire.rendering import UNFINISHED_TASK, modern_status, request_params, status_message, timestamp
from stepwire.server.kit import Call, Kit
from stepwire.server.tool_calls import declares_tasks, is_followed, shows_card
from stepwire.tasks.inputs import (
    ELICITATION_MODES,
    Elicitation,
    FormElicitation,
    InputRequest,
    Mode,
    WorkflowInput,
    mode_of,
)
from stepwire.tasks.task import Task, ToolResult
from stepwire.visible_text import quoted, visible

_CARD: Final = (
    "If this client shows cards, your user sees the task on one, with its progress and its result, and the card tells "
    "you when it has ended: then you may end your turn now."
)
_NOT_HERE: Final = "it cannot be put to your user over this client's connection"
_BY_CLIENT: Final = "Do not call the tool again for the same work: a client with MCP tasks gets the result by this id."


def offered_names(kit: Kit, call: Call) -> frozenset[str]:
    """Return the names of the tools of Stepwire's own that this client is shown."""
    if declares_tasks(call):
        return frozenset()
    hidden = set[str]()
    if _can_ask_its_user(kit, call):
        hidden.add(ANSWER_TOOL)
    if not kit.access.knows_callers:
        hidden.add(LIST_TOOL)  # T21: without sign-in, all callers are one
    return frozenset({ANSWER_TOOL, CANCEL_TOOL, LIST_TOOL, RESULT_TOOL}) - hidden


def can_ask(kit: Kit, call: Call, request: InputRequest) -> bool:
    """Tell whether this question can be put to this client; a legacy one must resume the response."""
    return mode_of(request.asked) in call.modes and is_followed(kit, call)


def questions_for_models(kit: Kit, task: Task) -> tuple[InputRequest, ...]:
    """Return the open questions that a model may answer; a person has to answer the others."""
    tool = kit.catalog.tools.get(task.work.tool)
    if tool is None or not tool.model_may_answer:
        return ()
    return tuple(one for one in task.input_requests if _is_for_models(one))


def modes_for(kit: Kit, call: Call, tool: Tool, *, is_asked: bool) -> frozenset[Mode]:
    """Return how a workflow may ask: its client, if questions reach it; on a card; or the client's model."""
    if shows_card(call, tool):
        # Its call answers soon, so what the client's model and roots could say comes too late.
        return ELICITATION_MODES | (call.modes if declares_tasks(call) else frozenset[Mode]())
    own = call.modes if is_asked else frozenset[Mode]()
    return own | {Mode.FORM} if tool.model_may_answer and _offers_answers(kit, call) else own


def stops_waiting(kit: Kit, call: Call) -> Callable[[Task], bool]:
    """Return the condition at which a plain call stops waiting: its task has ended, or its model has to answer."""
    return lambda task: task.has_ended or bool(_for_this_model(kit, call, task))


def unfinished(kit: Kit, call: Call, task: Task, *, is_repeat: bool = False, on_card: bool = False) -> ToolResult:
    """Return a result that gives the status of an unfinished task, and the next step of the client's model."""
    first = [repeat_words(kit.catalog.tools.get(task.work.tool))] if is_repeat else []
    step = next_step(kit, call, task)
    words = [*first, _standing(kit, task), *who_answers(kit, call, task), step, *([_CARD] if on_card else [])]
    shown = {**summary(kit, task), **question_shown(kit, call, task)}
    return _unfinished(" ".join(words), {**shown, "repeated": True} if is_repeat else shown)


def unfinished_unread(task_id: str, *, is_repeat: bool = False) -> ToolResult:
    """Say that a task goes on that could not be read now."""
    words = f"The task {task_id} is not done yet. {fetch_step(task_id)}"
    shown: JsonObject = {"taskId": task_id, "status": "working"}
    if is_repeat:
        return _unfinished(f"{repeat_words(None)} {words}", {**shown, "repeated": True})
    return _unfinished(words, shown)


def summary(kit: Kit, task: Task) -> JsonObject:
    """Write how a task stands as data."""
    message = status_message(task)
    until = task.last_updated_at if task.has_ended else kit.now()
    return {
        "taskId": task.task_id,
        "tool": task.work.tool,
        "status": modern_status(task.status),
        **({} if message is None else {"message": message}),
        "createdAt": timestamp(task.created_at),
        "elapsedSeconds": int((until - task.created_at).total_seconds()),
    }


def question_shown(kit: Kit, call: Call, task: Task) -> JsonObject:
    """Return the member of a result's data with the question that this client's model may answer, if there is one."""
    questions = _for_this_model(kit, call, task)
    return {"question": shown_question(questions[0])} if questions else {}


def shown_question(question: InputRequest) -> JsonObject:
    """Write a question as a model reads it."""
    params = request_params(question)
    return {"key": question.key, "message": params["message"], "schema": params["requestedSchema"]}


def said(words: str, data: JsonObject) -> ToolResult:
    """Return a tool result with words for the model, and data."""
    content = [{"type": "text", "text": words}]
    return ToolResult(write({"content": content, "structuredContent": data, "isError": False}), is_error=False)


def told(words: str, task: JsonObject) -> ToolResult:
    """Return a tool result with words for the model, and how a task stands.

    The data contains the words too: some hosts, such as Claude Code, show a model the structured content alone.
    """
    return said(words, {UNFINISHED_TASK: {**task, "instructions": words}})


def repeat_words(tool: Tool | None) -> str:
    """Say that a call started nothing, and whose arguments its task has."""
    equal = "an earlier call like this one"
    if tool is not None and tool.idempotency is not None:
        equal = f"an earlier call with the same {' and '.join(map(visible, tool.idempotency.arguments))}"
    return f"This call started nothing new: {equal} began this task, which runs with the arguments of that call."


def who_answers(kit: Kit, call: Call, task: Task) -> list[str]:
    """Say who has to answer what the task waits for: the model, or a person elsewhere. Empty if neither has to."""
    if questions := _for_this_model(kit, call, task):
        return [f"It waits for an answer that you may give: {write(shown_question(questions[0]))}."]
    users = [one for one in task.input_requests if isinstance(one.asked, Elicitation)]
    if not users or any(can_ask(kit, call, one) for one in users):
        return []
    here = "your user can give it on the card of the task, if this client shows one" if call.shows_cards else _NOT_HERE
    return [
        f"It waits for an answer that a person gives; {here}. Do not answer for them. Tell your user: the question can "
        "be answered from a client that supports MCP elicitation, signed in as the same user."
    ]


def next_step(kit: Kit, call: Call, task: Task) -> str:
    """Say what the model does next."""
    if declares_tasks(call):
        return _BY_CLIENT
    if task.has_ended:
        return fetch_step(task.task_id)
    again = f"Do not call {task.work.tool} again for the same work: {_effect_of_another_call(kit, task)}."
    if questions := _for_this_model(kit, call, task):
        arguments = write({"task_id": task.task_id, "question": questions[0].key, "answer": {}})
        return f"Next: call {ANSWER_TOOL} with {arguments}, the answer filled in by its schema. {again}"
    # Why the age: some hosts, such as Gemini CLI, stop a model that makes one call again and again.
    step = fetch_step(task.task_id, after_seconds=int((kit.now() - task.created_at).total_seconds()))
    return f"{step} It waits for news by itself, so do not pause before it. {again}"


def fetch_step(task_id: str, **more: Json) -> str:
    """Say how the model fetches the result."""
    return f"Next: call {RESULT_TOOL} with {write({'task_id': task_id, **more})}."


def _can_ask_its_user(kit: Kit, call: Call) -> bool:
    return bool(call.modes & ELICITATION_MODES) and is_followed(kit, call)


def _for_this_model(kit: Kit, call: Call, task: Task) -> tuple[InputRequest, ...]:
    # Most tasks have no open question, and a look at one must not ask for the catalog, which the table may hold.
    return questions_for_models(kit, task) if task.input_requests and _offers_answers(kit, call) else ()


def _offers_answers(kit: Kit, call: Call) -> bool:
    return ANSWER_TOOL in offered_names(kit, call)


def _is_for_models(request: InputRequest) -> bool:
    # A confirmation begins the work and is a person's to give, whatever the manifest says; so is a page to open.
    return isinstance(request.asked, FormElicitation) and not isinstance(request.destination, WorkflowInput)


def _unfinished(words: str, task: JsonObject) -> ToolResult:
    result = told(words, task)
    # Also where no model reads it: for a client or a host that looks for it.
    meta = {UNFINISHED_TASK: {"taskId": task["taskId"], "status": task["status"]}}
    return ToolResult(write({**result.value(), "_meta": meta}), is_error=False)


def _standing(kit: Kit, task: Task) -> str:
    elapsed = _elapsed(kit.now() - task.created_at)
    message = status_message(task)
    words = f"The task {task.task_id} of {task.work.tool} is not done yet, after {elapsed}."
    return words if message is None else f"{words} Its status: {quoted(message)}."


def _effect_of_another_call(kit: Kit, task: Task) -> str:
    tool = kit.catalog.tools.get(task.work.tool)
    has_key = tool is not None and tool.idempotency is not None
    return "that would give you the same task, or start it twice" if has_key else "that would start it twice"


def _elapsed(time: timedelta) -> str:
    minutes, seconds = divmod(int(time.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (seconds, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "less than a second"
