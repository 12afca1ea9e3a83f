"""Publish status change events of tasks to an event bus. Nothing is built before the first event."""

from stepwire.aws.publishing.outbox import StatusChangesHandler

handler = StatusChangesHandler()
