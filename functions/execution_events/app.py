"""Record the ends and the progress of executions in their tasks. Nothing is built before the first event."""

from stepwire.aws.bootstrap import ExecutionEventsHandler

handler = ExecutionEventsHandler()
