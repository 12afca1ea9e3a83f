"""What `stepwire trace` and `stepwire replay` know of MCP Events and their webhooks."""
