"""Record the questions of workflows in their tasks. Nothing is built before the first event."""

from stepwire.aws.bootstrap import InputRequestsHandler

handler = InputRequestsHandler()
