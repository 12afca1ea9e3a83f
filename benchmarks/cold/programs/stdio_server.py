"""The stdio server that `stdio` runs for each request."""

import workflow
from mcp.server.fastmcp import FastMCP

server = FastMCP("peer")
server.tool("wait_and_echo")(workflow.work)
server.run()
