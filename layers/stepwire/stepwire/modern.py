"""The methods of 2026-07-28, with the extension io.modelcontextprotocol/tasks.

Each reads its parameters, calls an operation and renders; the table at the end is all there is. Nothing is remembered
of an earlier request (M22): what a client can do is what it declares in this one.
"""

from contextlib import suppress
from types import MappingProxyType
from typing import Final

from stepwire.catalog import TaskSupport, Tool
from stepwire.errors import MissingClientCapability, TaskAlreadyEnded
from stepwire.json_text import JsonObject, as_object
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
    tools_page,
)
from stepwire.operations import faults_of
from stepwire.protocol import params as read
from stepwire.protocol.versions import MODERN_VERSIONS, TASKS_EXTENSION
from stepwire.rendering import complete, modern_answer, modern_result, modern_task, modern_tool, unfinished_result
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import Cancelled, Task

CACHE_TTL_MS: Final = 300_000
_TASKS_CAPABILITY: Final[JsonObject] = {"extensions": {TASKS_EXTENSION: {}}}


def discover(_kit: Kit, _call: Call) -> JsonObject:
    """Say what this server speaks and can do (M30, X1); never the legacy slot for tasks (A4)."""
    return {
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": {"tools": {}, **_TASKS_CAPABILITY},
        "instructions": INSTRUCTIONS,
        "ttlMs": CACHE_TTL_MS,
        "cacheScope": "public",
    }


def list_tools(kit: Kit, call: Call) -> JsonObject:
    """List the tools. Private: what is listed may come to depend on who asks (M32)."""
    page = tools_page(kit, call)
    shown = [modern_tool(tool) for tool in page.tools]
    return {"tools": shown, **next_cursor(page.next_after), "ttlMs": CACHE_TTL_MS, "cacheScope": "private"}


def call_tool(kit: Kit, call: Call) -> JsonObject:
    """Run a tool: as a task where client and tool can, else inside the bounded wait (X2, X4)."""
    tool = kit.catalog.find(read.text(call.params, "name"))
    arguments = arguments_of(call)
    _check_capabilities(tool, call)
    faults = faults_of(tool, arguments)
    if faults:
        return modern_result(tool_error(rejection(tool, faults)))
    as_task = _declares_tasks(call) and tool.task_support is not TaskSupport.FORBIDDEN
    task = kit.operations.call(call.owner, tool, arguments, None)
    return {**modern_task(task), "resultType": "task"} if as_task else _awaited(kit, task)


def get_task(kit: Kit, call: Call) -> JsonObject:
    """Tell how a task stands, with its result or error once it has ended (X10)."""
    task = kit.operations.get(call.owner, _task_id(call))
    if not task.has_ended or isinstance(task.status, Cancelled):
        return modern_task(task)
    return {**modern_task(task), **modern_answer(kit.operations.answer_of(task))}


def update_task(kit: Kit, call: Call) -> JsonObject:
    """Take answers to input requests; no task asks for any yet, and unknown keys are ignored (X15, X16)."""
    task_id = _task_id(call)
    read.required_object(call.params, "inputResponses")
    kit.operations.get(call.owner, task_id)
    return {}


def cancel_task(kit: Kit, call: Call) -> JsonObject:
    """Stop a task, and acknowledge; so too where it has ended (X18, X20)."""
    with suppress(TaskAlreadyEnded):
        kit.operations.cancel(call.owner, _task_id(call))
    return {}


def _task_id(call: Call) -> object:
    """Read the task's id, of a client that declares the extension: asked before any look-up (X24)."""
    if not _declares_tasks(call):
        raise MissingClientCapability(f"This method needs the client extension {TASKS_EXTENSION}.", _TASKS_CAPABILITY)
    return call.params.get("taskId")


def _declares_tasks(call: Call) -> bool:
    return TASKS_EXTENSION in as_object(call.client_capabilities.get("extensions"))


def _check_capabilities(tool: Tool, call: Call) -> None:
    missing = {
        name: settings for name, settings in tool.client_capabilities.items() if name not in call.client_capabilities
    }
    if missing:  # M19
        needed = ", ".join(sorted(missing))
        raise MissingClientCapability(f"The tool {tool.name} needs the client capabilities: {needed}.", missing)
    if tool.task_support is TaskSupport.REQUIRED and not _declares_tasks(call):  # X3
        message = f"The tool {tool.name} runs as a task only: declare the extension {TASKS_EXTENSION}."
        raise MissingClientCapability(message, _TASKS_CAPABILITY)


def _awaited(kit: Kit, task: Task) -> JsonObject:
    task = kit.operations.wait(task)
    if task.has_ended:
        return modern_result(answer_or_raise(kit, task))
    return unfinished_result(task)


METHODS: Final = MappingProxyType[str, Method](
    {
        "server/discover": discover,
        "tools/list": list_tools,
        "tools/call": call_tool,
        "tasks/get": get_task,
        "tasks/update": update_task,
        "tasks/cancel": cancel_task,
    }
)


def answer(method: str, kit: Kit, call: Call) -> JsonObject:
    """Answer a request to one of the methods above."""
    return complete(METHODS[method](kit, call), SERVER_INFO)
