"""JSON Schema 2020-12: validation, and an estimate of its cost. Knows nothing of MCP or AWS."""
