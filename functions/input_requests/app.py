"""Record what workflows ask of their callers. Nothing is built before the first event."""

from stepwire.aws.bootstrap import InputRequestsHandler

handler = InputRequestsHandler()
