"""Record the questions of workflows in their tasks. Nothing is built before the first event."""

from stepwire.aws.background_functions import InputRequestsHandler

handler = InputRequestsHandler()
