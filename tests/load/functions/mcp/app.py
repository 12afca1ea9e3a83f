"""The handler of function mcp, with the tools of this folder."""

from stepwire.aws.bootstrap import McpHandler

handler = McpHandler()
