"""Tasks: a call is answered with a handle at once, and its client polls. Part of 2025-11-25, an extension since.

A modern client declares the extension in each request (X24). The two versions before 2025-11-25 have no tasks.
"""

from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Final, cast

from stepwire.catalog.tools import TaskSupport, Tool
from stepwire.engine.calls import Begun
from stepwire.errors import (
    InvalidCursor,
    InvalidParams,
    MethodNotFound,
    MissingClientCapability,
    NotAcceptable,
    TaskAlreadyEnded,
    TaskStillRunning,
    UnknownTask,
)
from stepwire.hooks import Extra, Protocol
from stepwire.json_text import Json, JsonObject
from stepwire.protocol.http import RoutedName, ServerSentEvent, body_of
from stepwire.protocol.messages import (
    LEGACY_WITH_TASKS,
    META_SUBSCRIPTION,
    MODEL_IMMEDIATE_RESPONSE,
    MODERN_VERSIONS,
    TASKS_CAPABILITY,
    TASKS_EXTENSION,
    notification_text,
    result_text,
)
from stepwire.protocol.tokens import cursor_text_in, next_cursor
from stepwire.rendering import (
    complete_result,
    legacy_result,
    legacy_task,
    mark_repeated,
    modern_answer,
    modern_requests,
    modern_task,
    task_meta,
    with_meta,
)
from stepwire.server.call import Call, Reply, ResultOnStream, Stream, object_in, views
from stepwire.server.results import answer_or_raise, has_ended, repeat_words
from stepwire.server.services import Services
from stepwire.server.ways import Method, Way
from stepwire.tasks.ids import task_id_of
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    InputRequired,
    ResultElsewhere,
    ResultInExecution,
    StoredResult,
    Task,
    ToolResult,
)

MOST_SUBSCRIPTIONS: Final = 20  # tasks in one subscription
_LARGEST_IN_A_SUBSCRIPTION: Final = 100_000  # bytes of a result


def get_task(services: Services, call: Call) -> JsonObject:
    """Return a task with the details of its status: result, error or input requests (X10)."""
    _check_declared(call)
    services.polls.check(call.caller.principal, call.params.get("taskId"), call.at)
    task = services.operations.get(call.caller.principal, call.params.get("taskId"))
    return _detailed(services, call, task)


def update_task(services: Services, call: Call) -> JsonObject:
    """Record answers to input requests; unknown and already answered keys are ignored (X15 to X17).

    A wrong answer is acknowledged too, and its question asked again under a new key: on an error, `ext-tasks` gives up.
    """
    _check_declared(call)
    services.polls.check(call.caller.principal, call.params.get("taskId"), call.at)
    responses = object_in(call.params, "inputResponses")
    services.answers.respond(
        call.caller.principal, call.params.get("taskId"), responses, services.permit(call.caller.scopes)
    )
    return {}


def cancel_task(services: Services, call: Call) -> JsonObject:
    """Cancel a task, and acknowledge; a task that has ended is acknowledged too (X18, X20)."""
    _check_declared(call)
    services.polls.check(call.caller.principal, call.params.get("taskId"), call.at)
    with suppress(TaskAlreadyEnded):
        services.operations.cancel(call.caller.principal, call.params.get("taskId"))
    return {}


def listen(services: Services, call: Call) -> Stream:
    """Return the current state of the tasks that a client subscribes to, then end the stream (M50 to M54).

    The response is complete at once: a client that waits for the acknowledgement must not wait for a change as well.
    So only tasks are acknowledged, and no capability invites a client to listen (decision 72).
    """
    wanted = object_in(call.params, "notifications")
    task_ids = _task_ids(wanted.get("taskIds"))
    if task_ids:
        _check_declared(call)
    if not call.headers.accepts_events:
        raise NotAcceptable("The Accept header must allow text/event-stream.")
    tasks = [task for task_id in task_ids for task in _subscribed(services, call, task_id)]
    agreed: JsonObject = {"taskIds": [task.task_id for task in tasks]} if task_ids else {}
    subscription: JsonObject = {META_SUBSCRIPTION: call.message_id}
    texts = [
        notification_text("notifications/subscriptions/acknowledged", {"_meta": subscription, "notifications": agreed}),
        *(
            notification_text("notifications/tasks", {**_detailed(services, call, task), "_meta": subscription})
            for task in tasks
        ),
        result_text(call.message_id, complete_result({"_meta": subscription})),
    ]
    return Stream(body_of(map(ServerSentEvent, texts)))


def _check_declared(call: Call) -> None:
    """X24: refuse a client that does not declare the extension before anything is read from the store."""
    if not call.asks_for_task:
        raise MissingClientCapability(f"This method needs the client extension {TASKS_EXTENSION}.", TASKS_CAPABILITY)


def _detailed(services: Services, call: Call, task: Task) -> JsonObject:
    shown = {**modern_task(task, call.at), **task_meta(task)}
    match task.shown_status:
        case InputRequired():
            return {**shown, "inputRequests": modern_requests(task.input_requests, call.modes)}
        case Cancelled():
            return shown
        case _ if task.has_ended:
            answer = modern_answer(services.operations.result_of(task))
            for view in views(services, call) if "result" in answer else ():
                answer["result"] = with_meta(answer["result"], view.of_result(task))
            return {**shown, **answer}
        case _:
            return shown


def _task_ids(value: Json) -> list[str]:
    task_ids = cast(list[Json], value) if isinstance(value, list) else []
    is_list = value is None or isinstance(value, list)
    if not is_list or len(task_ids) > MOST_SUBSCRIPTIONS or not all(isinstance(one, str) for one in task_ids):
        raise InvalidParams(f"params.notifications.taskIds must be a list of at most {MOST_SUBSCRIPTIONS} strings.")
    return list(dict.fromkeys(task_ids))


def _subscribed(services: Services, call: Call, task_id: str) -> list[Task]:
    """X23: leave out tasks that are unknown or another caller's, and those whose result is fetched separately."""
    services.polls.check(call.caller.principal, task_id, call.at)
    try:
        task = services.operations.get(call.caller.principal, task_id)
    except UnknownTask:
        return []
    return [] if isinstance(task.status, Completed) and _is_fetched_separately(task.status.result) else [task]


def _is_fetched_separately(result: StoredResult) -> bool:
    """Tell whether a result is too large for a subscription: Lambda limits the whole response to 6 MB."""
    match result:
        case ToolResult():
            return False
        case ResultElsewhere(_, _, size):
            return size > _LARGEST_IN_A_SUBSCRIPTION
        case ResultInExecution():
            return True


_MODERN: Final = MappingProxyType[str, Method](
    {
        "tasks/get": get_task,
        "tasks/update": update_task,
        "tasks/cancel": cancel_task,
        "subscriptions/listen": listen,
    }
)


# ----------------------------------------------------------------------------------------------------------- 2025-11-25


def get_legacy_task(services: Services, call: Call) -> JsonObject:
    """Return the status of a task."""
    services.polls.check(call.caller.principal, call.params.get("taskId"), call.at)
    task = services.operations.get(call.caller.principal, call.params.get("taskId"))
    return {**legacy_task(task, call.at), **task_meta(task)}


def get_legacy_result(services: Services, call: Call) -> Reply:
    """Return what the call would have returned (T15).

    A client that cannot resume waits up to `Patience.unresumable_request`.
    """
    services.polls.check(call.caller.principal, call.params.get("taskId"), call.at)
    task = services.operations.get(call.caller.principal, call.params.get("taskId"))
    if call.resumes.results:
        return ResultOnStream(task)
    *_, task = services.operations.watch(task, services.patience.unresumable_request, has_ended, call.deadline)
    if not task.has_ended:
        raise TaskStillRunning(
            "The task is still running. Poll tasks/get, and call tasks/result when it has ended.",
            legacy_task(task, services.now()),
        )
    return legacy_result(answer_or_raise(services, task), related_task=task.task_id)


def list_legacy_tasks(services: Services, call: Call) -> JsonObject:
    """Return a page of the caller's tasks, newest first; T21: only if callers sign in."""
    if not services.access.knows_callers:
        raise MethodNotFound("This server lists no tasks without sign-in: keep the ids of your tasks.")
    services.polls.check(call.caller.principal, "tasks/list", call.at)
    text = cursor_text_in(call.params)
    after = task_id_of(text)
    if text is not None and after is None:
        raise InvalidCursor
    page = services.operations.page(call.caller.principal, after)  # of the caller's own tasks, whatever the cursor says
    return {"tasks": [legacy_task(task, call.at) for task in page.tasks], **next_cursor(page.next_after)}


def cancel_legacy_task(services: Services, call: Call) -> JsonObject:
    """Cancel a task; in this era, a task that has ended raises TaskAlreadyEnded (T22)."""
    services.polls.check(call.caller.principal, call.params.get("taskId"), call.at)
    return legacy_task(services.operations.cancel(call.caller.principal, call.params.get("taskId")), call.at)


_LEGACY: Final = MappingProxyType[str, Method](
    {
        "tasks/get": get_legacy_task,
        "tasks/result": get_legacy_result,
        "tasks/list": list_legacy_tasks,
        "tasks/cancel": cancel_legacy_task,
    }
)

# ---------------------------------------------------------------------------------------------- tools/call as a task


def _capabilities(services: Services, call: Call) -> JsonObject:
    if call.is_modern:
        return TASKS_CAPABILITY
    if call.version != LEGACY_WITH_TASKS:
        return {}
    listing: JsonObject = {"list": {}} if services.access.knows_callers else {}  # T21
    return {"tasks": {**listing, "cancel": {}, "requests": {"tools": {"call": {}}}}}  # T1


def _way(_services: Services, call: Call, tool: Tool, plain: Way) -> Way | None:
    """Answer a call with its task."""
    if tool.task_support is TaskSupport.FORBIDDEN or not call.asks_for_task:
        return None
    return Way(
        partial(_task_handle, call, tool),
        plain.confirm,
        plain.resume,
        refuse=None if call.is_modern else _refuse_task,
        is_task=True,
        is_cancellable=False,
    )


def _refuse_task(words: str) -> Reply:
    raise InvalidParams(words)  # the response must be a task, so a CallToolResult cannot say it (T7)


def _task_handle(call: Call, tool: Tool, begun: Begun) -> JsonObject:
    """Write the task that a call has begun, as its era does."""
    task = begun.task
    if call.is_modern:
        result: JsonObject = {**modern_task(task, call.at), "resultType": "task"}
    else:
        shown = legacy_task(task, call.at)
        # T9: a new task is `working`, even if it already waits for its confirmation.
        result = {"task": {**shown, "status": "working"} if task.awaits_confirmation else shown}
        if begun.is_repeat:
            result["_meta"] = {MODEL_IMMEDIATE_RESPONSE: repeat_words(tool)}  # T33
    return mark_repeated(result, is_repeat=begun.is_repeat)


# X25: FastMCP's and MCP Inspector's clients leave Mcp-Name out on tasks/*.
_NAMED_BY_TASK: Final = RoutedName("taskId", may_be_absent=True)
ROUTED_NAMES: Final = {f"tasks/{verb}": _NAMED_BY_TASK for verb in ("get", "update", "cancel")}
"""The parameter of each of these methods that the header Mcp-Name repeats."""
TASKS: Final = Extra(
    name="tasks",
    protocol=Protocol({LEGACY_WITH_TASKS: _LEGACY, **dict.fromkeys(MODERN_VERSIONS, _MODERN)}, _capabilities),
    way=_way,
)
