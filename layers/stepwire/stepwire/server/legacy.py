"""The methods of 2025-11-25, and of the two versions before it, which have no tasks.

Each method reads its parameters, calls an operation of the engine and renders the result. The table at the end lists
them all.
"""

from functools import partial
from typing import Final

from msgspec.structs import replace

from stepwire.catalog.tools import TaskSupport, Tool
from stepwire.engine.idempotency import Begun
from stepwire.errors import ClientNotCapable, MethodNotFound
from stepwire.json_text import JsonObject, as_object
from stepwire.protocol import params as read
from stepwire.protocol.sessions import RANDOM_BYTES, Resumes, client_info_of, resume_parameter, session_id_of
from stepwire.protocol.versions import LEGACY_VERSIONS, LEGACY_WITH_TASKS
from stepwire.rendering import legacy_result, legacy_tool, mark_repeated
from stepwire.server.calls import Asking, Era
from stepwire.server.composition import capabilities_of, offered_tools
from stepwire.server.extension import Way
from stepwire.server.kit import (
    INSTRUCTIONS,
    SERVER_INFO,
    Call,
    Kit,
    Reply,
    SessionOpened,
)
from stepwire.server.pages import next_cursor, tools_page
from stepwire.server.sse_polling import open_stream
from stepwire.server.tool_calls import (
    answer_or_raise,
    is_followed,
    missing_capabilities,
    shows_card,
)
from stepwire.server.unfinished import stops_waiting, unfinished


def initialize(kit: Kit, call: Call) -> SessionOpened:
    """Open a session, with the client's version if the server supports it, else with the latest (L2)."""
    requested = read.text(call.params, "protocolVersion")
    version = requested if requested in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
    agreed = replace(call, version=version, client_capabilities=as_object(call.params.get("capabilities")))
    result: JsonObject = {
        "protocolVersion": version,
        "capabilities": capabilities_of(kit, agreed),
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }
    random = kit.operations.randomness(RANDOM_BYTES)
    return SessionOpened(result, session_id_of(version, call.params, random, _decided(kit, call, version)))


def ping(_kit: Kit, _call: Call) -> JsonObject:
    """Return an empty result: the server is reachable (L14)."""
    return {}


def list_tools(kit: Kit, call: Call) -> JsonObject:
    """Return a page of tools; with their task support if the version has tasks."""
    page = tools_page(kit, call)
    with_tasks = call.version == LEGACY_WITH_TASKS
    shown = [legacy_tool(tool, with_tasks=with_tasks, with_card=shows_card(call, tool)) for tool in page.tools]
    if page.next_after is None:
        shown += [tool.shown(call.version) for tool in offered_tools(kit, call)]
    return {"tools": shown, **next_cursor(page.next_after)}


def _decided(kit: Kit, call: Call, version: str) -> Resumes:
    """Decide once, for the whole session, which responses the client resumes."""
    asked = resume_parameter(call.query)
    client = client_info_of(call.params, call.headers.user_agent)
    return (kit.resuming.decide if version == LEGACY_WITH_TASKS else kit.resuming.decide_older)(client, asked)


def _check_kind_of_call(tool: str, support: TaskSupport, *, as_task: bool) -> None:
    if as_task and support is TaskSupport.FORBIDDEN:  # T3
        raise MethodNotFound(f"The tool {tool} does not run as a task: call it without params.task.")
    if not as_task and support is TaskSupport.REQUIRED:  # T4
        raise MethodNotFound(f"The tool {tool} runs as a task only: call it with params.task (2025-11-25).")


def _check(kit: Kit, call: Call, tool: Tool, _sent: JsonObject) -> None:
    """L3: rely on nothing that was not declared. No error of this era is made for it."""
    as_task = call.asks_for_task
    _check_kind_of_call(tool.name, tool.task_support, as_task=as_task)
    missing = missing_capabilities(tool, call)
    if missing:
        needed = ", ".join(sorted(missing))
        raise ClientNotCapable(
            f"The tool {tool.name} needs a client that declares these capabilities when it initializes, and sends the "
            f"MCP-Session-Id that it gets: {needed}."
        )
    if tool.confirmation is not None and not shows_card(call, tool) and not is_followed(kit, call, as_task=as_task):
        raise ClientNotCapable(f"The tool {tool.name} asks before it begins, and no question reaches this client.")


def _awaited(kit: Kit, call: Call, begun: Begun) -> Reply:
    """Answer a plain call: on a stream that its client resumes, or after a wait."""
    is_repeat = begun.is_repeat
    if kit.resumes(call).calls:
        return open_stream(kit, call, begun.task, is_call=True, is_repeat=is_repeat)
    *_, task = kit.operations.watch(
        begun.task, kit.patience.unresumable_request, stops_waiting(kit, call), call.deadline
    )
    result = answer_or_raise(kit, task) if task.has_ended else unfinished(kit, call, task, is_repeat=is_repeat)
    return mark_repeated(legacy_result(result), is_repeat=is_repeat)


def _asking(kit: Kit, call: Call, _tool: str, _sent: JsonObject) -> Asking:
    """Let a question travel on a stream, on which its answer comes later."""
    return Asking(lambda task: open_stream(kit, call, task, is_call=True, is_fetch=True), answered=lambda task: task)


ERA: Final = Era(
    _check,
    plain=lambda kit, call, _tool, _sent: Way(partial(_awaited, kit, call)),
    check_own=lambda call, tool: _check_kind_of_call(tool, TaskSupport.FORBIDDEN, as_task=call.asks_for_task),
    asking=_asking,
)
