"""The life of a task: a pure function from a task and an event to the next task.

Every change of status is made here and nowhere else. No clock, no I/O, no logging. The function is total, and a
finished task absorbs every event unchanged, so events may come late, twice and in any order.

    working ──WorkCompleted──> completed
            ──WorkFailed─────> failed
            ──WorkStopped────> cancelled
            ──WorkChecked────> working (only the time of the check moves)
"""

from dataclasses import replace
from datetime import datetime
from typing import assert_never

from stepwire.tasks.events import TaskEvent, WorkChecked, WorkCompleted, WorkFailed, WorkStopped
from stepwire.tasks.task import LONGEST_MESSAGE, Cancelled, Completed, Failed, Status, Task


def advance(task: Task, event: TaskEvent, at: datetime) -> Task:
    """Give the task as it is after the event; the same object where nothing changes."""
    if task.has_ended:  # T10, X30: a terminal status never changes
        return task
    if isinstance(event, WorkChecked):
        return replace(task, checked_at=max(at, task.checked_at))
    # Clocks of two function instances differ: a later state is never dated before an earlier one.
    return replace(task, status=_end(event), last_updated_at=max(at, task.last_updated_at))


def _end(event: WorkCompleted | WorkFailed | WorkStopped) -> Status:
    match event:
        case WorkCompleted(result, message):
            return Completed(result, message)
        case WorkFailed(error):
            return Failed(error, error.message[:LONGEST_MESSAGE])
        case WorkStopped(message):
            return Cancelled(message)
        case _:  # pragma: no cover
            assert_never(event)
