"""Call a tool from outside, as its clients do. Nothing is built before the first call."""

from stepwire.extras.operations.probe import ProbeHandler

handler = ProbeHandler()
