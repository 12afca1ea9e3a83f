"""The status change events that Stepwire publishes about its tasks, for other systems.

An event contains no content of the task (arguments, result, questions, messages, errors), because a subscriber need not
be allowed to read the task. Each change has its own version, so subscribers can drop duplicates and order the events.
"""

from datetime import datetime
from enum import Enum

from msgspec import Struct

from stepwire.json_text import JsonObject
from stepwire.rendering import modern_status, timestamp, tool_failed
from stepwire.subscriptions.events import Change
from stepwire.tasks.task import Completed, Task


class Removal(Enum):
    """Why a task was removed before it ended."""

    EXPIRED = "expired"
    """Its ttl had passed."""
    REMOVED = "removed"
    """Its workflow could not be started, so the task was taken back; or an operator deleted the item."""


class TaskStatusChange(Struct, frozen=True):
    """A change of a task's status."""

    task: Task
    """The task after the change; for a removed task, its last state."""
    status: str
    """A status of MCP 2026-07-28, or a value of `Removal`."""
    previous_status: str | None
    """None for a new task."""
    version: int
    """The task's version with this status; a higher version is later."""
    at: datetime
    """Time of the write."""

    def detail(self) -> JsonObject:
        """Return the event's detail."""
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


def change_on_save(before: Task | None, after: Task, at: datetime) -> TaskStatusChange | None:
    """Return the status change of a saved task; None if its status is unchanged."""
    status, previous = modern_status(after.status), None if before is None else modern_status(before.status)
    return None if status == previous else TaskStatusChange(after, status, previous, after.version, at)


def change_on_removal(last: Task, why: Removal, at: datetime) -> TaskStatusChange | None:
    """Return the status change of a removed task; None if it had ended, because its end was published already."""
    if last.has_ended:
        return None
    return TaskStatusChange(last, why.value, modern_status(last.status), last.version + 1, at)


def change_of(change: TaskStatusChange) -> Change:
    """Return a change of status as it is recorded for the task's caller."""
    task = change.task
    is_removal = change.status in {why.value for why in Removal}
    return Change(
        task.task_id,
        task.work.tool,
        change.status,
        change.previous_status,
        change.version,
        change.at if is_removal else task.last_updated_at,
        task.created_at,
        task.last_updated_at,
        task.expires_at,
        is_error=tool_failed(task.status) if isinstance(task.status, Completed) else None,
    )
