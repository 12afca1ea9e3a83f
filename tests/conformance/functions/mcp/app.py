"""Answer MCP requests from API Gateway. Everything is built at the first request."""

from stepwire.aws.mcp_function import McpHandler

handler = McpHandler()
