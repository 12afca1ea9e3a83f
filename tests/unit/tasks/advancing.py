"""The lifecycle, for tests that look at the task alone."""

from datetime import datetime

from stepwire.tasks.events import TaskEvent
from stepwire.tasks.lifecycle import advance
from stepwire.tasks.task import Task


def advanced(task: Task, event: TaskEvent, at: datetime) -> Task:
    """Return a task after an event."""
    return advance(task, event, at).task
