"""Publish status change events of tasks to an event bus. Nothing is built before the first event."""

from stepwire.aws.status_changes_function import StatusChangesHandler

handler = StatusChangesHandler()
