"""The Python SDK, mcp 2.x, behind Mangum: stateless, with JSON responses."""

from timing import Stopwatch

WATCH = Stopwatch()

import json  # noqa: E402 - what follows is measured
import os  # noqa: E402

import workflow  # noqa: E402
from mangum import Mangum  # noqa: E402
from mcp.server.mcpserver import MCPServer  # noqa: E402

server = MCPServer("peer")
server.tool("wait_and_echo")(workflow.work)
app = server.streamable_http_app(stateless_http=True, json_response=True, host="0.0.0.0")  # noqa: S104 - so it accepts any Host
WATCH.stop(Mangum(app)(json.loads(os.environ["EVENT"]), None)["body"])
