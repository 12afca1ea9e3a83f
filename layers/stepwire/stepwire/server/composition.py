"""The extensions of this server, and what they add to it together.

To add one: its folder or file, its line in the list and, if it has them, what `extension` says that is elsewhere.
"""

from types import MappingProxyType
from typing import Final

from stepwire.catalog.tools import Tool
from stepwire.json_text import JsonObject
from stepwire.server.call import Call
from stepwire.server.extension import Extension, OnStream, OwnTool, Way
from stepwire.server.extensions.approvals import APPROVALS
from stepwire.server.extensions.cards import CARDS
from stepwire.server.extensions.client_credentials import CLIENT_CREDENTIALS
from stepwire.server.extensions.client_tasks import CLIENT_TASKS
from stepwire.server.extensions.discovery import DISCOVERY
from stepwire.server.extensions.events import EVENTS
from stepwire.server.extensions.fetch_tools import FETCH_TOOLS
from stepwire.server.extensions.skills import SKILLS
from stepwire.server.extensions.tasks import TASKS
from stepwire.server.services import Services

EXTENSIONS: Final[tuple[Extension, ...]] = (
    DISCOVERY,
    TASKS,
    CARDS,
    FETCH_TOOLS,
    EVENTS,
    APPROVALS,
    CLIENT_TASKS,
    SKILLS,
    CLIENT_CREDENTIALS,
)
"""The first extension that wants a call intercepts it; the one that made a request takes the client's response. Tools
are listed in this order."""
ON_STREAMS: Final[tuple[OnStream, ...]] = tuple(one.on_stream for one in EXTENSIONS if one.on_stream)

_OF_TOOL: Final = MappingProxyType({name: one.tools for one in EXTENSIONS for name in one.tool_names if one.tools})
_MEANT: Final = MappingProxyType({name: meant for one in EXTENSIONS for name, meant in one.meant.items()})
_INTERCEPTING: Final = tuple(one.intercept for one in EXTENSIONS if one.intercept)


def meant_call(services: Services, call: Call) -> Call:
    """Return the tool call inside this call, or the call itself."""
    meant = _MEANT.get(str(call.params.get("name")))
    return call if meant is None else meant(services, call)


def own_tool(services: Services, call: Call) -> OwnTool | None:
    """Return the tool of Stepwire's own that is called; None if the call names another, or one that is not offered."""
    name = str(call.params.get("name"))
    tools = _OF_TOOL.get(name)
    return None if tools is None else tools(services, call).get(name)


def offered_tools(services: Services, call: Call) -> tuple[OwnTool, ...]:
    """Return Stepwire's own tools that this client sees."""
    return tuple(tool for one in EXTENSIONS if one.tools for tool in one.tools(services, call).values())


def way_of(services: Services, call: Call, tool: Tool, plain: Way) -> Way:
    """Return the way of a call: an extension's, or the given one of a plain call."""
    return next((way for one in _INTERCEPTING if (way := one(services, call, tool, plain))), plain)


def capabilities_of(services: Services, call: Call) -> JsonObject:
    """Return the server's capabilities for the client of this call."""
    added = [one.capabilities(services, call) for one in EXTENSIONS if one.capabilities]
    merged: JsonObject = {"tools": {}}  # M54: no `listChanged`, because no response stays open (decision 72)
    for one in added:
        merged |= one
    extensions = {name: value for one in added for name, value in one.get("extensions", {}).items()}
    return {**merged, **({"extensions": extensions} if extensions else {})}
