"""Answer MCP requests from API Gateway. Everything is built at the first request."""

from stepwire.aws.bootstrap import McpHandler

handler = McpHandler()
