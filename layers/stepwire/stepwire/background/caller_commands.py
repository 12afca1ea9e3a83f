"""What operators do to all tasks of one caller: count those that have not ended, and cancel them.

A command does a bounded part, and says where the next one goes on. So it may be interrupted and given again at any
time: what has ended is passed over. The answers have counts and the ids of tasks, and nothing of a call.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.engine.assembly import Engine
from stepwire.errors import (
    AtQuota,
    NeedsOperator,
    ProtocolError,
    StoreBusy,
    TaskAlreadyEnded,
    UnknownTask,
    WorkflowsUnavailable,
)
from stepwire.json_text import JsonObject
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import Task

MOST_COUNTED: Final = 100
"""Tasks of one command that counts."""
MOST_CANCELLED: Final = 50
"""Tasks of one command that cancels: a second's worth of the smallest quota of StopExecution."""
BUDGET: Final = timedelta(seconds=15)
"""After that long, no further task is cancelled: the next command goes on."""


_DENIED: Final = "This server may not stop its execution, or may not use the key or the role that this needs."


class _Cancelled(Struct):
    """What came of the tasks of one command."""

    cancelled: int = 0
    ended: int = 0
    failed: list[JsonObject] = []
    last: TaskId | None = None
    """The last task that is done with."""


class CallerCommands(Struct, frozen=True):
    """Does what operators command about a caller's tasks."""

    engine: Engine

    def count(self, owner: Principal, after: TaskId | None) -> JsonObject:
        """Return how many of the next tasks have ended.

        {"running": count, "ended": count, "after": id or null}
        """
        page = self.engine.recorder.page(owner, after, MOST_COUNTED)
        running = sum(not task.has_ended for task in page.tasks)
        return {"running": running, "ended": len(page.tasks) - running, "after": page.next_after}

    def cancel(self, owner: Principal, after: TaskId | None, operator: str) -> JsonObject:
        """Cancel those of the next tasks that have not ended.

        {"cancelled": count, "ended": count, "failed": [{"task_id", "reason"}], "after": id or null, "is_busy": bool}

        `is_busy` says that AWS throttles or does not answer, so that the next command had better wait.
        """
        page = self.engine.recorder.page(owner, after, MOST_CANCELLED)
        until, done = self._now + BUDGET, _Cancelled(last=after)
        for task in page.tasks:
            if self._now >= until:
                return self._answer(done, done.last)
            try:
                self._cancel(task, operator, done)
            except (AtQuota, StoreBusy, WorkflowsUnavailable) as fault:
                self.engine.ports.report(fault)
                return self._answer(done, done.last, is_busy=True)
            done.last = task.task_id
        return self._answer(done, page.next_after)

    def _cancel(self, task: Task, operator: str, done: _Cancelled) -> None:
        if task.has_ended:
            done.ended += 1
            return
        try:
            self.engine.operations.cancel(task.owner, task.task_id, operator)
        except (TaskAlreadyEnded, UnknownTask):
            done.ended += 1
        except ProtocolError as error:
            done.failed.append({"task_id": task.task_id, "reason": error.message})
        except NeedsOperator:
            done.failed.append({"task_id": task.task_id, "reason": _DENIED})
        else:
            done.cancelled += 1

    def _answer(self, done: _Cancelled, after: TaskId | None, *, is_busy: bool = False) -> JsonObject:
        counts = {"cancelled": done.cancelled, "ended": done.ended, "failed": done.failed}
        return {**counts, "after": after, "is_busy": is_busy}

    @property
    def _now(self) -> datetime:
        return self.engine.recorder.clock.now()
