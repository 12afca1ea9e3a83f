"""Check the tasks that no client reads. Nothing is built before the first event."""

from stepwire.aws.background_functions import SweepHandler

handler = SweepHandler()
