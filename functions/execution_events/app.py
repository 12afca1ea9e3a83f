"""Record the ends and the progress of executions in their tasks. Nothing is built before the first event."""

from stepwire.aws.background_functions import ExecutionEventsHandler

handler = ExecutionEventsHandler()
