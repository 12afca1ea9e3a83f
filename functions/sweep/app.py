"""Check the tasks that no client reads. Nothing is built before the first event."""

from stepwire.aws.bootstrap import SweepHandler

handler = SweepHandler()
