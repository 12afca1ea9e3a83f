"""Look after the tasks that nobody reads, so that none waits for a reader to be repaired.

Readers do it for the tasks that they read (`Upkeep`). What is left over: a client that never came back, or a task that
expired while it ran and that DynamoDB has not removed yet. Step Functions allows few looks a second, to the account:
the sweep takes a part of them and leaves the rest to readers, and it looks at no execution that a list says runs.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from stepwire.allowance import Allowance
from stepwire.errors import SaveConflict, WorkflowsUnavailable
from stepwire.expirations import Expirations
from stepwire.ports import Workflows
from stepwire.recorder import Recorder
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.task import Execution, Task
from stepwire.upkeep import Upkeep

LOOKS_PER_SECOND: Final = 5.0
"""A third to a half of what DescribeExecution gives an account for long (15, or 10 in smaller Regions)."""
LOOKS_AT_ONCE: Final = 50.0
"""A fifth to a sixth of what it gives at once."""
FEW: Final = 2
"""Executions of a state machine that are looked at one by one; for more, a list costs less: one call a thousand."""


@dataclass(frozen=True)
class Swept:
    """What one run has done."""

    looked_after: int
    """Tasks that were repaired, or found to have nothing to repair, one by one."""
    running: int
    """Tasks that were passed over, because their executions were listed as running."""
    is_done: bool
    """Whether the list was read to its end; if not, the next run goes on."""


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
    pace: Allowance = field(default_factory=lambda: Allowance(LOOKS_PER_SECOND, LOOKS_AT_ONCE))

    def run(self, deadline: datetime | None = None) -> Swept:
        """Look after the tasks that nobody has, from where the last run has left off, until the deadline.

        A run takes no longer than the interval: then the next one begins.
        """
        began = self.recorder.now()
        latest = began + self.interval
        run = _Run(self, began - self.interval, latest if deadline is None else min(deadline, latest))
        return run.through(self.recorder.store.bookmark())


@dataclass
class _Run:
    """One run of the sweep, from its beginning to its end."""

    sweep: Sweep
    since: datetime
    deadline: datetime
    looked_after: int = 0
    passed_over: int = 0

    def __post_init__(self) -> None:
        self._known = _Running(self.sweep.upkeep.workflows, self.sweep.report)

    def through(self, bookmark: str | None) -> Swept:
        """Go through the list of the neglected, and leave a bookmark where time is up."""
        store, after = self.sweep.recorder.store, bookmark
        while True:
            page = store.neglected(self.since, after)
            is_whole = all(self._has_time() and self._look_after(key) for key in page.keys)
            if not is_whole:
                store.keep_bookmark(after)
                break
            after = page.next_after
            if after is None:
                if bookmark is not None:
                    store.keep_bookmark(None)
                break
        return Swept(self.looked_after, self.passed_over, is_whole)

    def _has_time(self) -> bool:
        return self.sweep.recorder.now() < self.deadline

    def _look_after(self, key: TaskKey) -> bool:
        """Look after a task, and say that it was its turn."""
        try:
            self._see_to(key)
        except Exception as fault:  # noqa: BLE001 - one task's fault is no other's
            self.sweep.report(fault)
        return True

    def _see_to(self, key: TaskKey) -> None:
        store, now = self.sweep.recorder.store, self.sweep.recorder.now()
        task = store.load(key)
        if task is None or not task.needs_looking_after:
            return  # the list of the neglected lags behind
        if task.has_ended:
            self._await_turn()
            self._stop_late_execution(task)
        elif task.expires_at <= now:
            self._await_turn()
            self.sweep.expirations.record(task)
            store.delete(task)  # or it would be first in line until DynamoDB removes it
        elif self._known.holds(task.execution):
            self._deliver(task)
        else:
            self._await_turn()
            self.sweep.upkeep.kept(as_of(task, now))

    def _stop_late_execution(self, task: Task) -> None:
        """Stop what was started for a task that was cancelled at that moment; whoever started it is done by now."""
        self.sweep.upkeep.workflows.stop(task.execution, "The task was cancelled before its execution began.")
        with suppress(SaveConflict):
            self.sweep.recorder.store.save(replace(task, may_begin=False))

    def _deliver(self, task: Task) -> None:
        """Let a task be that runs, but for answers that its workflow may not have."""
        self.passed_over += 1
        self.sweep.upkeep.delivered(task)

    def _await_turn(self) -> None:
        self.looked_after += 1
        while not self.sweep.pace.take(self.sweep.recorder.now()):
            self.sweep.recorder.clock.sleep(1 / self.sweep.pace.per_second)


@dataclass
class _Running:
    """The executions that run, listed for each state machine once, when it is worth it."""

    workflows: Workflows
    report: Callable[[Exception], None]
    _asked: Counter[str] = field(default_factory=Counter[str])
    _listed: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def holds(self, execution: Execution) -> bool:
        """Tell whether an execution is known to run."""
        machine = execution.state_machine_arn
        self._asked[machine] += 1
        if self._asked[machine] <= FEW:
            return False
        if machine not in self._listed:
            self._listed[machine] = self._list_of(machine)
        return execution.name in self._listed[machine]

    def _list_of(self, machine: str) -> frozenset[str]:
        try:
            return self.workflows.list_running(machine)
        except WorkflowsUnavailable as error:
            self.report(error)
            return frozenset()
