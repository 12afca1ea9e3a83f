"""Answer MCP requests from API Gateway. Nothing is built before the first request."""

from stepwire.aws.bootstrap import McpHandler

handler = McpHandler()
