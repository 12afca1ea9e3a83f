"""A client of any MCP server over HTTP: `stepwire tools`, `call` and `tasks`, and how their requests are signed."""
