"""What `stepwire task` and `stepwire replay` know of MCP Events and their webhooks."""
