"""MCP Events (`io.modelcontextprotocol/events`): tells callers what happens to their tasks, by poll and by webhook.

The rule: an event says what happened to which task, and never contains arguments, questions, answers or results.
"""
