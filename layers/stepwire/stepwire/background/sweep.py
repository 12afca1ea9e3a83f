"""The sweep: a scheduled check of the tasks that no client reads, so that none waits for a reader to be repaired.

Readers check the tasks that they read (`Upkeep`). The sweep handles the others: tasks whose client never returned, and
expired tasks that DynamoDB has not deleted yet. Step Functions' quotas are low and shared by the account: the sweep
uses a part of them, leaves the rest to readers, and skips executions that a list shows as running. A page of such tasks
costs one read: what is read or called for each task by itself bounds how many tasks the sweep can keep up with.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.background.expirations import Expirations
from stepwire.engine.assembly import Engine, Ports
from stepwire.engine.limiter import Allowance
from stepwire.errors import WorkflowsUnavailable
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.task import Execution, Task
from stepwire.tracing import follow

INTERVAL: Final = timedelta(minutes=15)
"""Between two runs, as in the template: its rule says why."""
CHECKS_PER_SECOND: Final = 5.0
"""A third to a half of the sustained rate of DescribeExecution (15 per second, or 10 in smaller Regions)."""
CHECK_BURST: Final = 50.0
"""A fifth to a sixth of its burst quota."""
LISTS_PER_SECOND: Final = 1.0
"""A fifth of the sustained rate of ListExecutions (5 per second), or half in smaller Regions."""
LIST_BURST: Final = 20.0
"""A tenth to a fifth of its burst quota."""
MOST_SINGLE_CHECKS: Final = 2
"""Executions of a state machine that are described one by one; beyond, a list call per 1,000 is cheaper."""


class Swept(Struct, frozen=True):
    """The outcome of one run."""

    checked: int
    """Tasks checked one by one, whether or not they needed a repair."""
    running: int
    """Tasks skipped because their executions are listed as running."""
    is_done: bool
    """Whether the list was read to its end; if not, the next run continues."""
    longest_wait: timedelta = timedelta()
    """How long the first of those who wait for a turn has waited, in the line where that is longest."""


class Sweep(Struct, frozen=True):
    """Checks tasks that are not being read."""

    engine: Engine
    """With the settings of a sweep (`Settings.of_sweep`)."""
    pace: Allowance = field(default_factory=lambda: Allowance(CHECKS_PER_SECOND, CHECK_BURST))
    list_pace: Allowance = field(default_factory=lambda: Allowance(LISTS_PER_SECOND, LIST_BURST))

    @property
    def interval(self) -> timedelta:
        """How long ago the last check of a task must be before the sweep checks it."""
        return self.engine.settings.intervals.repair

    def run(self, deadline: datetime | None = None) -> Swept:
        """Check due tasks from where the last run stopped until the deadline, and return what was done.

        A run takes at most one interval, because then the next one starts.
        """
        began = self.engine.recorder.clock.now()
        latest = began + self.interval
        run = _Run(self, began - self.interval, latest if deadline is None else min(deadline, latest))
        longest_wait = self.engine.runs.sweep_lines()
        return replace(run.run_from(self.engine.recorder.store.bookmark()), longest_wait=longest_wait)


class _Run(Struct, dict=True):
    """The state of one run of the sweep."""

    sweep: Sweep
    since: datetime
    deadline: datetime
    checked: int = 0
    skipped: int = 0

    def __post_init__(self) -> None:
        self.engine = self.sweep.engine
        self._running = _RunningExecutions(self.engine.ports, lambda: self._await_turn(self.sweep.list_pace))

    def run_from(self, bookmark: str | None) -> Swept:
        """Check the tasks on the list from the bookmark on; save a new bookmark if the time runs out."""
        store, after = self.engine.recorder.store, bookmark
        while True:
            page = store.unchecked_since(self.since, after)
            loaded = self._load_safely(page.keys)
            for key in page.keys:
                if self.engine.recorder.clock.now() >= self.deadline:
                    store.save_bookmark(after)
                    return Swept(self.checked, self.skipped, is_done=False)
                self._check_safely(key, loaded.get(key))
            after = page.next_after
            if after is None:
                if bookmark is not None:
                    store.save_bookmark(None)
                return Swept(self.checked, self.skipped, is_done=True)

    def _load_safely(self, keys: Sequence[TaskKey]) -> Mapping[TaskKey, Task]:
        """Return the tasks of a page; if they cannot be read together, none, so that each is read by itself."""
        if not keys:
            return {}
        try:
            return self.engine.recorder.store.load_all(keys)
        except Exception as fault:  # noqa: BLE001 - a page that cannot be read must not stop the others
            self.engine.ports.report(fault)
            return {}

    def _check_safely(self, key: TaskKey, loaded: Task | None) -> None:
        """Check a task, and report its fault if there is one: the run continues in either case."""
        follow(loaded.origin.trace if loaded else None)
        try:
            if loaded is None or not self._is_passed(loaded):
                self._check(key)
        except Exception as fault:  # noqa: BLE001 - the fault of one task must not stop the others
            self.engine.ports.report(fault)

    def _is_passed(self, task: Task) -> bool:
        """Pass over a task that merely runs or was checked lately; False if it must be checked by itself."""
        now = self.engine.recorder.clock.now()
        if task.has_ended or task.expires_at <= now:
            return False
        if now - task.checked_at < self.sweep.interval:
            return True  # the index knows the time of the last check in steps
        if task.waiting_runs(now) or not all(map(self._running.contains, map(task.execution_of, task.due_runs(now)))):
            return False
        self.skipped += 1
        self.engine.upkeep.after_questions(task)
        return True

    def _check(self, key: TaskKey) -> None:
        """Check a task that does not run as far as is known; it is read again, as that may have changed."""
        store, now = self.engine.recorder.store, self.engine.recorder.clock.now()
        task = store.load(key)
        if task is None or not task.needs_checks:
            return  # the index is eventually consistent
        if task.has_ended:
            self._await_check()
            self.engine.runs.stop_pending(task, is_late=True)  # whoever may have started a run is done by now
        elif task.expires_at <= now:
            self._await_check()
            Expirations(self.engine).record(task)
            store.delete(task)  # otherwise it would be first on every list until DynamoDB deletes it
        elif now - task.checked_at < self.sweep.interval:
            return  # the index knows the time of the last check in steps
        else:
            if task.due_runs(now):
                self._await_check()
            else:
                self.checked += 1  # it waits in line: Step Functions is not asked
            self.engine.upkeep.after_upkeep(as_of(task, now))

    def _await_check(self) -> None:
        self.checked += 1
        self._await_turn(self.sweep.pace)

    def _await_turn(self, pace: Allowance) -> None:
        while not pace.take(self.engine.recorder.clock.now()):
            self.engine.recorder.clock.sleep(1 / pace.per_second)


class _RunningExecutions(Struct):
    """The running executions, listed once per state machine, from its third execution on."""

    ports: Ports
    await_turn: Callable[[], None]
    _asked: Counter[str] = field(default_factory=Counter[str])
    _listed: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def contains(self, execution: Execution) -> bool:
        """Tell whether an execution is listed as running."""
        if execution.role:  # elsewhere: described one by one
            return False
        machine = execution.state_machine_arn
        self._asked[machine] += 1
        if self._asked[machine] <= MOST_SINGLE_CHECKS:
            return False
        if machine not in self._listed:
            self._listed[machine] = self._list(machine)
        return execution.name in self._listed[machine]

    def _list(self, machine: str) -> frozenset[str]:
        """Return the names that could be listed; the others are described one by one."""
        names = set[str]()
        try:
            self.await_turn()
            for page in self.ports.workflows.list_running(machine):
                names |= page
                self.await_turn()
        except WorkflowsUnavailable as error:
            self.ports.report(error)
        return frozenset(names)
