"""The tools for clients without tasks: wait for a task's result, answer its question, cancel it, list one's tasks.

A client that has no tasks cannot send `tasks/get`. Its model can call tools, so these tools do what the methods do,
under the same principal, limits and audit. Their descriptions and results are written for models: each result says
what to do next. A client that declares tasks sees none of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Final

from stepwire.catalog.tools import ANSWER_TOOL, CANCEL_TOOL, LIST_TOOL, RESULT_TOOL, Tool
from stepwire.errors import TaskAlreadyEnded, UnknownTask
from stepwire.json_text import JsonObject, as_object, write
from stepwire.protocol.versions import LEGACY_WITH_TASKS, MODERN_VERSIONS, TASKS_EXTENSION
from stepwire.rendering import UNFINISHED_TASK, modern_status, request_params, status_message, timestamp
from stepwire.schemas.validation import violations_of
from stepwire.server.kit import Call, Kit
from stepwire.server.tool_calls import arguments_of, permit, rejection
from stepwire.tasks.inputs import (
    ELICITATION_MODES,
    Action,
    Elicitation,
    FormElicitation,
    InputRequest,
    Mode,
    WorkflowInput,
    mode_of,
    retry_key,
)
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import Cancelled, Task, ToolResult
from stepwire.visible_text import quoted, visible

_TASK_ID: Final[JsonObject] = {
    "type": "string",
    "description": "The task_id that the call of the tool gave you. Copy it exactly.",
}
_WAIT_SECONDS: Final[JsonObject] = {
    "type": "number",
    "minimum": 0,
    "description": "The longest time to wait; 0 to look at once. Left out, or too large: as long as the server allows.",
}
UNKNOWN: Final = tool_error(
    "You have no task with this task_id. Copy the id from the result of the call exactly; it may have expired."
)
"""The result for a task that is not there, whatever the reason."""
_BY_CLIENT: Final = "Do not call the tool again for the same work: a client with MCP tasks gets the result by this id."
_SHOWN_TASKS: Final = 20


@dataclass(frozen=True)
class Wait:
    """What `task_result` does: wait for news of a task."""

    task: Task
    patience: timedelta


@dataclass(frozen=True)
class FetchTool:
    """A tool of Stepwire's own."""

    name: str
    title: str
    description: str
    properties: JsonObject
    required: tuple[str, ...]
    annotations: JsonObject
    run: "Callable[[Kit, Call, JsonObject], ToolResult | Wait]"

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
        }


def declares_tasks(call: Call) -> bool:
    """Tell whether the client declares the extension for tasks, in this very request (X2); A5: not in older eras."""
    return call.version in MODERN_VERSIONS and TASKS_EXTENSION in as_object(call.client_capabilities.get("extensions"))


def can_be_asked(kit: Kit, call: Call) -> bool:
    """Tell whether this client can put a question to its user; a legacy one must come back for the response."""
    return bool(call.modes & ELICITATION_MODES) and (call.version in MODERN_VERSIONS or kit.resumes(call).calls)


def can_ask(kit: Kit, call: Call, request: InputRequest) -> bool:
    """Tell whether this client can put this question to its user."""
    return can_be_asked(kit, call) and mode_of(request.asked) in call.modes


def find(kit: Kit, call: Call) -> FetchTool | None:
    """Return the tool of Stepwire's own that is called; None if the call names another, or one that is not offered."""
    tool = _TOOLS.get(str(call.params.get("name")))
    return tool if tool is not None and tool in offered(kit, call) else None


def offered(kit: Kit, call: Call) -> tuple[FetchTool, ...]:
    """Return the tools of Stepwire's own that this client is shown, in the order of their names."""
    if not kit.fetch_tools or declares_tasks(call):
        return ()
    hidden = set(kit.catalog.tools)  # a catalog that an earlier version compiled may have such a name
    if can_be_asked(kit, call):
        hidden.add(ANSWER_TOOL)
    if not kit.access.knows_callers:
        hidden.add(LIST_TOOL)  # T21: without sign-in, all callers are one
    return tuple(tool for name, tool in _TOOLS.items() if name not in hidden)


def run(kit: Kit, call: Call, tool: FetchTool) -> ToolResult | Wait:
    """Run a tool of Stepwire's own: return its result or, of `task_result`, the task to wait for.

    Bad arguments and unknown tasks are results that a model can act on.
    """
    arguments = arguments_of(call)
    faults = violations_of(tool.input_schema_text, arguments)
    if faults:
        return tool_error(rejection(tool.name, faults))
    try:
        return tool.run(kit, call, arguments)
    except UnknownTask:
        return UNKNOWN


def unfinished(kit: Kit, call: Call, task: Task, *, is_repeat: bool = False) -> ToolResult:
    """Say how a task stands that has not ended, and what its client's model does next."""
    first = [repeat_words(kit.catalog.tools.get(task.work.tool))] if is_repeat else []
    words = [*first, _standing(kit, task), *_asked(kit, call, task), _next_step(kit, call, task)]
    shown = {**summary(kit, task), **_question_shown(kit, call, task)}
    return _unfinished(" ".join(words), {**shown, "repeated": True} if is_repeat else shown)


def unfinished_unread(kit: Kit, task_id: str, *, is_repeat: bool = False) -> ToolResult:
    """Say that a task goes on that could not be read now; only legacy clients are told so."""
    words = f"The task {task_id} is not done yet. {_fetch_step(task_id) if kit.fetch_tools else _BY_CLIENT}"
    shown: JsonObject = {"taskId": task_id, "status": "working"}
    if is_repeat:
        return _unfinished(f"{repeat_words(None)} {words}", {**shown, "repeated": True})
    return _unfinished(words, shown)


def repeat_words(tool: Tool | None) -> str:
    """Say that a call started nothing, and whose arguments its task has."""
    equal = "an earlier call like this one"
    if tool is not None and tool.idempotency is not None:
        equal = f"an earlier call with the same {' and '.join(map(visible, tool.idempotency.arguments))}"
    return f"This call started nothing new: {equal} began this task, which runs with the arguments of that call."


def changed_since(before: Task) -> Callable[[Task], bool]:
    """Return the check whether a task has news for its caller: an end, a question, progress or another state."""
    known = (before.input_requests, before.progress, before.status.message)
    return lambda now: now.has_ended or (now.input_requests, now.progress, now.status.message) != known


def stops_waiting(kit: Kit, call: Call) -> Callable[[Task], bool]:
    """Return the condition at which a plain call stops waiting: its task has ended, or its model has to answer."""
    return lambda task: task.has_ended or bool(_for_this_model(kit, call, task))


def modes_for(kit: Kit, call: Call, tool: Tool, *, is_followed: bool) -> frozenset[Mode]:
    """Return how a workflow may ask: by what the client can ask its user, and by forms that a model may answer.

    Args:
        kit: what the methods work with.
        call: the call that starts the workflow.
        tool: the tool that is called.
        is_followed: whether the client comes back for the response, on which questions travel.
    """
    own = call.modes if is_followed else frozenset[Mode]()
    return own | {Mode.FORM} if tool.model_may_answer and _offers_answers(kit, call) else own


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


def questions_for_models(kit: Kit, task: Task) -> tuple[InputRequest, ...]:
    """Return the open questions that a model may answer; a person has to answer the others."""
    tool = kit.catalog.tools.get(task.work.tool)
    if tool is None or not tool.model_may_answer:
        return ()
    return tuple(one for one in task.input_requests if _is_for_models(one))


def _for_this_model(kit: Kit, call: Call, task: Task) -> tuple[InputRequest, ...]:
    # Most tasks have no open question, and a look at one must not ask for the catalog, which the table may hold.
    return questions_for_models(kit, task) if task.input_requests and _offers_answers(kit, call) else ()


def _offers_answers(kit: Kit, call: Call) -> bool:
    return any(one.name == ANSWER_TOOL for one in offered(kit, call))


def _is_for_models(request: InputRequest) -> bool:
    # A confirmation begins the work and is a person's to give, whatever the manifest says; so is a page to open.
    return isinstance(request.asked, FormElicitation) and not isinstance(request.destination, WorkflowInput)


def _result(kit: Kit, call: Call, arguments: JsonObject) -> Wait:
    asked = arguments.get("wait_seconds")
    longest = kit.patience.unresumable_request
    # Compared before it becomes a timedelta, which 1e300 seconds would overflow.
    patience = timedelta(seconds=asked) if asked is not None and asked < longest.total_seconds() else longest
    kit.polls.check(call.owner, arguments["task_id"])
    return Wait(kit.operations.get(call.owner, arguments["task_id"]), patience)


class _NotOpen(Exception):
    """The question is not open, or not one that a model may answer."""

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
            raise _NotOpen(task)

    kit.polls.check(call.owner, task_id)
    try:
        after = kit.dialogue.respond(call.owner, task_id, {key: response}, check)
    except _NotOpen as refused:
        return tool_error(_not_answered(kit, call, refused.task))
    again = next((one for one in after.input_requests if one.key == retry_key(key, one.number)), None)
    if again is not None:
        shown = write(_shown(again))
        return tool_error(f"The answer was not accepted. The question is open again under another key: {shown}.")
    words = ["The answer was taken.", *_asked(kit, call, after), _next_step(kit, call, after)]
    return _said(" ".join(words), {UNFINISHED_TASK: {**summary(kit, after), **_question_shown(kit, call, after)}})


def _not_answered(kit: Kit, call: Call, task: Task) -> str:
    if questions_for_models(kit, task):
        reason = "the task has no open question with this key."
    elif task.input_requests:
        reason = "the task waits for a person, not for you."
    else:
        reason = "the task has no open question; it may have been answered already."
    return " ".join([f"Nothing was answered: {reason}", *_asked(kit, call, task), _next_step(kit, call, task)])


def _cancel(kit: Kit, call: Call, arguments: JsonObject) -> ToolResult:
    kit.polls.check(call.owner, arguments["task_id"])
    try:
        task = kit.operations.cancel(call.owner, arguments["task_id"])
        words = "The task was cancelled, and its workflow does not run any more."
    except TaskAlreadyEnded:
        task = kit.operations.get(call.owner, arguments["task_id"])
        words = f"Nothing was cancelled: the task had ended already, as {modern_status(task.status)}."
        if not isinstance(task.status, Cancelled):
            words = f"{words} {_fetch_step(task.task_id)}"
    return _said(words, {UNFINISHED_TASK: summary(kit, task)})


def _list(kit: Kit, call: Call, _arguments: JsonObject) -> ToolResult:
    kit.polls.check(call.owner, LIST_TOOL)
    tasks = kit.operations.page(call.owner, None).tasks[:_SHOWN_TASKS]
    shown = [summary(kit, task) for task in tasks]
    lines = [f"{one['taskId']}  {one['tool']}  {one['status']}  created {one['createdAt']}" for one in shown]
    words = "\n".join(lines) if lines else "You have no tasks."
    return _said(words, {"tasks": shown})


def _unfinished(words: str, task: JsonObject) -> ToolResult:
    result = _said(words, {UNFINISHED_TASK: task})
    # Also where no model reads it: for a client or a host that looks for it.
    meta = {UNFINISHED_TASK: {"taskId": task["taskId"], "status": task["status"]}}
    return ToolResult(write({**result.value(), "_meta": meta}), is_error=False)


def _said(words: str, data: JsonObject) -> ToolResult:
    content = [{"type": "text", "text": words}]
    return ToolResult(write({"content": content, "structuredContent": data, "isError": False}), is_error=False)


def _standing(kit: Kit, task: Task) -> str:
    elapsed = _elapsed(kit.now() - task.created_at)
    message = status_message(task)
    words = f"The task {task.task_id} of {task.work.tool} is not done yet, after {elapsed}."
    return words if message is None else f"{words} Its status: {quoted(message)}."


def _asked(kit: Kit, call: Call, task: Task) -> list[str]:
    if questions := _for_this_model(kit, call, task):
        return [f"It waits for an answer that you may give: {write(_shown(questions[0]))}."]
    users = [one for one in task.input_requests if isinstance(one.asked, Elicitation)]
    if not users or any(can_ask(kit, call, one) for one in users):
        return []
    return [
        "It waits for an answer that a person gives, and this client cannot ask for it. Tell your user: the question "
        "can be answered from a client that supports MCP elicitation, signed in as the same user."
    ]


def _question_shown(kit: Kit, call: Call, task: Task) -> JsonObject:
    questions = _for_this_model(kit, call, task)
    return {"question": _shown(questions[0])} if questions else {}


def _shown(question: InputRequest) -> JsonObject:
    params = request_params(question)
    return {"key": question.key, "message": params["message"], "schema": params["requestedSchema"]}


def _next_step(kit: Kit, call: Call, task: Task) -> str:
    if not kit.fetch_tools or declares_tasks(call):
        return _BY_CLIENT
    if task.has_ended:
        return _fetch_step(task.task_id)
    again = f"Do not call {task.work.tool} again for the same work: {_effect_of_another_call(kit, task)}."
    if questions := _for_this_model(kit, call, task):
        arguments = write({"task_id": task.task_id, "question": questions[0].key, "answer": {}})
        return f"Next: call {ANSWER_TOOL} with {arguments}, the answer filled in by its schema. {again}"
    return f"{_fetch_step(task.task_id)} It waits for news by itself, so do not pause before it. {again}"


def _fetch_step(task_id: str) -> str:
    return f"Next: call {RESULT_TOOL} with {write({'task_id': task_id})}."


def _effect_of_another_call(kit: Kit, task: Task) -> str:
    tool = kit.catalog.tools.get(task.work.tool)
    has_key = tool is not None and tool.idempotency is not None
    return "that would give you the same task, or start it twice" if has_key else "that would start it twice"


def _elapsed(time: timedelta) -> str:
    minutes, seconds = divmod(int(time.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (seconds, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "less than a second"


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
        "workflow may take minutes or hours. Returns the same result that the tool itself would have returned.",
        {"task_id": _TASK_ID, "wait_seconds": _WAIT_SECONDS},
        ("task_id",),
        _READS,
        _result,
    ),
)
_TOOLS: Final = MappingProxyType({tool.name: tool for tool in _BY_NAME})
