"""The methods of 2025-11-25, and of the two versions before it, which have no tasks.

Each method reads its parameters, calls an operation of the engine and renders the result. The table at the end lists
them all.
"""

from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from stepwire.catalog.tools import TaskSupport, Tool
from stepwire.engine.arguments import checked_arguments
from stepwire.engine.idempotency import Begun, idempotency_key_of
from stepwire.engine.operations import ToolCall
from stepwire.errors import ClientNotCapable, InvalidParams, MethodNotFound, TaskStillRunning
from stepwire.json_text import JsonObject, as_object
from stepwire.protocol import params as read
from stepwire.protocol.resumption import Resumes, resume_parameter
from stepwire.protocol.sessions import RANDOM_BYTES, client_info_of, session_id_of, shows_cards
from stepwire.protocol.tracing import trace_header_of
from stepwire.protocol.versions import EVENTS_EXTENSION, LEGACY_VERSIONS, LEGACY_WITH_TASKS, MODEL_IMMEDIATE_RESPONSE
from stepwire.rendering import legacy_result, legacy_task, legacy_tool, link_meta, mark_repeated, naming_card
from stepwire.server import fetch_tools
from stepwire.server.fetch_tools import Era, FetchTool
from stepwire.server.kit import (
    CARD_CAPABILITIES,
    EVENT_METHODS,
    INSTRUCTIONS,
    RESOURCE_METHODS,
    SERVER_INFO,
    Call,
    Kit,
    Method,
    Reply,
    SessionOpened,
    events_capabilities,
)
from stepwire.server.pages import next_cursor, task_cursor, tools_page
from stepwire.server.sse_polling import open_stream
from stepwire.server.tool_calls import (
    answer_or_raise,
    arguments_of,
    has_ended,
    missing_capabilities,
    rejection,
    run_express,
    shows_card,
    tool_of,
)
from stepwire.server.unfinished import modes_for, repeat_words, stops_waiting, unfinished
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import Origin, Task


def initialize(kit: Kit, call: Call) -> SessionOpened:
    """Open a session, with the client's version if the server supports it, else with the latest (L2)."""
    requested = read.text(call.params, "protocolVersion")
    version = requested if requested in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
    listing: JsonObject = {"list": {}} if kit.access.knows_callers else {}  # T21
    tasks: JsonObject = {**listing, "cancel": {}, "requests": {"tools": {"call": {}}}}  # T1
    events = events_capabilities(kit)
    if not _names_events(call):
        events.pop("extensions", None)
    cards = CARD_CAPABILITIES if shows_cards(as_object(call.params.get("capabilities")), call.query) else {}
    extensions = {**events.get("extensions", {}), **cards.get("extensions", {})}
    result: JsonObject = {
        "protocolVersion": version,
        "capabilities": {
            "tools": {},
            **({"tasks": tasks} if version == LEGACY_WITH_TASKS else {}),
            **events,
            **cards,
            **({"extensions": extensions} if extensions else {}),
        },
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }
    random = kit.operations.randomness(RANDOM_BYTES)
    return SessionOpened(result, session_id_of(version, call.params, random, _decided(kit, call, version)))


def _names_events(call: Call) -> bool:
    """This era has no extensions: only a client that names one is told of it. ChatGPT reads `capabilities.events`."""
    declared = as_object(call.params.get("capabilities"))
    return "events" in declared or EVENTS_EXTENSION in as_object(declared.get("extensions"))


def ping(_kit: Kit, _call: Call) -> JsonObject:
    """Return an empty result: the server is reachable (L14)."""
    return {}


def list_tools(kit: Kit, call: Call) -> JsonObject:
    """Return a page of tools; with their task support if the version has tasks."""
    page = tools_page(kit, call)
    with_tasks = call.version == LEGACY_WITH_TASKS
    shown = [legacy_tool(tool, with_tasks=with_tasks, with_card=shows_card(call, tool)) for tool in page.tools]
    if page.next_after is None:
        shown += [tool.shown(call.version) for tool in fetch_tools.offered(kit, call)]
    return {"tools": shown, **next_cursor(page.next_after)}


def call_tool(kit: Kit, call: Call) -> Reply:
    """Run a tool: as a task if `params.task` is given, else wait for the result or let the client resume."""
    # T2: before 2025-11-25 the parameter means nothing.
    task_params = read.optional_object(call.params, "task") if call.version == LEGACY_WITH_TASKS else None
    own = fetch_tools.find(kit, call)
    if own is not None:
        _check_kind_of_call(own.name, TaskSupport.FORBIDDEN, as_task=task_params is not None)
        return _call_own_tool(kit, call, own)
    tool = tool_of(kit, call)
    sent = arguments_of(call)
    _check_kind_of_call(tool.name, tool.task_support, as_task=task_params is not None)
    is_followed = kit.resumes(call).calls if task_params is None else kit.resumes(call).results
    _check_capabilities(tool, call, is_followed=is_followed)
    origin = _origin(kit, call, tool, is_followed=is_followed)
    ttl = None if task_params is None else read.optional_milliseconds(task_params, "ttl", "params.task.ttl")
    checked = checked_arguments(tool, sent, kit.operations.limits.argument_bytes, call.caller)
    faults = checked.faults
    if faults and task_params is not None:  # the response must be a task, so a CallToolResult cannot say it (T7)
        raise InvalidParams(rejection(tool.name, faults))
    if faults:
        return legacy_result(tool_error(rejection(tool.name, faults)))
    key = idempotency_key_of(call.idempotency_key, tool, sent, checked.complete)
    trace = trace_header_of(call.params)
    tool_call = ToolCall(
        call.owner, tool, checked.complete, ttl, origin, trace, key, call.claims, shows_card(call, tool)
    )
    if task_params is not None:
        return _created_task(kit, call, tool, _start(kit, tool_call))
    if tool.is_express:
        return legacy_result(run_express(kit, call, tool_call))
    if shows_card(call, tool):
        return _with_card(kit, call, _start(kit, tool_call))
    origin = replace(origin, request=call.session.digest_of(call.message_id))
    return _awaited(kit, call, _start(kit, replace(tool_call, origin=origin)))


def get_task(kit: Kit, call: Call) -> JsonObject:
    """Return the status of a task."""
    kit.polls.check(call.owner, call.params.get("taskId"))
    task = kit.operations.get(call.owner, call.params.get("taskId"))
    return {**legacy_task(task, kit.now()), **link_meta(task)}


def get_task_result(kit: Kit, call: Call) -> Reply:
    """Return what the call would have returned (T15).

    A client that cannot resume waits up to `Patience.unresumable_request`.
    """
    kit.polls.check(call.owner, call.params.get("taskId"))
    task = kit.operations.get(call.owner, call.params.get("taskId"))
    if kit.resumes(call).results:
        return open_stream(kit, call, task, is_call=False)
    *_, task = kit.operations.watch(task, kit.patience.unresumable_request, has_ended, call.deadline)
    if not task.has_ended:
        raise TaskStillRunning(
            "The task is still running. Poll tasks/get, and call tasks/result when it has ended.",
            legacy_task(task, kit.now()),
        )
    return legacy_result(answer_or_raise(kit, task), related_task=task.task_id)


def list_tasks(kit: Kit, call: Call) -> JsonObject:
    """Return a page of the caller's tasks, newest first; T21: only if callers sign in."""
    if not kit.access.knows_callers:
        raise MethodNotFound("This server lists no tasks without sign-in: keep the ids of your tasks.")
    kit.polls.check(call.owner, "tasks/list")
    page = kit.operations.page(call.owner, task_cursor(call))
    return {"tasks": [legacy_task(task, kit.now()) for task in page.tasks], **next_cursor(page.next_after)}


def cancel_task(kit: Kit, call: Call) -> JsonObject:
    """Cancel a task; in this era, a task that has ended raises TaskAlreadyEnded (T22)."""
    kit.polls.check(call.owner, call.params.get("taskId"))
    return legacy_task(kit.operations.cancel(call.owner, call.params.get("taskId")), kit.now())


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


def _check_capabilities(tool: Tool, call: Call, *, is_followed: bool) -> None:
    """L3: rely on nothing that was not declared. No error of this era is made for it."""
    missing = missing_capabilities(tool, call)
    if missing:
        needed = ", ".join(sorted(missing))
        raise ClientNotCapable(
            f"The tool {tool.name} needs a client that declares these capabilities when it initializes, and sends the "
            f"MCP-Session-Id that it gets: {needed}."
        )
    if tool.confirmation is not None and not is_followed and not shows_card(call, tool):
        raise ClientNotCapable(f"The tool {tool.name} asks before it begins, and no question reaches this client.")


def _origin(kit: Kit, call: Call, tool: Tool, *, is_followed: bool) -> Origin:
    modes = modes_for(kit, call, tool, is_followed=is_followed)
    # Progress is sent on responses that the client resumes; in older versions none, as it restarts no timer there.
    gets_progress = is_followed and call.version == LEGACY_WITH_TASKS
    return Origin(modes, read.progress_token(call.params) if gets_progress else None)


def _created_task(kit: Kit, call: Call, tool: Tool, begun: Begun) -> JsonObject:
    shown = legacy_task(begun.task, kit.now())
    # T9: a new task is `working`, even if it already waits for its confirmation.
    result: JsonObject = {"task": {**shown, "status": "working"} if begun.task.awaits_confirmation else shown}
    if begun.is_repeat:
        result["_meta"] = {MODEL_IMMEDIATE_RESPONSE: repeat_words(tool)}  # T33
    if shows_card(call, tool):
        result = naming_card(result, begun.task.task_id)
    return mark_repeated(result, is_repeat=begun.is_repeat)


def _start(kit: Kit, call: ToolCall) -> Begun:
    confirmation = call.tool.confirmation
    if confirmation is None:
        return kit.operations.idempotently(call, lambda task_id: kit.operations.call(call, task_id))
    return kit.operations.idempotently(
        call, lambda task_id: kit.operations.call_after_confirmation(call, confirmation, task_id)
    )


def _awaited(kit: Kit, call: Call, begun: Begun) -> Reply:
    is_repeat = begun.is_repeat
    if kit.resumes(call).calls:
        return open_stream(kit, call, begun.task, is_call=True, is_repeat=is_repeat)
    *_, task = kit.operations.watch(
        begun.task, kit.patience.unresumable_request, stops_waiting(kit, call), call.deadline
    )
    result = answer_or_raise(kit, task) if task.has_ended else unfinished(kit, call, task, is_repeat=is_repeat)
    return mark_repeated(legacy_result(result), is_repeat=is_repeat)


def _with_card(kit: Kit, call: Call, begun: Begun) -> Reply:
    from stepwire.server.cards import first_result  # noqa: PLC0415 - most hosts show no cards

    return mark_repeated(legacy_result(first_result(kit, call, begun)), is_repeat=begun.is_repeat)


def _call_own_tool(kit: Kit, call: Call, tool: FetchTool) -> Reply:
    """Run a tool of Stepwire's own; a question travels on a stream, on which its answer comes later."""

    def ask(task: Task) -> Reply:
        return open_stream(kit, call, task, is_call=True, is_fetch=True)

    return fetch_tools.run(kit, call, tool, Era(legacy_result, ask, take=lambda task: task))


_BASIC: Final[dict[str, Method]] = {
    "initialize": initialize,
    "ping": ping,
    "tools/list": list_tools,
    "tools/call": call_tool,
    **EVENT_METHODS,
    **RESOURCE_METHODS,
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
