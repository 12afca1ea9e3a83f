"""The methods of both eras, and their differences in a tool call.

Legacy is 2025-11-25, and the two versions before it, which have no tasks; modern is 2026-07-28, in which no request
depends on an earlier one (M22): a client declares its capabilities in each. A method reads its parameters, calls an
operation of the engine and renders the result. Extras add methods of their own; `methods_with` has them all.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from stepwire.catalog.tools import NAME_PATTERN, TaskSupport, Tool
from stepwire.codec import MILLISECOND
from stepwire.engine.calls import Begun
from stepwire.errors import ClientNotCapable, InvalidCursor, MethodNotFound, MissingClientCapability
from stepwire.hooks import Extra
from stepwire.json_text import JsonObject, as_object
from stepwire.protocol.http import RoutedName, check_parameter_headers, switch_in
from stepwire.protocol.messages import (
    LEGACY_VERSIONS,
    LEGACY_WITH_TASKS,
    META_SERVER,
    MODERN_VERSIONS,
    TASKS_CAPABILITY,
    TASKS_EXTENSION,
)
from stepwire.protocol.sessions import RANDOM_BYTES, client_info_of, session_id_of
from stepwire.protocol.tokens import cursor_text_in, next_cursor
from stepwire.rendering import legacy_result, legacy_tool, mark_repeated, modern_tool
from stepwire.server.call import Call, Reply, SessionOpened, listed_tools, meta_of, text_in, views
from stepwire.server.composition import capabilities_of, offered_tools
from stepwire.server.results import answer_or_raise, stops_waiting, unfinished
from stepwire.server.rounds import Rounds
from stepwire.server.services import INSTRUCTIONS, Services
from stepwire.server.sse_polling import open_asking, open_stream
from stepwire.server.tasks import ROUTED_NAMES
from stepwire.server.tool_calls import Era, call_tool
from stepwire.server.ways import CACHED_FOR, Method, PlainWay, Way
from stepwire.tasks.inputs import Mode

TOOLS_PAGE_SIZE: Final = 100
LARGEST_TOOLS_PAGE: Final = 2_000_000
"""Approximate bytes of tools on a page, unless one tool alone has more. Lambda's response has at most 6 MB."""
_RESUME: Final = "resume"
"""In the query of the endpoint's URL: 1 or 0 decides for a client of one's own."""
_TOOL: Final = "tool:"  # in a cursor, before the name of the last tool on its page


def _tools_page(services: Services, call: Call, written: Callable[[Tool], JsonObject]) -> JsonObject:
    """Return the page of tools after the name in the cursor, in a stable order (M33); Stepwire's own are on the last.

    Tools that the caller may not call, or that the URL does not select, are left out.
    """
    # The tool that the cursor names may be gone; the list continues after it.
    text = cursor_text_in(call.params)
    after = text and text.removeprefix(_TOOL)
    if text is not None and not (text.startswith(_TOOL) and NAME_PATTERN.fullmatch(text.removeprefix(_TOOL))):
        raise InvalidCursor
    tools = [tool for tool in listed_tools(services, call) if after is None or tool.name > after]
    page = list(_that_fit(tools[:TOOLS_PAGE_SIZE]))
    if len(tools) > len(page):
        return {"tools": list(map(written, page)), **next_cursor(_TOOL + page[-1].name)}
    return {"tools": [*map(written, page), *(tool.shown(call.version) for tool in offered_tools(services, call))]}


def _that_fit(tools: list[Tool]) -> Iterator[Tool]:
    """Yield the first tools up to the size of a page, at least one."""
    size = 0
    for number, tool in enumerate(tools):
        texts = (tool.description, tool.input_schema, tool.output_schema or "", *(one["src"] for one in tool.icons))
        size += sum(len(text.encode()) for text in texts)
        if number and size > LARGEST_TOOLS_PAGE:
            return
        yield tool


def _missing_capabilities(call: Call, tool: Tool, way: Way) -> JsonObject:
    """Return the capabilities that the tool needs and the client does not declare; a confirmation needs forms."""
    missing = {name: one for name, one in tool.client_capabilities.items() if name not in call.client_capabilities}
    if tool.confirmation is not None and Mode.FORM not in call.modes:
        missing["elicitation"] = {"form": {}}
    if "elicitation" in missing and way.is_shown:
        del missing["elicitation"]  # the user is asked where the task is shown
    return missing


# --------------------------------------------------------------------------------------------------------------- legacy


def initialize(services: Services, call: Call) -> SessionOpened:
    """Open a session, with the client's version if the server supports it, else with the latest (L2)."""
    requested = text_in(call.params, "protocolVersion")
    version = requested if requested in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
    agreed = replace(call, version=version, client_capabilities=as_object(call.params.get("capabilities")))
    result: JsonObject = {
        "protocolVersion": version,
        "capabilities": capabilities_of(services, agreed),
        "serverInfo": services.identity.shown(version),
        "instructions": INSTRUCTIONS,
    }
    # Decided once, for the whole session: which responses the client resumes.
    decide = services.resuming.decide if version == LEGACY_WITH_TASKS else services.resuming.decide_older
    resumes = decide(client_info_of(call.params, call.headers.user_agent), switch_in(call.query, _RESUME))
    random = services.calls.randomness(RANDOM_BYTES)
    return SessionOpened(result, session_id_of(version, call.params, random, resumes))


def ping(_services: Services, _call: Call) -> JsonObject:
    """Return an empty result: the server is reachable (L14)."""
    return {}


def list_legacy_tools(services: Services, call: Call) -> JsonObject:
    """Return a page of tools; with their task support if the version has tasks."""
    with_tasks, shown = call.version == LEGACY_WITH_TASKS, views(services, call)
    return _tools_page(services, call, lambda tool: legacy_tool(tool, with_tasks=with_tasks, meta=meta_of(shown, tool)))


def _check_kind_of_call(tool: str, support: TaskSupport, *, as_task: bool) -> None:
    if as_task and support is TaskSupport.FORBIDDEN:  # T3
        raise MethodNotFound(f"The tool {tool} does not run as a task: call it without params.task.")
    if not as_task and support is TaskSupport.REQUIRED:  # T4
        raise MethodNotFound(f"The tool {tool} runs as a task only: call it with params.task (2025-11-25).")


def _check_legacy(call: Call, tool: Tool, way: Way) -> None:
    """L3: rely on nothing that was not declared. This era has no error for it."""
    as_task = call.asks_for_task
    _check_kind_of_call(tool.name, tool.task_support, as_task=as_task)
    missing = _missing_capabilities(call, tool, way)
    if missing:
        needed = ", ".join(sorted(missing))
        raise ClientNotCapable(
            f"The tool {tool.name} needs a client that declares these capabilities when it initializes, and sends the "
            f"MCP-Session-Id that it gets: {needed}."
        )
    if tool.confirmation is not None and not way.is_shown and not call.is_followed(as_task=as_task):
        raise ClientNotCapable(f"The tool {tool.name} asks before it begins, and no question reaches this client.")


def _awaited(services: Services, call: Call, begun: Begun) -> Reply:
    """Answer a plain call: on a stream that its client resumes, or after a wait."""
    is_repeat = begun.is_repeat
    if call.resumes.calls:
        return open_stream(services, call, begun.task, is_call=True, is_repeat=is_repeat)
    *_, task = services.operations.watch(
        begun.task, services.patience.unresumable_request, stops_waiting(services, call), call.deadline
    )
    result = (
        answer_or_raise(services, task) if task.has_ended else unfinished(services, call, task, is_repeat=is_repeat)
    )
    return mark_repeated(legacy_result(result), is_repeat=is_repeat)


def _on_stream(services: Services, call: Call, tool: str) -> PlainWay:
    """Answer in time, or on a stream; a question is sent on a stream, and its answer comes later."""
    return PlainWay(
        partial(_awaited, services, call),
        question=lambda task: open_stream(services, call, task, is_call=True, is_fetch=True),
        ask=partial(open_asking, services, call, tool),
    )


_LEGACY: Final = Era(
    _check_legacy,
    _on_stream,
    check_own=lambda call, tool: _check_kind_of_call(tool.name, tool.task_support, as_task=call.asks_for_task),
)


# --------------------------------------------------------------------------------------------------------------- modern


def discover(services: Services, call: Call) -> JsonObject:
    """Return the supported versions and capabilities (M30, X1), without the legacy `tasks` capability (A4).

    Only its `_meta` has the endpoint's whole identity: the result has no member for it (M56).
    """
    return {
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": capabilities_of(services, call),
        "instructions": INSTRUCTIONS,
        "_meta": {META_SERVER: services.identity.shown(call.version)},
        "ttlMs": CACHED_FOR // MILLISECOND,
        "cacheScope": "public",
    }


def list_tools(services: Services, call: Call) -> JsonObject:
    """Return a page of tools; private to the caller, because it depends on the caller's scopes (M32)."""
    shown = views(services, call)

    def written(tool: Tool) -> JsonObject:
        as_task = call.declares_tasks and tool.task_support is not TaskSupport.FORBIDDEN
        return modern_tool(tool, as_task=as_task, meta=meta_of(shown, tool))

    return {**_tools_page(services, call, written), "ttlMs": CACHED_FOR // MILLISECOND, "cacheScope": "private"}


def _check_modern(call: Call, tool: Tool, way: Way) -> None:
    if tool.parameter_headers and not call.is_indirect:
        check_parameter_headers(call.headers, tool.parameter_headers, call.arguments)
    _ = call.request_state, call.input_responses  # refused here where they cannot be read
    missing = _missing_capabilities(call, tool, way)
    if missing:  # M19
        needed = ", ".join(sorted(missing))
        raise MissingClientCapability(f"The tool {tool.name} needs the client capabilities: {needed}.", missing)
    if tool.task_support is TaskSupport.REQUIRED and not call.asks_for_task:  # X3
        message = f"The tool {tool.name} runs as a task only: declare the extension {TASKS_EXTENSION}."
        raise MissingClientCapability(message, TASKS_CAPABILITY)


def _in_rounds(services: Services, call: Call, tool: str) -> PlainWay:
    rounds = Rounds(services, call, tool)
    return PlainWay(
        rounds.answer,
        rounds.confirm,
        rounds.resume,
        question=rounds.question,
        ask=rounds.ask,
        answered=rounds.answered,
    )


_MODERN: Final = Era(_check_modern, _in_rounds, check_own=lambda _call, _tool: None)


# -------------------------------------------------------------------------------------------------------------- methods


def _of_resources(method: str, services: Services, call: Call) -> Reply:
    from stepwire.server.resources import METHODS as OF_RESOURCES  # noqa: PLC0415 - most clients read none

    return OF_RESOURCES[method](services, call)


_OF_RESOURCES: Final = ("resources/list", "resources/read", "resources/templates/list")
_OF_MODERN_RESOURCES: Final = (*_OF_RESOURCES, "resources/directory/read")  # SEP-2640
_LEGACY_METHODS: Final[Mapping[str, Method]] = {
    "initialize": initialize,
    "ping": ping,
    "tools/list": list_legacy_tools,
    "tools/call": partial(call_tool, era=_LEGACY),
}
_MODERN_METHODS: Final[Mapping[str, Method]] = {
    "server/discover": discover,
    "tools/list": list_tools,
    "tools/call": partial(call_tool, era=_MODERN),
}


def methods_with(parts: tuple[Extra, ...]) -> Mapping[str, Mapping[str, Method]]:
    """Return the methods of each version: the era's own, those of parts, and those of resources if a part has any."""
    has_resources = any(one.resources for one in parts)
    eras = [(LEGACY_VERSIONS, _LEGACY_METHODS, _OF_RESOURCES), (MODERN_VERSIONS, _MODERN_METHODS, _OF_MODERN_RESOURCES)]
    return {
        version: {
            **({name: partial(_of_resources, name) for name in of_resources} if has_resources else {}),
            **own,
            **{name: method for one in parts for name, method in one.protocol.methods.get(version, {}).items()},
        }
        for versions, own, of_resources in eras
        for version in versions
    }


ROUTED: Final = {"tools/call": RoutedName("name"), "resources/read": RoutedName("uri"), **ROUTED_NAMES}
"""The parameter of each method that the header Mcp-Name repeats."""
