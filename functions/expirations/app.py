"""Stop what still runs for tasks that have expired. Nothing is built before the first event."""

from stepwire.aws.bootstrap import ExpirationsHandler

handler = ExpirationsHandler()
