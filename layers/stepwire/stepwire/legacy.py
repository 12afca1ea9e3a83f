"""The methods of 2025-11-25, and of the two versions before it, which know no tasks.

Each reads its parameters, calls an operation and renders; the table at the end is all there is.
"""

from types import MappingProxyType
from typing import Final

from stepwire.catalog import TaskSupport, Tool
from stepwire.errors import InvalidParams, InvalidRequest, MethodNotFound, TaskStillRunning
from stepwire.json_text import JsonObject
from stepwire.methods import (
    INSTRUCTIONS,
    SERVER_INFO,
    Call,
    Kit,
    Method,
    answer_or_raise,
    arguments_of,
    next_cursor,
    rejection,
    task_cursor,
    tools_page,
)
from stepwire.operations import faults_of
from stepwire.protocol import params as read
from stepwire.protocol.versions import LEGACY_VERSIONS, LEGACY_WITH_TASKS
from stepwire.rendering import legacy_result, legacy_task, legacy_tool, unfinished_result
from stepwire.tasks.outcomes import tool_error


def initialize(_kit: Kit, call: Call) -> JsonObject:
    """Agree on a version: the client's where we speak it, else our latest (L2)."""
    asked = read.text(call.params, "protocolVersion")
    version = asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
    tasks: JsonObject = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}  # T1
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}, **({"tasks": tasks} if version == LEGACY_WITH_TASKS else {})},
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }


def ping(_kit: Kit, _call: Call) -> JsonObject:
    """Answer that we are here (L14)."""
    return {}


def list_tools(kit: Kit, call: Call) -> JsonObject:
    """List the tools; with their task support where the version knows of it."""
    page = tools_page(kit, call)
    with_tasks = call.version == LEGACY_WITH_TASKS
    return {"tools": [legacy_tool(tool, with_tasks=with_tasks) for tool in page.tools], **next_cursor(page.next_after)}


def call_tool(kit: Kit, call: Call) -> JsonObject:
    """Run a tool: as a task where asked to, else inside the bounded wait."""
    tool = kit.catalog.find(read.text(call.params, "name"))
    arguments = arguments_of(call)
    # T2: before 2025-11-25 the parameter means nothing.
    asked = read.optional_object(call.params, "task") if call.version == LEGACY_WITH_TASKS else None
    _check_kind_of_call(tool, as_task=asked is not None)
    faults = faults_of(tool, arguments)
    if asked is not None:
        ttl = read.optional_milliseconds(asked, "ttl", "params.task.ttl")
        if faults:  # a CallToolResult is no answer to a request for a task (T7)
            raise InvalidParams(rejection(tool, faults))
        return {"task": legacy_task(kit.operations.call(call.owner, tool, arguments, ttl))}
    if faults:
        return legacy_result(tool_error(rejection(tool, faults)))
    return _awaited(kit, call, tool, arguments)


def get_task(kit: Kit, call: Call) -> JsonObject:
    """Tell how a task stands."""
    return legacy_task(kit.operations.get(call.owner, call.params.get("taskId")))


def get_task_result(kit: Kit, call: Call) -> JsonObject:
    """Give what the call would have returned; waits for it as long as API Gateway allows (T15, K8)."""
    task = kit.operations.wait(kit.operations.get(call.owner, call.params.get("taskId")))
    if not task.has_ended:
        raise TaskStillRunning(
            "The task is still running. Poll tasks/get, and call tasks/result when it has ended.", legacy_task(task)
        )
    return legacy_result(answer_or_raise(kit, task), related_task=task.task_id)


def list_tasks(kit: Kit, call: Call) -> JsonObject:
    """List the caller's tasks, newest first."""
    page = kit.operations.page(call.owner, task_cursor(call))
    return {"tasks": [legacy_task(task) for task in page.tasks], **next_cursor(page.next_after)}


def cancel_task(kit: Kit, call: Call) -> JsonObject:
    """Stop a task; one that has ended is an error in this era (T22)."""
    return legacy_task(kit.operations.cancel(call.owner, call.params.get("taskId")))


def _check_kind_of_call(tool: Tool, *, as_task: bool) -> None:
    if tool.client_capabilities:
        # What a client declared at `initialize` is not remembered, so it cannot be relied on (L3).
        raise InvalidRequest(f"The tool {tool.name} is served in protocol version 2026-07-28 only.")
    if as_task and tool.task_support is TaskSupport.FORBIDDEN:  # T3
        raise MethodNotFound(f"The tool {tool.name} does not run as a task: call it without params.task.")
    if not as_task and tool.task_support is TaskSupport.REQUIRED:  # T4
        raise MethodNotFound(f"The tool {tool.name} runs as a task only: call it with params.task (2025-11-25).")


def _awaited(kit: Kit, call: Call, tool: Tool, arguments: JsonObject) -> JsonObject:
    task = kit.operations.wait(kit.operations.call(call.owner, tool, arguments, None))
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
