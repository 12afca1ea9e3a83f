"""The methods of 2026-07-28, with the extension io.modelcontextprotocol/tasks.

Each method reads its parameters, calls an operation of the engine and renders the result. The table at the end lists
them all. No request depends on an earlier one (M22): a client declares its capabilities in each.
"""

from contextlib import suppress
from datetime import timedelta
from types import MappingProxyType
from typing import Final, cast

from stepwire.catalog.published import REREAD_AFTER
from stepwire.catalog.tools import TaskSupport
from stepwire.errors import (
    InvalidParams,
    MissingClientCapability,
    NotAcceptable,
    TaskAlreadyEnded,
    UnknownTask,
)
from stepwire.json_text import Json, JsonObject
from stepwire.protocol import params as read
from stepwire.protocol.messages import notification_text, result_text
from stepwire.protocol.sse import ServerSentEvent, body_of
from stepwire.protocol.versions import META_SUBSCRIPTION, MODERN_VERSIONS, TASKS_EXTENSION
from stepwire.rendering import (
    complete_result,
    link_meta,
    modern_answer,
    modern_requests,
    modern_task,
    modern_tool,
    naming_card,
)
from stepwire.server.fetch_tools import offered
from stepwire.server.kit import (
    CARD_CAPABILITIES,
    EVENT_METHODS,
    INSTRUCTIONS,
    RESOURCE_METHODS,
    SERVER_INFO,
    Call,
    Kit,
    Method,
    Stream,
    events_capabilities,
)
from stepwire.server.modern_calls import TASKS_CAPABILITY, call_tool
from stepwire.server.pages import next_cursor, tools_page
from stepwire.server.tool_calls import declares_tasks, permit, shows_card
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

CACHE_TTL_MS: Final = 300_000
TOOLS_TTL_MS: Final = REREAD_AFTER // timedelta(milliseconds=1)  # owners register tools while the server runs
MOST_SUBSCRIPTIONS: Final = 20  # tasks in one subscription
_LARGEST_IN_A_SUBSCRIPTION: Final = 100_000  # bytes of a result


def discover(kit: Kit, _call: Call) -> JsonObject:
    """Return the supported versions and capabilities (M30, X1), without the legacy `tasks` capability (A4)."""
    return {
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": _capabilities(kit),
        "instructions": INSTRUCTIONS,
        "ttlMs": CACHE_TTL_MS,
        "cacheScope": "public",
    }


def _capabilities(kit: Kit) -> JsonObject:
    events = events_capabilities(kit)
    named = (TASKS_CAPABILITY, events, CARD_CAPABILITIES)
    extensions = {name: value for one in named for name, value in one.get("extensions", {}).items()}
    return {"tools": {}, **events, **CARD_CAPABILITIES, "extensions": extensions}


def list_tools(kit: Kit, call: Call) -> JsonObject:
    """Return a page of tools; private to the caller, because it depends on the caller's scopes (M32)."""
    page = tools_page(kit, call)
    may_be_tasks = declares_tasks(call)
    shown = [
        modern_tool(
            tool,
            as_task=may_be_tasks and tool.task_support is not TaskSupport.FORBIDDEN,
            with_card=shows_card(call, tool),
        )
        for tool in page.tools
    ]
    if page.next_after is None:
        shown += [tool.shown(call.version) for tool in offered(kit, call)]
    return {"tools": shown, **next_cursor(page.next_after), "ttlMs": TOOLS_TTL_MS, "cacheScope": "private"}


def get_task(kit: Kit, call: Call) -> JsonObject:
    """Return a task with the details of its status: result, error or input requests (X10)."""
    _check_declared(call)
    kit.polls.check(call.owner, call.params.get("taskId"))
    return _detailed(kit, call, kit.operations.get(call.owner, call.params.get("taskId")))


def update_task(kit: Kit, call: Call) -> JsonObject:
    """Record answers to input requests; unknown and already answered keys are ignored (X15 to X17).

    A wrong answer is acknowledged too, and its question asked again under a new key: on an error, `ext-tasks` gives up.
    """
    _check_declared(call)
    kit.polls.check(call.owner, call.params.get("taskId"))
    responses = read.required_object(call.params, "inputResponses")
    kit.dialogue.respond(call.owner, call.params.get("taskId"), responses, permit(kit, call.scopes))
    return {}


def cancel_task(kit: Kit, call: Call) -> JsonObject:
    """Cancel a task, and acknowledge; a task that has ended is acknowledged too (X18, X20)."""
    _check_declared(call)
    kit.polls.check(call.owner, call.params.get("taskId"))
    with suppress(TaskAlreadyEnded):
        kit.operations.cancel(call.owner, call.params.get("taskId"))
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
    kit.polls.check(call.owner, task_id)
    try:
        task = kit.operations.get(call.owner, task_id)
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


_METHODS: Final[dict[str, Method]] = {
    "server/discover": discover,
    "tools/list": list_tools,
    "tools/call": call_tool,
    "tasks/get": get_task,
    "tasks/update": update_task,
    "tasks/cancel": cancel_task,
    "subscriptions/listen": listen,
    **EVENT_METHODS,
    **RESOURCE_METHODS,
}

METHODS: Final = MappingProxyType(dict.fromkeys(MODERN_VERSIONS, _METHODS))
"""The methods of each version."""
