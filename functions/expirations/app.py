"""Stop the executions of expired tasks. Nothing is built before the first event."""

from stepwire.aws.background_functions import ExpirationsHandler

handler = ExpirationsHandler()
