"""The handler of function mcp, with the tools of this folder."""

from stepwire.aws.mcp_function import McpHandler

handler = McpHandler()
