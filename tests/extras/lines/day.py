"""A day of a tool with a limit, in simulated time: thousands of calls, and events that are late, lost or doubled.

Nothing is random but for a seed. What happens next is on a heap; the clock jumps to it. After everything that happens,
no more executions may run than the limit allows. Callers poll their tasks, but one in ten never comes back: where the
end of such a task is lost, only the sweep finds it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.background.sweep import INTERVAL, Sweep
from stepwire.engine.calls import ToolCall
from stepwire.errors import TaskAlreadyEnded, UnknownTask
from stepwire.extras.lines.limits import Concurrency, Rules
from stepwire.extras.lines.rules import MEND_PAUSE, Line
from stepwire.principal import Caller, Principal, principal_of
from stepwire.tasks.ids import TaskId, TaskKey, task_key_from_execution
from stepwire.tasks.limiter import Limits
from stepwire.tasks.outcomes import Running
from stepwire.tasks.task import Execution
from tests.kits import ARGUMENTS, OPTIONAL, OUTPUT, World, keeping

DAY: Final = timedelta(days=1)
MOST: Final = 20
_LIMIT: Final = Concurrency("day", Rules(most=MOST, waiting=100_000))
_TOOL: Final = keeping(replace(OPTIONAL, ttl=timedelta(days=2)), lines=_LIMIT)
_LOST, _DOUBLED, _CANCELLED, _DIED = 0.01, 0.02, 0.005, 0.002
_POLL: Final = timedelta(minutes=1)  # the least time between two polls
_FULL: Final = 0.8
"""The part of what the limit bears that the calls of the day need."""


def caller(number: int) -> Principal:
    """Return one of the callers; 0 is the one who floods the line."""
    return principal_of(("caller", str(number)), "a day")


def seconds(waits: Iterable[timedelta]) -> list[float]:
    """Return waits in seconds."""
    return [one.total_seconds() for one in waits]


@dataclass
class Waits:
    """How long calls waited for their turns."""

    others: list[timedelta] = field(default_factory=list[timedelta])
    in_flood: list[timedelta] = field(default_factory=list[timedelta])
    """Those of the others while one caller floods the line."""
    flooding: list[timedelta] = field(default_factory=list[timedelta])
    """Those of the flood itself."""


class _Died(BaseException):
    """The function's process has died: our code does not catch this."""


class Day:
    """A day of so many calls; one caller makes a twentieth of them within a minute, at noon."""

    def __init__(self, calls: int, seed: int) -> None:
        self.random, self.calls = Random(seed), calls
        self.world = World(limits=Limits(active=max(1_000, calls // 10), per_minute=1_000_000))
        self.lasts = DAY / calls * MOST * _FULL
        self.waits, self.most_running, self.called, self.ended, self.cancelled = Waits(), 0, 0, 0, 0
        self.lost, self.doubled, self.died = 0, 0, 0
        self._heap: list[tuple[datetime, int, Any]] = []
        self._order = count()
        self._running: set[Execution] = set()
        self._called_at: dict[TaskId, datetime] = {}
        self._began = self.world.clock.now()
        self._sweep = Sweep(self.world.sweeping(INTERVAL))

    @property
    def line(self) -> Line:
        """The line as it is now."""
        return next(iter(self.world.lines.states.values()))

    def run(self) -> None:
        """Let the day pass, and the hours until everything is done."""
        flood = self.calls // 20
        for number in range(self.calls - flood):
            self._at(DAY * self.random.random(), self._call, 1 + number % 50)
        for _ in range(flood):
            self._at(DAY / 2 + timedelta(minutes=self.random.random()), self._call, 0)
        for number in range(int(DAY / INTERVAL) * 2):
            self._at(INTERVAL * (number + 1), self._sweep_and_forget)
        while self._heap and (self._heap[0][0] < self._began + DAY or self.line.held):
            self.world.clock.time, _, (act, given) = heappop(self._heap)
            self._until_death(partial(act, *given))
            self._note_starts()
            self._take_wake_ups()

    def turns_left(self) -> int:
        """Return how many of as many calls as may run have begun a minute later, after all of the day is done.

        A turn that a process that died has kept comes back to the first who has to wait for it, at the next look.
        """
        before = set(self.world.store.tasks)
        for number in range(MOST):
            self._call(1 + number)
        self.world.clock.time += MEND_PAUSE
        for key in set(self.world.store.tasks) - before:
            self.world.operations.get(key.owner, key.task_id)
        return len(self.world.workflows.running())

    def _until_death(self, act: Any) -> None:
        try:
            act()
        except _Died:
            self.died += 1
        finally:
            self.world.lines.before_change = lambda: None

    def _at(self, later: timedelta, act: Any, *given: Any) -> None:
        heappush(self._heap, (self._began + later, next(self._order), (act, given)))

    def _after(self, delay: timedelta, act: Any, *given: Any) -> None:
        self._at(self.world.clock.time - self._began + delay, act, *given)

    def _call(self, number: int) -> None:
        owner = caller(number)
        line = _LIMIT.line(_LIMIT, ARGUMENTS, Caller(owner))
        task = self.world.calls.call(ToolCall(owner, _TOOL, ARGUMENTS, line=line))
        self._called_at[task.task_id] = self.world.clock.time
        self.called += 1
        if number % 10 != 9:
            self._after(max(_POLL, self.lasts), self._poll, task.key)
        if self.random.random() < _CANCELLED:
            self._after(self.lasts, self._cancel, task.key)

    def _cancel(self, key: TaskKey) -> None:
        try:
            self.world.operations.cancel(key.owner, key.task_id)
        except (TaskAlreadyEnded, UnknownTask):
            return
        self.cancelled += self._called_at.pop(key.task_id, None) is not None
        for change in self._taken():
            self._after(timedelta(seconds=1), self._deliver, change)

    def _poll(self, key: TaskKey) -> None:
        try:
            task = self.world.operations.get(key.owner, key.task_id)
        except UnknownTask:  # it has ended, and is forgotten
            return
        if not task.has_ended:
            age = self.world.clock.now() - task.created_at
            self._after(max(_POLL, self.lasts, age / 10), self._poll, key)

    def _note_starts(self) -> None:
        """Let each execution that has begun end after some time."""
        starts, self.world.workflows.starts = self.world.workflows.starts, []
        if not starts:
            return
        self._running = {one for one in self._running if self._runs(one)}
        for start in starts:
            if not self._runs(start.execution) or start.execution in self._running:
                continue
            self._running.add(start.execution)
            self._note_wait(start.execution)
            self._after(self.lasts * self.random.expovariate(1), self._end, start.execution)
        self.most_running = max(self.most_running, len(self._running))
        assert len(self._running) <= MOST, "more executions run than the limit allows"

    def _runs(self, execution: Execution) -> bool:
        return isinstance(self.world.workflows.states.get(execution), Running)

    def _note_wait(self, execution: Execution) -> None:
        key = task_key_from_execution(execution.name)
        called = self._called_at.pop(key.task_id, None) if key else None
        if key is None or called is None:
            return
        is_in_flood = timedelta() <= called - self._began - DAY / 2 < timedelta(minutes=30)
        waits = self.waits.flooding if key.owner == caller(0) else self.waits.others
        waits = self.waits.in_flood if is_in_flood and waits is self.waits.others else waits
        waits.append(self.world.clock.time - called)

    def _end(self, execution: Execution) -> None:
        if not self._runs(execution):  # cancelled meanwhile
            return
        self.world.workflows.succeed(execution, OUTPUT)
        self.ended += 1
        change = self._taken()[-1]
        chance = self.random.random()
        if chance < _LOST:
            self.lost += 1
            return
        for _ in range(1 + (chance > 1 - _DOUBLED)):
            self._after(timedelta(seconds=self.random.random() * 2), self._deliver, change)
        self.doubled += chance > 1 - _DOUBLED

    def _taken(self) -> list[ExecutionStatusChange]:
        changes, self.world.workflows.undelivered = self.world.workflows.undelivered, []
        return changes

    def _deliver(self, change: ExecutionStatusChange) -> None:
        if self.random.random() < _DIED:

            def die() -> None:
                raise _Died

            self.world.lines.before_change = die
        self.world.events.record(change)

    def _take_wake_ups(self) -> None:
        wake_ups = self.world.wake_ups
        scheduled, runs = wake_ups.scheduled, wake_ups.runs
        wake_ups.scheduled, wake_ups.runs = [], []
        for (key, delay), run in zip(scheduled, runs, strict=True):
            self._after(delay, self.world.engine.runs.wake, key, run)

    def _sweep_and_forget(self) -> None:
        """Run the sweep, and let DynamoDB delete what has ended long ago."""
        now, store, states = self.world.clock.time, self.world.store, self.world.workflows.states
        self._sweep.run()
        self.world.clock.time = now
        for task in [one for one in store.tasks.values() if one.has_ended and now - one.last_updated_at > INTERVAL]:
            del store.tasks[task.key]
            states.pop(task.execution, None)
        for log in (store.calls, self.world.lines.calls, self.world.audit, self.world.workflows.described):
            log.clear()
