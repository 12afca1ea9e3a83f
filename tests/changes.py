"""Changes of tasks, as the table's stream tells of them."""

from datetime import datetime

from stepwire.changes import Removal, TaskChange
from stepwire.tasks.task import Task
from tests.fakes import START_OF_TIME


def saved(before: Task | None, after: Task) -> TaskChange:
    """Return the change of a task that was saved."""
    return TaskChange(before, after, START_OF_TIME)


def removed(last: Task, why: Removal, at: datetime) -> TaskChange:
    """Return the change of a task that was removed."""
    return TaskChange(last, last, at, why)
