"""Which tools of the catalog a call reaches: those that its caller may call, and of them those that its URL selects.

Whoever lists or calls tools for a client asks here. Tasks are not selected: a caller has the same at every URL.
"""

from typing import TYPE_CHECKING

from stepwire.catalog.tools import FIND_TOOL, OWN_TOOLS, Tool
from stepwire.errors import UnknownSelection, UnknownTool
from stepwire.protocol.messages import text_in
from stepwire.protocol.url_query import switch_in
from stepwire.server.call import Call
from stepwire.server.services import Services

if TYPE_CHECKING:
    from stepwire.tasks.approvals import Approver


def discovers(services: Services, call: Call) -> bool:
    """Tell whether a client searches for tools, and is not listed them: at this URL, or else at this endpoint.

    Raises:
        InvalidParams: the URL says neither 1 nor 0.
    """
    asked = switch_in(call.query, "discover") if call.query else None
    return services.discovery if asked is None else asked


def listed_tools(services: Services, call: Call) -> list[Tool]:
    """Return the tools that a client is listed: those that its calls reach, unless it searches for them."""
    return [] if discovers(services, call) else reached_tools(services, call)


def approver_in(services: Services, call: Call) -> "Approver | None":
    """Return who calls, if they may decide questions of some tool's work; None if they may not, or nobody knows."""
    audiences = services.catalog.audiences
    if services.approvals is None or not services.access.knows_callers or not audiences:
        return None
    from stepwire.tasks.audiences import approver_of  # noqa: PLC0415 - few catalogs ask others than the caller

    approver = approver_of(call.caller, services.access.prefix)
    # An audience without conditions is whatever each question says.
    return approver if any(not one.conditions or approver.fits(one) for one in audiences) else None


def reached_tools(services: Services, call: Call) -> list[Tool]:
    """Return the tools that a call reaches, in the order of their names.

    Raises:
        UnknownSelection: the URL names a tool or a group that this caller does not have, whether or not others have.
    """
    allowed = [tool for tool in services.catalog.in_order if services.access.allows(tool, call.caller.scopes)]
    chosen = call.selection
    if chosen is None:
        return allowed
    usable = {group for tool in allowed for group in tool.groups}
    # Stepwire's own tools are there at every URL, so naming one changes nothing.
    unknown = chosen.tools - OWN_TOOLS - {tool.name for tool in allowed}
    if unknown or not chosen.groups <= usable:
        raise UnknownSelection(unknown, chosen.groups - usable, usable)
    return [tool for tool in allowed if chosen.has(tool.name, tool.groups)]


def reached_tool(services: Services, call: Call) -> Tool:
    """Return the tool that is called.

    Raises:
        UnknownTool: there is none of that name, or the URL does not select it.
        InsufficientScope: its caller may not call it.
    """
    name = text_in(call.params, "name")
    tool, chosen = services.catalog.tools.get(name), call.selection
    if tool is None or (chosen is not None and not chosen.has(tool.name, tool.groups)):
        raise UnknownTool(name, FIND_TOOL if discovers(services, call) else "tools/list")
    services.access.check(call.caller.scopes, tool, services.catalog)
    return tool
