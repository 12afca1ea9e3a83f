"""Tell an event bus how the status of tasks changes. Nothing is built before the first event."""

from stepwire.aws.outbox import StatusChangesHandler

handler = StatusChangesHandler()
