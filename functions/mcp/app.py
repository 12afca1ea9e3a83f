"""Answer MCP requests from API Gateway. Nothing is built before the first request, or before a snapshot."""

from stepwire.aws.invocations import before_snapshot
from stepwire.aws.mcp_function import McpHandler

handler = McpHandler()
before_snapshot(handler.prepare)
