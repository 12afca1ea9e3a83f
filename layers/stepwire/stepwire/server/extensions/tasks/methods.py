"""The methods of tasks: of the extension io.modelcontextprotocol/tasks in 2026-07-28, and of 2025-11-25.

A modern client declares the extension in each request (X24). The two versions before 2025-11-25 have no tasks.
"""

from contextlib import suppress
from types import MappingProxyType
from typing import Final, cast

from stepwire.errors import (
    InvalidParams,
    MethodNotFound,
    MissingClientCapability,
    NotAcceptable,
    TaskAlreadyEnded,
    TaskStillRunning,
    UnknownTask,
)
from stepwire.json_text import Json, JsonObject
from stepwire.protocol import params as read
from stepwire.protocol.http import ServerSentEvent, body_of
from stepwire.protocol.messages import notification_text, result_text
from stepwire.protocol.versions import META_SUBSCRIPTION, TASKS_EXTENSION
from stepwire.rendering import (
    complete_result,
    legacy_result,
    legacy_task,
    link_meta,
    modern_answer,
    modern_requests,
    modern_task,
    naming_card,
)
from stepwire.server.kit import SERVER_INFO, TASKS_CAPABILITY, Call, Kit, Method, Reply, Stream
from stepwire.server.pages import next_cursor, task_cursor
from stepwire.server.sse_polling import open_stream
from stepwire.server.tool_calls import answer_or_raise, declares_tasks, has_ended, permit
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


def get_task(kit: Kit, call: Call) -> JsonObject:
    """Return a task with the details of its status: result, error or input requests (X10)."""
    _check_declared(call)
    kit.polls.check(call.caller.principal, call.params.get("taskId"))
    return _detailed(kit, call, kit.operations.get(call.caller.principal, call.params.get("taskId")))


def update_task(kit: Kit, call: Call) -> JsonObject:
    """Record answers to input requests; unknown and already answered keys are ignored (X15 to X17).

    A wrong answer is acknowledged too, and its question asked again under a new key: on an error, `ext-tasks` gives up.
    """
    _check_declared(call)
    kit.polls.check(call.caller.principal, call.params.get("taskId"))
    responses = read.required_object(call.params, "inputResponses")
    kit.dialogue.respond(call.caller.principal, call.params.get("taskId"), responses, permit(kit, call.caller.scopes))
    return {}


def cancel_task(kit: Kit, call: Call) -> JsonObject:
    """Cancel a task, and acknowledge; a task that has ended is acknowledged too (X18, X20)."""
    _check_declared(call)
    kit.polls.check(call.caller.principal, call.params.get("taskId"))
    with suppress(TaskAlreadyEnded):
        kit.operations.cancel(call.caller.principal, call.params.get("taskId"))
    return {}


def listen(kit: Kit, call: Call) -> Stream:
    """Return the current state of the tasks that a client subscribes to, then end the stream (M50 to M53).

    The response is complete at once: a client that waits for the acknowledgement must not wait for a change as well.
    """
    wanted = read.required_object(call.params, "notifications")
    task_ids = _task_ids(wanted.get("taskIds"))
    if task_ids:
        _check_declared(call)
    if not call.headers.accepts_events:
        raise NotAcceptable("The Accept header must allow text/event-stream.")
    tasks = [task for task_id in task_ids for task in _subscribed(kit, call, task_id)]
    agreed: JsonObject = {"taskIds": [task.task_id for task in tasks]} if task_ids else {}
    subscription: JsonObject = {META_SUBSCRIPTION: call.message_id}
    texts = [
        notification_text("notifications/subscriptions/acknowledged", {"_meta": subscription, "notifications": agreed}),
        *(
            notification_text("notifications/tasks", {**_detailed(kit, call, task), "_meta": subscription})
            for task in tasks
        ),
        result_text(call.message_id, complete_result({"_meta": subscription}, SERVER_INFO)),
    ]
    return Stream(body_of(map(ServerSentEvent, texts)))


def _check_declared(call: Call) -> None:
    """X24: refuse a client that does not declare the extension before anything is read from the store."""
    if not declares_tasks(call):
        raise MissingClientCapability(f"This method needs the client extension {TASKS_EXTENSION}.", TASKS_CAPABILITY)


def _detailed(kit: Kit, call: Call, task: Task) -> JsonObject:
    shown = {**modern_task(task, kit.now()), **link_meta(task)}
    match task.status:
        case InputRequired(requests):
            return {**shown, "inputRequests": modern_requests(requests, call.modes)}
        case Cancelled():
            return shown
        case _ if task.has_ended:
            answer = modern_answer(kit.operations.result_of(task))
            if call.shows_cards and "result" in answer:
                answer["result"] = naming_card(answer["result"], task.task_id, has_ended=True)
            return {**shown, **answer}
        case _:
            return shown


def _task_ids(value: Json) -> list[str]:
    task_ids = cast(list[Json], value) if isinstance(value, list) else []
    is_list = value is None or isinstance(value, list)
    if not is_list or len(task_ids) > MOST_SUBSCRIPTIONS or not all(isinstance(one, str) for one in task_ids):
        raise InvalidParams(f"params.notifications.taskIds must be a list of at most {MOST_SUBSCRIPTIONS} strings.")
    return list(dict.fromkeys(task_ids))


def _subscribed(kit: Kit, call: Call, task_id: str) -> list[Task]:
    """X23: leave out tasks that are unknown or another caller's, and those whose result is fetched separately."""
    kit.polls.check(call.caller.principal, task_id)
    try:
        task = kit.operations.get(call.caller.principal, task_id)
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


MODERN: Final = MappingProxyType[str, Method](
    {
        "tasks/get": get_task,
        "tasks/update": update_task,
        "tasks/cancel": cancel_task,
        "subscriptions/listen": listen,
    }
)


# ----------------------------------------------------------------------------------------------------------- 2025-11-25


def get_legacy_task(kit: Kit, call: Call) -> JsonObject:
    """Return the status of a task."""
    kit.polls.check(call.caller.principal, call.params.get("taskId"))
    task = kit.operations.get(call.caller.principal, call.params.get("taskId"))
    return {**legacy_task(task, kit.now()), **link_meta(task)}


def get_legacy_result(kit: Kit, call: Call) -> Reply:
    """Return what the call would have returned (T15).

    A client that cannot resume waits up to `Patience.unresumable_request`.
    """
    kit.polls.check(call.caller.principal, call.params.get("taskId"))
    task = kit.operations.get(call.caller.principal, call.params.get("taskId"))
    if kit.resumes(call).results:
        return open_stream(kit, call, task, is_call=False)
    *_, task = kit.operations.watch(task, kit.patience.unresumable_request, has_ended, call.deadline)
    if not task.has_ended:
        raise TaskStillRunning(
            "The task is still running. Poll tasks/get, and call tasks/result when it has ended.",
            legacy_task(task, kit.now()),
        )
    return legacy_result(answer_or_raise(kit, task), related_task=task.task_id)


def list_legacy_tasks(kit: Kit, call: Call) -> JsonObject:
    """Return a page of the caller's tasks, newest first; T21: only if callers sign in."""
    if not kit.access.knows_callers:
        raise MethodNotFound("This server lists no tasks without sign-in: keep the ids of your tasks.")
    kit.polls.check(call.caller.principal, "tasks/list")
    page = kit.operations.page(call.caller.principal, task_cursor(call))
    return {"tasks": [legacy_task(task, kit.now()) for task in page.tasks], **next_cursor(page.next_after)}


def cancel_legacy_task(kit: Kit, call: Call) -> JsonObject:
    """Cancel a task; in this era, a task that has ended raises TaskAlreadyEnded (T22)."""
    kit.polls.check(call.caller.principal, call.params.get("taskId"))
    return legacy_task(kit.operations.cancel(call.caller.principal, call.params.get("taskId")), kit.now())


LEGACY: Final = MappingProxyType[str, Method](
    {
        "tasks/get": get_legacy_task,
        "tasks/result": get_legacy_result,
        "tasks/list": list_legacy_tasks,
        "tasks/cancel": cancel_legacy_task,
    }
)
