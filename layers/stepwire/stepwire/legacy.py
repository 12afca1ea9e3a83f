"""The methods of 2025-11-25, and of the two versions before it, which know no tasks.

Each reads its parameters, calls an operation and renders; the table at the end is all there is.
"""

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from stepwire.catalog import TaskSupport, Tool
from stepwire.errors import ClientNotCapable, InvalidParams, MethodNotFound, TaskStillRunning
from stepwire.json_text import JsonObject
from stepwire.methods import (
    INSTRUCTIONS,
    SERVER_INFO,
    Call,
    Kit,
    Method,
    Reply,
    SessionOpened,
    answer_or_raise,
    arguments_of,
    has_ended,
    missing_capabilities,
    next_cursor,
    rejection,
    task_cursor,
    tool_of,
    tools_page,
)
from stepwire.operations import ToolCall, faults_of, key_of
from stepwire.protocol import params as read
from stepwire.protocol.sessions import RANDOM_BYTES, session_id_of
from stepwire.protocol.tracing import trace_header_of
from stepwire.protocol.versions import LEGACY_VERSIONS, LEGACY_WITH_TASKS
from stepwire.rendering import legacy_result, legacy_task, legacy_tool, unfinished_result
from stepwire.streams import can_resume, opened
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import Origin, Task


def initialize(kit: Kit, call: Call) -> SessionOpened:
    """Agree on a version: the client's where we speak it, else our latest (L2)."""
    asked = read.text(call.params, "protocolVersion")
    version = asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
    listing: JsonObject = {"list": {}} if kit.access.knows_callers else {}  # T21
    tasks: JsonObject = {**listing, "cancel": {}, "requests": {"tools": {"call": {}}}}  # T1
    result: JsonObject = {
        "protocolVersion": version,
        "capabilities": {"tools": {}, **({"tasks": tasks} if version == LEGACY_WITH_TASKS else {})},
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }
    return SessionOpened(result, session_id_of(version, call.params, kit.operations.randomness(RANDOM_BYTES)))


def ping(_kit: Kit, _call: Call) -> JsonObject:
    """Answer that we are here (L14)."""
    return {}


def list_tools(kit: Kit, call: Call) -> JsonObject:
    """List the tools; with their task support where the version knows of it."""
    page = tools_page(kit, call)
    with_tasks = call.version == LEGACY_WITH_TASKS
    return {"tools": [legacy_tool(tool, with_tasks=with_tasks) for tool in page.tools], **next_cursor(page.next_after)}


def call_tool(kit: Kit, call: Call) -> Reply:
    """Run a tool: as a task where asked to, else the client waits or comes back for the result."""
    tool = tool_of(kit, call)
    arguments = arguments_of(call)
    # T2: before 2025-11-25 the parameter means nothing.
    asked = read.optional_object(call.params, "task") if call.version == LEGACY_WITH_TASKS else None
    _check_kind_of_call(tool, as_task=asked is not None)
    _check_client(kit, call, tool)
    faults = faults_of(tool, arguments, kit.operations.limits.argument_bytes)
    key = key_of(call.idempotency_key, tool, arguments)
    trace = trace_header_of(call.params)
    if asked is not None:
        ttl = read.optional_milliseconds(asked, "ttl", "params.task.ttl")
        if faults:  # a CallToolResult is no answer to a request for a task (T7)
            raise InvalidParams(rejection(tool, faults))
        task = _begun(kit, ToolCall(call.owner, tool, arguments, ttl, _origin(kit, call), trace, key))
        return {"task": _created(kit, task)}
    if faults:
        return legacy_result(tool_error(rejection(tool, faults)))
    origin = replace(_origin(kit, call), request=call.session.digest_of(call.message_id))
    return _awaited(kit, call, _begun(kit, ToolCall(call.owner, tool, arguments, None, origin, trace, key)))


def get_task(kit: Kit, call: Call) -> JsonObject:
    """Tell how a task stands."""
    kit.polls.check(call.owner, call.params.get("taskId"))
    return legacy_task(kit.operations.get(call.owner, call.params.get("taskId")), kit.now())


def get_task_result(kit: Kit, call: Call) -> Reply:
    """Give what the call would have returned; who cannot come back for it waits as long as API Gateway allows (T15)."""
    kit.polls.check(call.owner, call.params.get("taskId"))
    task = kit.operations.get(call.owner, call.params.get("taskId"))
    if can_resume(kit, call):
        return opened(kit, call, task, is_call=False)
    *_, task = kit.operations.follow(task, kit.patience.wait, has_ended, call.deadline)
    if not task.has_ended:
        raise TaskStillRunning(
            "The task is still running. Poll tasks/get, and call tasks/result when it has ended.",
            legacy_task(task, kit.now()),
        )
    return legacy_result(answer_or_raise(kit, task), related_task=task.task_id)


def list_tasks(kit: Kit, call: Call) -> JsonObject:
    """List the caller's tasks, newest first; T21: not where callers are not told apart."""
    if not kit.access.knows_callers:
        raise MethodNotFound("Without sign-in, this server lists no tasks: keep the ids of yours.")
    kit.polls.check(call.owner, "tasks/list")
    page = kit.operations.page(call.owner, task_cursor(call))
    return {"tasks": [legacy_task(task, kit.now()) for task in page.tasks], **next_cursor(page.next_after)}


def cancel_task(kit: Kit, call: Call) -> JsonObject:
    """Stop a task; one that has ended is an error in this era (T22)."""
    kit.polls.check(call.owner, call.params.get("taskId"))
    return legacy_task(kit.operations.cancel(call.owner, call.params.get("taskId")), kit.now())


def _check_kind_of_call(tool: Tool, *, as_task: bool) -> None:
    if as_task and tool.task_support is TaskSupport.FORBIDDEN:  # T3
        raise MethodNotFound(f"The tool {tool.name} does not run as a task: call it without params.task.")
    if not as_task and tool.task_support is TaskSupport.REQUIRED:  # T4
        raise MethodNotFound(f"The tool {tool.name} runs as a task only: call it with params.task (2025-11-25).")


def _check_client(kit: Kit, call: Call, tool: Tool) -> None:
    """L3: rely on nothing that was not declared. No error of this era is made for it."""
    missing = missing_capabilities(tool, call)
    if missing:
        needed = ", ".join(sorted(missing))
        raise ClientNotCapable(
            f"The tool {tool.name} needs a client that declares these capabilities when it initializes, and sends the "
            f"MCP-Session-Id that it gets: {needed}."
        )
    if tool.confirmation is not None and not can_resume(kit, call):
        raise ClientNotCapable(f"The tool {tool.name} asks before it begins, and this client cannot be asked.")


def _origin(kit: Kit, call: Call) -> Origin:
    if not can_resume(kit, call):
        return Origin()  # questions and progress travel on responses that a client comes back for
    return Origin(call.modes, read.progress_token(call.params))


def _created(kit: Kit, task: Task) -> JsonObject:
    shown = legacy_task(task, kit.now())
    # T9: a task begins as working, though it may wait for an answer already; one that a repeated call finds has begun.
    return {**shown, "status": "working"} if task.awaits_confirmation else shown


def _begun(kit: Kit, call: ToolCall) -> Task:
    confirmation = call.tool.confirmation
    if confirmation is None:
        return kit.operations.once(call, lambda task_id: kit.operations.call(call, task_id))
    return kit.operations.once(call, lambda task_id: kit.operations.ask_first(call, confirmation, task_id))


def _awaited(kit: Kit, call: Call, task: Task) -> Reply:
    if can_resume(kit, call):
        return opened(kit, call, task, is_call=True)
    *_, task = kit.operations.follow(task, kit.patience.wait, has_ended, call.deadline)
    if task.has_ended:
        return legacy_result(answer_or_raise(kit, task))
    return unfinished_result(task)


_BASIC: Final[dict[str, Method]] = {
    "initialize": initialize,
    "ping": ping,
    "tools/list": list_tools,
    "tools/call": call_tool,
}
_TASKS: Final[dict[str, Method]] = {
    "tasks/get": get_task,
    "tasks/result": get_task_result,
    "tasks/list": list_tasks,
    "tasks/cancel": cancel_task,
}

METHODS: Final = MappingProxyType(
    {version: _BASIC | (_TASKS if version == LEGACY_WITH_TASKS else {}) for version in LEGACY_VERSIONS}
)
"""The methods of each version."""
