"""Stop the executions of expired tasks. Nothing is built before the first event."""

from stepwire.aws.bootstrap import ExpirationsHandler

handler = ExpirationsHandler()
