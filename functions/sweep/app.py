"""Look after the tasks that nobody reads. Nothing is built before the first event."""

from stepwire.aws.bootstrap import SweepHandler

handler = SweepHandler()
