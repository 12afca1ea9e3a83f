"""A change of a task, as it is recorded, and the events that it is. Pure.

One change may be an event of two types: the end of a task is `task.finished` and `task.status_changed`. So changes are
recorded, and events are made when they are read or delivered.
"""

from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from stepwire.json_text import JsonObject, load_json, write
from stepwire.rendering import timestamp
from stepwire.subscriptions.event_types import FINISHED, INPUT_REQUIRED, PROGRESSED, STATUS_CHANGED, Filter
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import Progress, Task

_ENDS: Final = frozenset({"completed", "failed", "cancelled"})
_STEPS: Final = 10  # events of progress from 0 to 100%


class Change(Struct, frozen=True):
    """What happened to a task: its status changed, or it made progress."""

    task_id: TaskId
    tool: str
    status: str
    """A status of MCP 2026-07-28, `expired` or `removed`."""
    previous_status: str | None
    """None for a new task; the same as `status` for progress."""
    version: int
    at: datetime
    created_at: datetime
    last_updated_at: datetime
    expires_at: datetime
    is_error: bool | None = None
    """Whether the tool failed; None for a task that is not completed."""
    progress: Progress | None = None
    """How far the task is; only for progress."""

    @property
    def id(self) -> str:
        """The same for the same change."""
        return f"{self.task_id}-{self.version}"

    def is_of(self, name: str) -> bool:
        """Tell whether this change is an event of a type."""
        if name == PROGRESSED:
            return self.progress is not None
        if self.progress is not None:
            return False
        matches = {FINISHED: self.status in _ENDS, INPUT_REQUIRED: self.status == "input_required"}
        return matches.get(name, name == STATUS_CHANGED)

    def matches(self, wanted: Filter) -> bool:
        """Tell whether a caller of this task wants to hear of this change."""
        is_tool = wanted.tool in (None, self.tool)
        return self.is_of(wanted.name) and is_tool and wanted.task_id in (None, self.task_id)

    def event(self, name: str) -> JsonObject:
        """Return this change as an event of a type that it is of."""
        return {
            "eventId": f"{self.id}.{name.removeprefix('task.')}",
            "name": name,
            "timestamp": timestamp(self.at),
            "data": self._data(),
        }

    def _data(self) -> JsonObject:
        shown: JsonObject = {"taskId": self.task_id, "tool": self.tool, "status": self.status}
        if self.progress is None:
            shown["previousStatus"] = self.previous_status
            shown |= {} if self.is_error is None else {"isError": self.is_error}
        else:
            shown["progress"] = self.progress.done
            shown |= {} if self.progress.total is None else {"total": self.progress.total}
        return {
            **shown,
            "version": self.version,
            "createdAt": timestamp(self.created_at),
            "lastUpdatedAt": timestamp(self.last_updated_at),
            "expiresAt": timestamp(self.expires_at),
        }

    def text(self) -> str:
        """Return this change as text, to be recorded."""
        times = (self.at, self.created_at, self.last_updated_at, self.expires_at)
        progress = None if self.progress is None else [self.progress.done, self.progress.total]
        parts = [self.task_id, self.tool, self.status, self.previous_status, self.version]
        return write([*parts, [moment.timestamp() for moment in times], self.is_error, progress])


def change_of_text(text: str) -> Change:
    """Return a change that was recorded."""
    task_id, tool, status, previous, version, times, is_error, progress = load_json(text)
    at, created, updated, expires = (datetime.fromtimestamp(seconds, UTC) for seconds in times)
    made = None if progress is None else Progress(*progress)
    return Change(task_id, tool, status, previous, version, at, created, updated, expires, is_error, made)


def has_come_further(before: Progress | None, after: Progress | None) -> bool:
    """Tell whether a task has made progress that is worth an event: a tenth, or twice as much if no total is known."""
    if after is None:
        return False
    return before is None or _step(after) > _step(before)


def _step(progress: Progress) -> int:
    if progress.total:
        return int(_STEPS * min(1.0, max(0.0, progress.done / progress.total)))
    return int(min(max(0.0, progress.done), 2.0**53)).bit_length()


def progress_of(before: Task, after: Task, status: str) -> Change | None:
    """Return the change of a running task whose status stays the same; None if it has not come much further."""
    if after.has_ended or not has_come_further(before.progress, after.progress):
        return None
    return Change(
        after.task_id,
        after.work.tool,
        status,
        status,
        after.version,
        after.last_updated_at,
        after.created_at,
        after.last_updated_at,
        after.expires_at,
        progress=after.progress,
    )
