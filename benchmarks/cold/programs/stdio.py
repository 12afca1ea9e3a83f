"""run-mcp-servers-with-aws-lambda: a child process serves each request over stdio; its CPU time counts too."""

from timing import Stopwatch

WATCH = Stopwatch()

import json  # noqa: E402 - what follows is measured
import os  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from mcp.client.stdio import StdioServerParameters  # noqa: E402
from mcp_lambda import APIGatewayProxyEventV2Handler, StdioServerAdapterRequestHandler  # noqa: E402

child = Path(__file__).with_name("stdio_server.py")
server = StdioServerParameters(command=sys.executable, args=[str(child)], env=dict(os.environ))
handler = APIGatewayProxyEventV2Handler(StdioServerAdapterRequestHandler(server))
WATCH.stop(handler.handle(json.loads(os.environ["EVENT"]), None)["body"])
