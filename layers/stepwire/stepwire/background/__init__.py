"""Work that no client request triggers: execution events, workflows' questions, expiry, the sweep.

Each module is the logic of one Lambda function. Nothing here answers an MCP client. `execution_events` receives reports
about executions.
"""
