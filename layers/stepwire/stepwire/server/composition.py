"""What the core and the extras that are on add to the server together.

The core's own parts have the shape of extras: tasks, the tools that fetch results, and OAuth client credentials, by
which programs without a user get tokens from the issuer. The first part that wants a call or a client's response has
it. Tools and capabilities are in this order.
"""

from typing import Final

from stepwire.catalog.tools import TASK_TOOLS
from stepwire.composition import EXTRAS
from stepwire.hooks import Extra, Protocol
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import CLIENT_CREDENTIALS_EXTENSION
from stepwire.server.call import Call
from stepwire.server.fetch_tools import FETCH_TOOLS
from stepwire.server.services import Services
from stepwire.server.tasks import TASKS
from stepwire.server.ways import OwnTool


def _client_credentials(services: Services, call: Call) -> JsonObject:
    """Tell modern clients, where the issuer is known to give such tokens; the older era has no extensions."""
    takes_programs = call.is_modern and services.access.takes_programs
    return {"extensions": {CLIENT_CREDENTIALS_EXTENSION: {}}} if takes_programs else {}


CLIENT_CREDENTIALS: Final = Extra(name="client_credentials", protocol=Protocol(capabilities=_client_credentials))


def parts_with(extras: tuple[Extra, ...] = ()) -> tuple[Extra, ...]:
    """Return the parts of a server, for `Services.parts`: the core's, and these extras."""
    return (TASKS, *extras, FETCH_TOOLS, CLIENT_CREDENTIALS)


def own_tool(services: Services, call: Call) -> OwnTool | None:
    """Return the tool of Stepwire's own that is called; None if the call names another, or one that is not offered."""
    name = str(call.params.get("name"))
    for one in services.parts:
        if one.tools is not None and name in (EXTRAS[one.name].tools if one.name in EXTRAS else TASK_TOOLS):
            return one.tools.offered(services, call).get(name)
    return None


def offered_tools(services: Services, call: Call) -> tuple[OwnTool, ...]:
    """Return Stepwire's own tools that this client sees."""
    offered = (one.tools.offered(services, call) for one in services.parts if one.tools is not None)
    return tuple(tool for tools in offered for tool in tools.values())


def capabilities_of(services: Services, call: Call) -> JsonObject:
    """Return the server's capabilities for the client of this call."""
    added = [declare(services, call) for one in services.parts if (declare := one.protocol.capabilities) is not None]
    merged: JsonObject = {"tools": {}}  # M54: no `listChanged`, because no response stays open (decision 72)
    for one in added:
        merged |= one
    extensions = {name: value for one in added for name, value in one.get("extensions", {}).items()}
    return {**merged, **({"extensions": extensions} if extensions else {})}
