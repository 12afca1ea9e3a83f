"""The methods of 2026-07-28, with the extension io.modelcontextprotocol/tasks.

Each method reads its parameters, calls an operation of the engine and renders the result. The table at the end lists
them all. No request depends on an earlier one (M22): a client declares its capabilities in each.
"""

from datetime import timedelta
from typing import Final

from stepwire.catalog.published import REREAD_AFTER
from stepwire.catalog.tools import TaskSupport, Tool
from stepwire.errors import (
    MissingClientCapability,
)
from stepwire.json_text import JsonObject
from stepwire.protocol.headers import check_parameter_headers
from stepwire.protocol.versions import MODERN_VERSIONS, TASKS_EXTENSION
from stepwire.rendering import (
    modern_tool,
)
from stepwire.server.calls import Asking, Era
from stepwire.server.composition import capabilities_of, offered_tools
from stepwire.server.extension import Way
from stepwire.server.kit import (
    INSTRUCTIONS,
    Call,
    Kit,
)
from stepwire.server.pages import next_cursor, tools_page
from stepwire.server.rounds import Rounds, sent_responses, sent_state
from stepwire.server.tool_calls import declares_tasks, missing_capabilities, shows_card

TASKS_CAPABILITY: Final[JsonObject] = {"extensions": {TASKS_EXTENSION: {}}}
CACHE_TTL_MS: Final = 300_000
TOOLS_TTL_MS: Final = REREAD_AFTER // timedelta(milliseconds=1)  # owners register tools while the server runs
MOST_SUBSCRIPTIONS: Final = 20  # tasks in one subscription
_LARGEST_IN_A_SUBSCRIPTION: Final = 100_000  # bytes of a result


def discover(kit: Kit, call: Call) -> JsonObject:
    """Return the supported versions and capabilities (M30, X1), without the legacy `tasks` capability (A4)."""
    return {
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": capabilities_of(kit, call),
        "instructions": INSTRUCTIONS,
        "ttlMs": CACHE_TTL_MS,
        "cacheScope": "public",
    }


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
        shown += [tool.shown(call.version) for tool in offered_tools(kit, call)]
    return {"tools": shown, **next_cursor(page.next_after), "ttlMs": TOOLS_TTL_MS, "cacheScope": "private"}


def _check(_kit: Kit, call: Call, tool: Tool, sent: JsonObject) -> None:
    check_parameter_headers(call.headers, tool.parameter_headers, sent)
    sent_state(call)
    sent_responses(call)
    missing = missing_capabilities(tool, call)
    if missing:  # M19
        needed = ", ".join(sorted(missing))
        raise MissingClientCapability(f"The tool {tool.name} needs the client capabilities: {needed}.", missing)
    if tool.task_support is TaskSupport.REQUIRED and not declares_tasks(call):  # X3
        message = f"The tool {tool.name} runs as a task only: declare the extension {TASKS_EXTENSION}."
        raise MissingClientCapability(message, TASKS_CAPABILITY)


def _plain(kit: Kit, call: Call, tool: str, sent: JsonObject) -> Way:
    rounds = Rounds(kit, call, tool, sent)
    return Way(rounds.answer, rounds.confirm, rounds.resume)


def _asking(kit: Kit, call: Call, tool: str, sent: JsonObject) -> Asking:
    rounds = Rounds(kit, call, tool, sent)
    return Asking(rounds.question, rounds.answered)


ERA: Final = Era(_check, _plain, check_own=lambda _call, _tool: None, asking=_asking)
