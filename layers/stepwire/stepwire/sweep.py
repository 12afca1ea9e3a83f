"""Look after the tasks that nobody reads, so that none waits for a reader to be repaired.

Readers do it for the tasks that they read (`Upkeep`). What is left over: a client that never came back, or a task that
expired while it ran and that DynamoDB has not removed yet.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from stepwire.errors import SaveConflict
from stepwire.expirations import Expirations
from stepwire.recorder import Recorder
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.task import Task
from stepwire.upkeep import Upkeep

MOST_PER_RUN: Final = 300
"""What DescribeExecution gives at once in most accounts; the rest is first in the next run."""


@dataclass(frozen=True)
class Sweep:
    """Looks after tasks that are not being read."""

    recorder: Recorder
    upkeep: Upkeep
    expirations: Expirations
    interval: timedelta
    """How long nobody has looked after a task before this does."""
    report: Callable[[Exception], None]
    """Told of what kept a task from being looked after; the others are, all the same."""

    def run(self) -> int:
        """Look after the tasks that have waited longest, and say how many they were."""
        keys = self.recorder.store.neglected(self.recorder.now() - self.interval, MOST_PER_RUN)
        for key in keys:
            try:
                self._look_after(key)
            except Exception as fault:  # noqa: BLE001 - one task's fault is no other's
                self.report(fault)
        return len(keys)

    def _look_after(self, key: TaskKey) -> None:
        store, now = self.recorder.store, self.recorder.now()
        task = store.load(key)
        if task is None or not task.needs_looking_after:
            return  # the list of the neglected lags behind
        if task.has_ended:
            self._stop_late_execution(task)
            return
        if task.expires_at > now:
            self.upkeep.kept(as_of(task, now))
            return
        self.expirations.record(task)
        store.delete(task)  # or it would be first in line until DynamoDB removes it

    def _stop_late_execution(self, task: Task) -> None:
        """Stop what was started for a task that was cancelled at that moment; whoever started it is done by now."""
        self.upkeep.workflows.stop(task.execution, "The task was cancelled before its execution began.")
        with suppress(SaveConflict):
            self.recorder.store.save(replace(task, may_begin=False))
