"""An endpoint whose client searches for tools, and one whose client calls every tool by call_tool."""

import json
from dataclasses import dataclass
from typing import Final

from msgspec import structs
from msgspec.structs import replace

from stepwire.catalog.tools import OWN_TOOLS
from stepwire.extras.search import CALL_TOOL
from stepwire.json_text import write
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.tasks.outcomes import Succeeded
from tests.kits import CONFIRMED, EXPRESS, FORBIDDEN, OPTIONAL, OUTPUT, REQUIRED, STRUCTURED, World, catalog_of
from tests.server.clients import AtUrl, Endpoint

ROUTED: Final = replace(
    OPTIONAL,
    name="routed",
    input_schema=write({"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}),
)
ANSWERED: Final = replace(OPTIONAL, name="answered", model_may_answer=True)
KEYED: Final = replace(OPTIONAL, name="keyed", groups=("finance", "month-end"))
TOOLS: Final = (OPTIONAL, REQUIRED, FORBIDDEN, STRUCTURED, CONFIRMED, EXPRESS, ROUTED, ANSWERED, KEYED)


def new_world() -> World:
    """Return Stepwire with one tool of each kind."""
    world = World(catalog=catalog_of(*TOOLS))
    world.sync_workflows.answer = Succeeded(write(OUTPUT))
    return world


def searching(world: Endpoint, more: str = "") -> AtUrl:
    """Return an endpoint at the URL that lets its client search."""
    return AtUrl(world, f"discover=1{more}")


@dataclass(frozen=True)
class Through:
    """An endpoint whose client calls every tool by call_tool."""

    endpoint: Endpoint
    name: str = CALL_TOOL

    @property
    def server(self) -> "Through":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request, its call rewritten."""
        message = json.loads(request.body or b"{}")
        params, headers = message.get("params", {}), dict(request.headers)
        if message.get("method") == "tools/call" and params["name"] not in OWN_TOOLS:
            inner = {name: params[name] for name in ("name", "arguments") if name in params}
            message["params"] = {**params, "name": self.name, "arguments": inner}
            headers |= {"mcp-name": self.name} if "mcp-name" in headers else {}
        body = json.dumps(message).encode() if request.body else b""
        return self.endpoint.server.handle(structs.replace(request, body=body, headers=headers))
