"""The results of calls, for ended tasks and, for the model of a client without tasks, for unfinished ones.

The texts are for models: each says the task's state, who may answer, and what to do next. This module also decides
which of Stepwire's own tools a client sees, because the texts name only these, and takes the answers that come by such
a tool or by a response on a stream.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from msgspec import Struct

from stepwire.catalog.tools import ANSWER_TOOL, CANCEL_TOOL, LIST_TOOL, RESULT_TOOL, Tool
from stepwire.errors import WorkflowError
from stepwire.json_text import Json, JsonObject, write
from stepwire.rendering import (
    UNFINISHED_TASK,
    legacy_result,
    modern_result,
    modern_status,
    request_params,
    status_message,
    timestamp,
)
from stepwire.schemas.validation import Violation
from stepwire.server.call import Call, views
from stepwire.server.services import Services
from stepwire.tasks.inputs import (
    ELICITATION_MODES,
    Elicitation,
    FormElicitation,
    InputRequest,
    WorkflowInput,
    mode_of,
    retry_key,
)
from stepwire.tasks.task import Cancelled, Task, TaskError, ToolResult, tool_error
from stepwire.visible_text import quoted, visible

_FOR_OTHERS: Final = (
    "It waits for others to decide, who hear of it by another way: nobody can answer it here, so do not try. It may "
    "take long; tell your user whom it waits for."
)
_NOT_HERE: Final = "it cannot be put to your user over this client's connection"
_BY_CLIENT: Final = "Do not call the tool again for the same work: a client with MCP tasks gets the result by this id."
LIST_STEP: Final = (
    "No tool gives their results: this client has MCP tasks, and follows each task by its taskId (tasks/get), also one "
    "that follows another. Do not call a tool again for the same work."
)
"""Tell a model how to use the list of its tasks, if its client declares tasks."""


def has_ended(task: Task) -> bool:
    """Tell whether the task has ended, so that waiting for it can stop."""
    return task.has_ended


def rejection(tool: str, faults: tuple[Violation, ...]) -> str:
    """Return a message that lists what is wrong with the arguments, so that a model can correct them."""
    wrong = "; ".join(map(str, faults))
    return f"The arguments of {tool} are not valid, and nothing was started: {wrong}."


def answer_or_raise(services: Services, task: Task) -> ToolResult:
    """Return the result of an ended task, as the call itself would have returned it (T14).

    Raises:
        WorkflowError: the workflow ended with a JSON-RPC error.
    """
    if isinstance(task.status, Cancelled):  # K4: no specification defines this; a tool result reaches the model
        return tool_error(f"The task {task.task_id} was cancelled, so it has no result.")
    return result_or_raise(services.operations.result_of(task))


def result_or_raise(ended: ToolResult | TaskError) -> ToolResult:
    """Return the result of a workflow that has ended.

    Raises:
        WorkflowError: it ended with a JSON-RPC error.
    """
    match ended:
        case TaskError(code, message, data):
            raise WorkflowError(code, message, data)
        case ToolResult() as result:
            return result


def written(call: Call, result: ToolResult) -> JsonObject:
    """Return a CallToolResult as the era of a call writes it."""
    return modern_result(result) if call.is_modern else legacy_result(result)


# ------------------------------------------------------------------------------------------------ work that goes on


def offered_names(services: Services, call: Call) -> frozenset[str]:
    """Return the names of Stepwire's own tools that this client sees.

    A client that declares tasks polls, answers and cancels them itself, but its extension has no method to list them.
    """
    hidden = {ANSWER_TOOL, CANCEL_TOOL, RESULT_TOOL} if call.declares_tasks else set[str]()
    if call.modes & ELICITATION_MODES and call.is_followed():
        hidden.add(ANSWER_TOOL)
    if not services.access.knows_callers:
        hidden.add(LIST_TOOL)  # T21: without sign-in, all callers are one
    return frozenset({ANSWER_TOOL, CANCEL_TOOL, LIST_TOOL, RESULT_TOOL}) - hidden


def can_ask(call: Call, request: InputRequest) -> bool:
    """Tell whether this question can be put to this client; a legacy one must resume the response."""
    return mode_of(request.asked) in call.modes and call.is_followed()


def questions_for_models(services: Services, task: Task) -> tuple[InputRequest, ...]:
    """Return the open questions that a model may answer; a person has to answer the others."""
    tool = services.catalog.tools.get(task.work.tool)
    if tool is None or not tool.model_may_answer:
        return ()
    return tuple(one for one in task.input_requests if _is_for_models(one))


class NotOpen(Exception):
    """The question is not open, or not one that the caller of the tool may answer."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task


class Answered(Struct, frozen=True):
    """A task after an answer to one of its questions."""

    task: Task
    again: InputRequest | None
    """The question with its new key, if the answer was wrong."""


def answer_question(
    services: Services,
    call: Call,
    arguments: JsonObject,
    response: JsonObject,
    open_to: Callable[[Task], tuple[InputRequest, ...]],
) -> Answered:
    """Answer the question with exactly this key, not a newer one that the caller has not read.

    Raises:
        InsufficientScope: the caller may not call the task's tool.
        NotOpen: the question is not among those.
    """
    key, may_call = arguments["question"], services.permit(call.caller.scopes)

    def check(task: Task) -> None:
        may_call(task)
        if key not in {one.key for one in open_to(task)}:
            raise NotOpen(task)

    task = services.answers.respond(call.caller.principal, arguments["task_id"], {key: response}, check)
    return Answered(task, next((one for one in task.input_requests if one.key == retry_key(key, one.number)), None))


def open_question(services: Services, call: Call, task: Task, number: str) -> InputRequest | None:
    """Return the open question of this number, which the caller may answer; None if there is none.

    Raises:
        InsufficientScope: the caller may not call the task's tool.
    """
    request = next((one for one in task.input_requests if number == str(one.number)), None)
    if request is not None:
        services.permit(call.caller.scopes)(task)
    return request


def take_answer(
    services: Services, call: Call, task: Task, request: InputRequest | None, result: JsonObject | None
) -> None:
    """Take an answer to a question, if that is open; None stands for an error."""
    if request is None:
        return
    if result is None:
        services.answers.mark_unanswerable(call.caller.principal, task.task_id, request.key)
    else:
        services.answers.respond(call.caller.principal, task.task_id, {request.key: result})


def stops_waiting(services: Services, call: Call) -> Callable[[Task], bool]:
    """Return the condition at which a plain call stops waiting: its task has ended, or its model has to answer."""
    return lambda task: task.has_ended or bool(_for_this_model(services, call, task))


def unfinished(services: Services, call: Call, task: Task, *, is_repeat: bool = False, more: str = "") -> ToolResult:
    """Return a result that gives the status of an unfinished task, and the next step of the client's model."""
    first = [repeat_words(services.catalog.tools.get(task.work.tool))] if is_repeat else []
    step = next_step(services, call, task)
    words = [
        *first,
        _progress_words(services, task),
        *who_answers(services, call, task),
        step,
        *([more] if more else []),
    ]
    shown = {**summary(services, task), **question_shown(services, call, task)}
    return _unfinished(" ".join(words), {**shown, "repeated": True} if is_repeat else shown)


def unfinished_unread(task_id: str, *, is_repeat: bool = False) -> ToolResult:
    """Say that a task continues but could not be read now."""
    words = f"The task {task_id} is not done yet. {fetch_step(task_id)}"
    shown: JsonObject = {"taskId": task_id, "status": "working"}
    if is_repeat:
        return _unfinished(f"{repeat_words(None)} {words}", {**shown, "repeated": True})
    return _unfinished(words, shown)


def summary(services: Services, task: Task) -> JsonObject:
    """Write the state of a task as data."""
    message = status_message(task)
    until = task.last_updated_at if task.has_ended else services.now()
    return {
        "taskId": task.task_id,
        "tool": task.work.tool,
        "status": modern_status(task),
        **({} if task.follows is None else {"follows": task.follows.task_id}),
        **({} if message is None else {"message": message}),
        "createdAt": timestamp(task.created_at),
        "elapsedSeconds": int((until - task.created_at).total_seconds()),
    }


def title_of(services: Services, task: Task) -> str:
    """Return the display name of a task's tool."""
    tool = services.catalog.known(task.work.tool)
    return task.work.tool if tool is None else tool.shown_title


def question_shown(services: Services, call: Call, task: Task) -> JsonObject:
    """Return the member of a result's data with the question that this client's model may answer, if there is one."""
    questions = _for_this_model(services, call, task)
    return {"question": shown_question(questions[0])} if questions else {}


def shown_question(question: InputRequest) -> JsonObject:
    """Write a question for a model."""
    params = request_params(question)
    return {"key": question.key, "message": params["message"], "schema": params["requestedSchema"]}


def text_result(words: str, data: JsonObject) -> ToolResult:
    """Return a tool result with a text for the model, and data."""
    content = [{"type": "text", "text": words}]
    return ToolResult(write({"content": content, "structuredContent": data, "isError": False}), is_error=False)


def task_result(words: str, task: JsonObject) -> ToolResult:
    """Return a tool result with a text for the model, and the state of a task.

    The data contains the text too: some hosts, such as Claude Code, show a model only the structured content.
    """
    return text_result(words, {UNFINISHED_TASK: {**task, "instructions": words}})


def repeat_words(tool: Tool | None) -> str:
    """Say that a call started nothing, and which call's arguments its task has."""
    equal = "an earlier call like this one"
    if tool is not None and tool.idempotency is not None:
        equal = f"an earlier call with the same {' and '.join(map(visible, tool.idempotency.arguments))}"
    return f"This call started nothing new: {equal} began this task, which runs with the arguments of that call."


def who_answers(services: Services, call: Call, task: Task) -> list[str]:
    """Say who must answer the task's question: the model, or a person elsewhere. Empty if neither must."""
    if questions := _for_this_model(services, call, task):
        return [f"It waits for an answer that you may give: {write(shown_question(questions[0]))}."]
    others = [_FOR_OTHERS] if len(task.questions) > len(task.input_requests) else []
    users = [one for one in task.input_requests if isinstance(one.asked, Elicitation)]
    if not users or any(can_ask(call, one) for one in users):
        return others
    here = next((view.place for view in views(services, call)), _NOT_HERE)
    return [
        *others,
        f"It waits for an answer that a person gives; {here}. Do not answer for them. Tell your user: the question can "
        "be answered from a client that supports MCP elicitation, signed in as the same user.",
    ]


def next_step(services: Services, call: Call, task: Task) -> str:
    """Say what the model does next."""
    if call.declares_tasks:
        return _BY_CLIENT
    if task.has_ended:
        return fetch_step(task.task_id)
    again = f"Do not call {task.work.tool} again for the same work: {_effect_of_another_call(services, task)}."
    if questions := _for_this_model(services, call, task):
        arguments = write({"task_id": task.task_id, "question": questions[0].key, "answer": {}})
        return f"Next: call {ANSWER_TOOL} with {arguments}, the answer filled in by its schema. {again}"
    # Why the age: some hosts, such as Gemini CLI, stop a model that repeats the same call.
    step = fetch_step(task.task_id, after_seconds=int((services.now() - task.created_at).total_seconds()))
    return f"{step} It waits for news by itself, so do not pause before it. {again}"


def fetch_step(task_id: str, **more: Json) -> str:
    """Say how the model fetches the result."""
    return f"Next: call {RESULT_TOOL} with {write({'task_id': task_id, **more})}."


def _for_this_model(services: Services, call: Call, task: Task) -> tuple[InputRequest, ...]:
    # Most tasks have no open question; their polls must not load the catalog, which may be in the table.
    return questions_for_models(services, task) if task.input_requests and offers_answers(services, call) else ()


def offers_answers(services: Services, call: Call) -> bool:
    """Tell whether this client's model may answer questions that it is shown."""
    return ANSWER_TOOL in offered_names(services, call)


def _is_for_models(request: InputRequest) -> bool:
    # Only a person may confirm the start or open a page, whatever the manifest says.
    return isinstance(request.asked, FormElicitation) and not isinstance(request.destination, WorkflowInput)


def _unfinished(words: str, task: JsonObject) -> ToolResult:
    result = task_result(words, task)
    # Also for clients and hosts that read it themselves.
    meta = {UNFINISHED_TASK: {"taskId": task["taskId"], "status": task["status"]}}
    return ToolResult(write({**result.value(), "_meta": meta}), is_error=False)


def _progress_words(services: Services, task: Task) -> str:
    elapsed = _elapsed(services.now() - task.created_at)
    message = status_message(task)
    words = f"The task {task.task_id} of {task.work.tool} is not done yet, after {elapsed}."
    return words if message is None else f"{words} Its status: {quoted(message)}."


def _effect_of_another_call(services: Services, task: Task) -> str:
    tool = services.catalog.tools.get(task.work.tool)
    has_key = tool is not None and tool.idempotency is not None
    return "that would give you the same task, or start it twice" if has_key else "that would start it twice"


def _elapsed(time: timedelta) -> str:
    minutes, seconds = divmod(int(time.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (seconds, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "less than a second"
