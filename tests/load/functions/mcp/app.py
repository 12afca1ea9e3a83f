"""The kit's own handler, with this folder's tools."""

from stepwire.aws.bootstrap import McpHandler

handler = McpHandler()
