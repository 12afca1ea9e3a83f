"""Answer MCP requests from API Gateway. Nothing is built before the first request, or before a snapshot."""

from stepwire.aws.bootstrap import McpHandler
from stepwire.aws.snapshot import before_snapshot

handler = McpHandler()
before_snapshot(handler.prepare)
