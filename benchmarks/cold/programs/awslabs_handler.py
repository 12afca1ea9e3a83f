"""awslabs' mcp-lambda-handler, as its README has it."""

from timing import Stopwatch

WATCH = Stopwatch()

import json  # noqa: E402 - what follows is measured
import os  # noqa: E402

import workflow  # noqa: E402
from awslabs.mcp_lambda_handler import MCPLambdaHandler  # noqa: E402

server = MCPLambdaHandler(name="peer", version="1.0")


@server.tool()
def wait_and_echo(message: str, seconds: int) -> str:
    """Wait and echo.

    Args:
        message: what to echo
        seconds: how long to wait
    """
    return workflow.work(message, seconds)


WATCH.stop(server.handle_request(json.loads(os.environ["EVENT"]), None)["body"])
