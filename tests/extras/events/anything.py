"""For tests/server/anything.py: the methods of MCP Events without side effects."""

METHODS = ("events/list", "events/poll")
