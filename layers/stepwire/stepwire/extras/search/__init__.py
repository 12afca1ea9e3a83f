"""Search: a client is listed two tools, one that searches the others and one that calls what was found.

On where the operator says so, or the URL (`?discover=1`). A call by `call_tool` becomes the call of the tool that it
names before anything else looks at it, so nothing on the road knows the difference: the same checks, questions, task,
key and audit. The search is loaded with the first request of it.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from stepwire.catalog.tools import OWN_TOOLS, TaskSupport, Tool
from stepwire.errors import InvalidParams
from stepwire.hooks import Extra, Ground, Tools
from stepwire.json_text import Json, JsonObject, JsonTextError, as_object, is_object, parse, write
from stepwire.protocol.http import switch_in
from stepwire.server.call import Call, meta_of, reached_tools, views
from stepwire.server.results import text_result
from stepwire.server.services import Services
from stepwire.server.ways import OwnTool
from stepwire.tasks.task import ToolResult

FIND_TOOL: Final = "find_tools"
CALL_TOOL: Final = "call_tool"
MOST_FOUND: Final = 20
_USUAL: Final = 5
LONGEST_SEARCH: Final = 500  # characters


def is_usual(ground: Ground) -> bool:
    """Tell whether clients search for tools unless their URL says otherwise: as TOOL_DISCOVERY says."""
    return ground.environment.get("TOOL_DISCOVERY") == "on"


def _searches(services: Services, call: Call) -> bool:
    """Tell whether a client searches for tools instead of listing them: at this URL, or else at this endpoint.

    Raises:
        InvalidParams: the URL says neither 1 nor 0.
    """
    asked = switch_in(call.query, "discover") if call.query else None
    return services.of(is_usual) if asked is None else asked


def _finder(services: Services, call: Call) -> str | None:
    return FIND_TOOL if _searches(services, call) else None


def _find(services: Services, call: Call, arguments: JsonObject) -> ToolResult:
    from stepwire.extras.search.search import find

    limit = int(arguments.get("limit", _USUAL))  # JSON Schema takes 5.0 for an integer
    data = find(reached_tools(services, call), arguments["query"], limit)
    return text_result(write(data), data)  # both: some hosts show a model only the one, some only the other


def _refuse(_services: Services, _call: Call, arguments: JsonObject) -> ToolResult:
    """Refuse one of Stepwire's own tools, which are all listed: hosts keep some of them from their models."""
    raise InvalidParams(f"{CALL_TOOL} calls the tools that {FIND_TOOL} returns: call {arguments['name']} by its name.")


def _meant(_services: Services, call: Call) -> Call | None:
    """Return the call of the tool that a call of `call_tool` names; None: a wrong one, for its own schema to refuse."""
    name, arguments = call.arguments.get("name"), _object(call.arguments.get("arguments"))
    is_well_formed = isinstance(name, str) and arguments is not None and call.arguments.keys() <= {"name", "arguments"}
    if not is_well_formed or name in OWN_TOOLS:
        return None
    return replace(call, params={**call.params, "name": name, "arguments": arguments}, is_indirect=True)


def _object(given: Json) -> JsonObject | None:
    if given is None:
        return {}
    if isinstance(given, str):  # some hosts write an object whose members no schema names as text
        with suppress(JsonTextError):
            given = parse(given)
    return as_object(given) if is_object(given) else None


def _cautious(tools: list[Tool]) -> JsonObject:
    """Return annotations that hold for every tool."""
    hints = [tool.annotations or {} for tool in tools]
    changing = [one for one in hints if not one.get("readOnlyHint")]
    return {
        "readOnlyHint": bool(hints) and not changing,
        "destructiveHint": any(one.get("destructiveHint", True) for one in changing),
        "idempotentHint": all(one.get("idempotentHint") for one in changing),
        "openWorldHint": any(one.get("openWorldHint", True) for one in hints),
    }


def _common_support(tools: list[Tool]) -> TaskSupport:
    """Return how every tool can be called, if there is such a way.

    VS Code makes a task of each call of a tool that is OPTIONAL, and cannot call one that is FORBIDDEN then.
    """
    supports = {tool.task_support for tool in tools}
    if TaskSupport.FORBIDDEN in supports and TaskSupport.REQUIRED not in supports:
        return TaskSupport.FORBIDDEN
    return TaskSupport.REQUIRED if supports == {TaskSupport.REQUIRED} else TaskSupport.OPTIONAL


def _tools(services: Services, call: Call) -> Mapping[str, OwnTool]:
    if not _searches(services, call):
        return {}
    tools = reached_tools(services, call)
    shown = views(services, call)
    meta = {name: value for tool in tools for name, value in meta_of(shown, tool).items()}
    support = _common_support(tools)
    return {
        FIND_TOOL: _FIND,
        CALL_TOOL: replace(_CALL, annotations=_cautious(tools), meta=meta or None, task_support=support),
    }


_FIND: Final = OwnTool(
    FIND_TOOL,
    "Find tools",
    "Find out what this server can do: it has more tools than are listed. Search by words for what is to be done, and "
    f"get the best matches with the JSON Schemas of their arguments. Call one with {CALL_TOOL}. Search before you say "
    "that something cannot be done.",
    {
        "query": {
            "type": "string",
            "maxLength": LONGEST_SEARCH,
            "description": "Words for what is to be done. Empty: all tools, by name.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_FOUND,
            "description": f"Most tools to return; {_USUAL}.",
        },
    },
    ("query",),
    {"readOnlyHint": True, "openWorldHint": False},
    _find,
)
_CALL: Final = OwnTool(
    CALL_TOOL,
    "Call a found tool",
    f"Call a tool that {FIND_TOOL} has returned. It does what that tool's description and annotations say, and returns "
    "that tool's own result.",
    {
        "name": {"type": "string", "description": f"The tool's name, as {FIND_TOOL} has returned it."},
        "arguments": {
            "type": "object",
            "additionalProperties": True,
            "description": "The tool's arguments, by its inputSchema.",
        },
    },
    ("name",),
    {},
    _refuse,
    meant=_meant,
)
EXTRA: Final = Extra(name="search", tools=Tools(_tools, _finder))
