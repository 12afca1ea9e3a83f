"""All tasks of a caller, counted and cancelled by an operator's commands.

The rule: a command does a bounded part, and says where the next one goes on. So it may be interrupted and given again
at any time: what has ended is passed over.
"""

from datetime import timedelta
from typing import Final

from msgspec import Struct

from stepwire.background.commands import TASKS, Command, Commands, Fields, OneTask, Owner
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

    def answer(self, after: TaskId | None, *, is_busy: bool = False) -> JsonObject:
        """Return what an operator is answered."""
        counts = {"cancelled": self.cancelled, "ended": self.ended, "failed": self.failed}
        return {**counts, "after": after, "is_busy": is_busy}


class OfCaller(Fields, frozen=True):
    """The fields of a command about the tasks of a caller."""

    owner: Owner
    after: OneTask | None = None
    """The last task that an earlier command is done with."""


def count_tasks(engine: Engine, given: OfCaller) -> JsonObject:
    """Return how many of the next tasks have ended.

    {"running": count, "ended": count, "after": id or null}
    """
    page = engine.recorder.page(given.owner, given.after, MOST_COUNTED)
    running = sum(not task.has_ended for task in page.tasks)
    return {"running": running, "ended": len(page.tasks) - running, "after": page.next_after}


def cancel_tasks(engine: Engine, given: OfCaller) -> JsonObject:
    """Cancel those of the next tasks that have not ended.

    {"cancelled": count, "ended": count, "failed": [{"task_id", "reason"}], "after": id or null, "is_busy": bool}

    `is_busy` says that AWS throttles or does not answer, so that the next command had better wait.
    """
    page = engine.recorder.page(given.owner, given.after, MOST_CANCELLED)
    clock, done = engine.recorder.clock, _Cancelled(last=given.after)
    until = clock.now() + BUDGET
    for task in page.tasks:
        if clock.now() >= until:
            return done.answer(done.last)
        try:
            _cancel(engine, task, given.operator or "unknown", done)
        except (AtQuota, StoreBusy, WorkflowsUnavailable) as fault:
            engine.ports.report(fault)
            return done.answer(done.last, is_busy=True)
        done.last = task.task_id
    return done.answer(page.next_after)


def _cancel(engine: Engine, task: Task, operator: str, done: _Cancelled) -> None:
    if task.has_ended:
        done.ended += 1
        return
    try:
        engine.operations.cancel(task.owner, task.task_id, operator)
    except (TaskAlreadyEnded, UnknownTask):
        done.ended += 1
    except ProtocolError as error:
        done.failed.append({"task_id": task.task_id, "reason": error.message})
    except NeedsOperator:
        done.failed.append({"task_id": task.task_id, "reason": _DENIED})
    else:
        done.cancelled += 1


COMMANDS: Final[Commands] = {
    "count_tasks": Command(TASKS, OfCaller, count_tasks),
    "cancel_tasks": Command(TASKS, OfCaller, cancel_tasks),
}
