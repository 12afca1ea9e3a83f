"""Work that no client request triggers: execution events, workflows' questions, expiry, status changes, the sweep.

Each module is the logic of one Lambda function. Nothing here answers an MCP client. `execution_events` receives reports
about executions; `status_changes` builds the events that Stepwire publishes about tasks.
"""
