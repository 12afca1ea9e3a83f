"""Record the end of executions in their tasks. Nothing is built before the first event."""

from stepwire.aws.bootstrap import ExecutionEventsHandler

handler = ExecutionEventsHandler()
