"""What the world outside hears of a task: that its status has changed, and to what.

Nothing of what is in the task is told: no argument, result, question, message or error, for whoever listens need not be
whoever may read the task. Each change has a version of its own, so a listener can drop what comes twice, and tell what
is the later.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from stepwire.json_text import JsonObject
from stepwire.rendering import modern_status, timestamp, tool_failed
from stepwire.tasks.task import Completed, Task


class Removal(Enum):
    """Why a task is gone that had not ended."""

    EXPIRED = "expired"
    """Its time was over."""
    REMOVED = "removed"
    """Its workflow could not be started, so there never was such a task; or somebody deleted it by hand."""


@dataclass(frozen=True)
class TaskStatusChange:
    """A change of a task's status."""

    task: Task
    """As it is now; for a task that is gone, as it was last."""
    status: str
    """In the words of 2026-07-28, or of `Removal`."""
    previous_status: str | None
    """None for a task that is new."""
    version: int
    """Of the task with this status; higher ones are later."""
    at: datetime
    """When it was written."""

    def detail(self) -> JsonObject:
        """Write what is told."""
        is_error = {"is_error": tool_failed(self.task.status)} if isinstance(self.task.status, Completed) else {}
        return {
            "event_id": f"{self.task.task_id}-{self.version}",
            "task_id": self.task.task_id,
            "tool": self.task.work.tool,
            "status": self.status,
            "previous_status": self.previous_status,
            **is_error,
            "principal": self.task.owner,
            "version": self.version,
            "created_at": timestamp(self.task.created_at),
            "last_updated_at": timestamp(self.task.last_updated_at),
            "expires_at": timestamp(self.task.expires_at),
        }


def saved(before: Task | None, after: Task, at: datetime) -> TaskStatusChange | None:
    """Say what is told of a task that was written; None where its status is what it was."""
    status, previous = modern_status(after.status), None if before is None else modern_status(before.status)
    return None if status == previous else TaskStatusChange(after, status, previous, after.version, at)


def gone(last: Task, why: Removal, at: datetime) -> TaskStatusChange | None:
    """Say what is told of a task that is no longer there; None where it had ended, for then its end has been told."""
    if last.has_ended:
        return None
    return TaskStatusChange(last, why.value, modern_status(last.status), last.version + 1, at)
