"""The methods of 2026-07-28, with the extension io.modelcontextprotocol/tasks.

Each reads its parameters, calls an operation and renders; the table at the end is all there is. Nothing is remembered
of an earlier request (M22): what a client can do is what it declares in this one.
"""

from contextlib import suppress
from types import MappingProxyType
from typing import Final, cast

from stepwire.errors import (
    InvalidParams,
    MissingClientCapability,
    NotAcceptable,
    TaskAlreadyEnded,
    UnknownTask,
)
from stepwire.json_text import Json, JsonObject
from stepwire.methods import (
    INSTRUCTIONS,
    SERVER_INFO,
    Call,
    Kit,
    Method,
    Reply,
    Stream,
    next_cursor,
    permit,
    tools_page,
)
from stepwire.modern_calls import TASKS_CAPABILITY, call_tool, declares_tasks
from stepwire.protocol import params as read
from stepwire.protocol.messages import notification_text, result_text
from stepwire.protocol.sse import ServerSentEvent, body_of
from stepwire.protocol.versions import META_SUBSCRIPTION, MODERN_VERSIONS, TASKS_EXTENSION
from stepwire.rendering import complete, modern_answer, modern_requests, modern_task, modern_tool
from stepwire.tasks.task import Cancelled, Completed, InputRequired, ResultInExecution, Task

CACHE_TTL_MS: Final = 300_000
MOST_SUBSCRIPTIONS: Final = 20  # tasks that one listen may ask for


def discover(_kit: Kit, _call: Call) -> JsonObject:
    """Say what this server speaks and can do (M30, X1); never the legacy slot for tasks (A4)."""
    return {
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": {"tools": {}, **TASKS_CAPABILITY},
        "instructions": INSTRUCTIONS,
        "ttlMs": CACHE_TTL_MS,
        "cacheScope": "public",
    }


def list_tools(kit: Kit, call: Call) -> JsonObject:
    """List the tools. Private: what is listed may come to depend on who asks (M32)."""
    page = tools_page(kit, call)
    shown = [modern_tool(tool) for tool in page.tools]
    return {"tools": shown, **next_cursor(page.next_after), "ttlMs": CACHE_TTL_MS, "cacheScope": "private"}


def get_task(kit: Kit, call: Call) -> JsonObject:
    """Tell how a task stands, with all that belongs to its status (X10)."""
    _check_declared(call)
    kit.polls.check(call.owner, call.params.get("taskId"))
    return _detailed(kit, call, kit.operations.get(call.owner, call.params.get("taskId")))


def update_task(kit: Kit, call: Call) -> JsonObject:
    """Take answers to input requests; keys that nobody asked under, or that were answered, are ignored (X15 to X17).

    A wrong answer is acknowledged as well, and asked for again under another key: on an error, `ext-tasks` gives up.
    """
    _check_declared(call)
    kit.polls.check(call.owner, call.params.get("taskId"))
    responses = read.required_object(call.params, "inputResponses")
    kit.dialogue.respond(call.owner, call.params.get("taskId"), responses, permit(kit, call.scopes))
    return {}


def cancel_task(kit: Kit, call: Call) -> JsonObject:
    """Stop a task, and acknowledge; so too where it has ended (X18, X20)."""
    _check_declared(call)
    kit.polls.check(call.owner, call.params.get("taskId"))
    with suppress(TaskAlreadyEnded):
        kit.operations.cancel(call.owner, call.params.get("taskId"))
    return {}


def listen(kit: Kit, call: Call) -> Stream:
    """Tell how the tasks stand that a client wants to hear of, and end (M50 to M53).

    Answered at once and whole: a client that waits for the acknowledgement must not wait for the next change too.
    """
    wanted = read.required_object(call.params, "notifications")
    task_ids = _task_ids(wanted.get("taskIds"))
    if task_ids:
        _check_declared(call)
    if not call.takes_events:
        raise NotAcceptable("The Accept header must allow text/event-stream.")
    tasks = [task for task_id in task_ids for task in _known(kit, call, task_id)]
    agreed: JsonObject = {"taskIds": [task.task_id for task in tasks]} if task_ids else {}
    subscription: JsonObject = {META_SUBSCRIPTION: call.message_id}
    texts = [
        notification_text("notifications/subscriptions/acknowledged", {"_meta": subscription, "notifications": agreed}),
        *(
            notification_text("notifications/tasks", {**_detailed(kit, call, task), "_meta": subscription})
            for task in tasks
        ),
        result_text(call.message_id, complete({"_meta": subscription}, SERVER_INFO)),
    ]
    return Stream(body_of(map(ServerSentEvent, texts)))


def _check_declared(call: Call) -> None:
    """X24: a client that does not declare the extension hears so before anything is looked up."""
    if not declares_tasks(call):
        raise MissingClientCapability(f"This method needs the client extension {TASKS_EXTENSION}.", TASKS_CAPABILITY)


def _detailed(kit: Kit, call: Call, task: Task) -> JsonObject:
    shown = modern_task(task, kit.now())
    match task.status:
        case InputRequired(requests):
            return {**shown, "inputRequests": modern_requests(requests, call.modes)}
        case Cancelled():
            return shown
        case _ if task.has_ended:
            return {**shown, **modern_answer(kit.operations.answer_of(task))}
        case _:
            return shown


def _task_ids(value: Json) -> list[str]:
    task_ids = cast(list[Json], value) if isinstance(value, list) else []
    is_list = value is None or isinstance(value, list)
    if not is_list or len(task_ids) > MOST_SUBSCRIPTIONS or not all(isinstance(one, str) for one in task_ids):
        raise InvalidParams(f"params.notifications.taskIds must be a list of at most {MOST_SUBSCRIPTIONS} strings.")
    return list(dict.fromkeys(task_ids))


def _known(kit: Kit, call: Call, task_id: str) -> list[Task]:
    """X23: what is unknown, or another's, is left out of what is agreed; so is what only `tasks/get` fetches."""
    kit.polls.check(call.owner, task_id)
    try:
        task = kit.operations.get(call.owner, task_id)
    except UnknownTask:
        return []
    # One result may be 256 KB, and all together go in one response of at most 6 MB.
    is_elsewhere = isinstance(task.status, Completed) and isinstance(task.status.result, ResultInExecution)
    return [] if is_elsewhere else [task]


METHODS: Final = MappingProxyType[str, Method](
    {
        "server/discover": discover,
        "tools/list": list_tools,
        "tools/call": call_tool,
        "tasks/get": get_task,
        "tasks/update": update_task,
        "tasks/cancel": cancel_task,
        "subscriptions/listen": listen,
    }
)


def answer(method: str, kit: Kit, call: Call) -> Reply:
    """Answer a request to one of the methods above."""
    reply = METHODS[method](kit, call)
    return complete(reply, SERVER_INFO) if isinstance(reply, dict) else reply
