"""FastMCP 4.x behind Mangum: stateless, with JSON responses."""

from timing import Stopwatch

WATCH = Stopwatch()

import json  # noqa: E402 - what follows is measured
import os  # noqa: E402

import workflow  # noqa: E402
from fastmcp import FastMCP  # noqa: E402
from mangum import Mangum  # noqa: E402

server = FastMCP("peer")
server.tool(workflow.work, name="wait_and_echo")
app = server.http_app(stateless_http=True, json_response=True)
WATCH.stop(Mangum(app)(json.loads(os.environ["EVENT"]), None)["body"])
