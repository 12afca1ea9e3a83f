"""Wait for a task to change, within limits: a waiting request occupies a function instance.

The functions that record the ends of executions share the account's concurrency limit with waiting requests. So waiting
requests are counted, in the store, because an instance serves one request and does not know the others. A request that
gets no slot is answered at once with the recorded state. A slot is a lease: it expires if its function dies.

Requests that cannot be answered without their wait, calls of EXPRESS tools and proofs of endpoints, have slots of their
own: waits for tasks, which are free of other limits, take none of them.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.engine.ports import Lease, Randomness, WaitSlots
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Upkeep
from stepwire.errors import UnknownTask
from stepwire.principal import Principal
from stepwire.tasks.task import Task

TIME_TO_ANSWER: Final = timedelta(seconds=9)
"""Time that must remain of a request when its wait ends: the longest duration of one AWS call."""
ALL_CALLERS: Final = "everybody"
"""The pool that all callers share; no principal has this form."""
EXPRESS: Final = "express "
PROOFS: Final = "proofs "
"""The other kinds of pools."""
_RANDOM_BYTES: Final = 2
_FIRST_PAUSE: Final = 0.1  # seconds
_LONGEST_PAUSE: Final = 1.0


class WaitLimits(Struct, frozen=True):
    """Most requests that may wait at the same time."""

    all: int = 5
    """Of all callers together; 5 is half the concurrency limit of a new account."""
    per_caller: int = 3

    def of_express(self) -> "WaitLimits":
        """Return the limits of calls of EXPRESS tools: half, rounded up."""
        return WaitLimits(-(-self.all // 2), -(-self.per_caller // 2))

    def of_proofs(self) -> "WaitLimits":
        """Return the limits of requests that wait for the proof of an endpoint: half, rounded down, but one."""
        return WaitLimits(max(1, self.all // 2), max(1, self.per_caller // 2))


class HeldSlots(Struct, frozen=True):
    """The slots of a waiting request: one of its caller's pool and one of the shared pool."""

    owner: Principal
    lease: Lease


class WaitLimiter(Struct, frozen=True):
    """Limits the number of waiting requests."""

    wait_slots: WaitSlots
    limits: WaitLimits
    randomness: Randomness
    report: Callable[[Exception], None]
    """Receives faults in spite of which the caller gets an answer."""
    kind: str = ""
    """The name of pools of their own; empty: those of waits for tasks."""

    def acquire(self, owner: Principal, until: datetime, at: datetime) -> HeldSlots | None:
        """Take a slot of the caller's pool and one of the shared pool; None if either is full, or the store fails."""
        if min(self.limits.all, self.limits.per_caller) < 1:
            return None
        lease = Lease(until + TIME_TO_ANSWER, int.from_bytes(self.randomness(_RANDOM_BYTES)))
        try:
            if not self.wait_slots.acquire(self.kind + owner, lease, self.limits.per_caller, at):
                return None
            if self.wait_slots.acquire(self.kind + ALL_CALLERS, lease, self.limits.all, at):
                return HeldSlots(owner, lease)
            self.wait_slots.release(self.kind + owner, lease)
        except Exception as fault:  # noqa: BLE001 - after any fault, the caller is answered without a wait
            self.report(fault)
        return None

    def release(self, held: HeldSlots) -> None:
        """Release the slots; a slot that is not released expires."""
        try:
            self.wait_slots.release(self.kind + ALL_CALLERS, held.lease)
            self.wait_slots.release(self.kind + held.owner, held.lease)
        except Exception as fault:  # noqa: BLE001 - the caller must get an answer
            self.report(fault)


class Waiting(Struct, frozen=True):
    """Watches tasks for requests that wait."""

    recorder: Recorder
    upkeep: Upkeep
    limiter: WaitLimiter
    report: Callable[[Exception], None]
    """Receives faults in spite of which the caller gets an answer."""

    def watch(
        self, task: Task, patience: timedelta, until: Callable[[Task], bool], deadline: datetime | None
    ) -> Iterator[Task]:
        """Yield the task now and after each change, until `until(task)` holds or the wait ends.

        The wait ends after `patience`, and `TIME_TO_ANSWER` before the deadline. There is no wait if too many requests
        wait already. An error of the store does not end the wait: the caller keeps the task's handle.

        Raises:
            UnknownTask: the task expired during the wait.
        """
        yield task
        now = self.recorder.clock.now()
        ends_at = _end_of_wait(patience, deadline, now)
        held = None if until(task) or ends_at <= now else self.limiter.acquire(task.owner, ends_at, now)
        if held is None:
            return
        try:
            yield from self._changes(task, ends_at, until)
        finally:
            self.limiter.release(held)

    def _changes(self, task: Task, ends_at: datetime, until: Callable[[Task], bool]) -> Iterator[Task]:
        pause = _FIRST_PAUSE
        while not until(task) and (left := ends_at - self.recorder.clock.now()) > timedelta():
            self.recorder.clock.sleep(min(pause, left.total_seconds()))
            pause = min(pause * 2, _LONGEST_PAUSE)
            latest = self._latest(task)
            if latest != task:
                yield latest
            task = latest

    def _latest(self, task: Task) -> Task:
        try:
            return self.upkeep.after_upkeep(
                self.recorder.require(task.owner, task.task_id)
            )  # not audited: this is not a poll
        except UnknownTask:
            raise
        except Exception as fault:  # noqa: BLE001 - the next attempt may succeed
            self.report(fault)
            return task


def _end_of_wait(patience: timedelta, deadline: datetime | None, at: datetime) -> datetime:
    longest = at + patience
    return longest if deadline is None else min(longest, deadline - TIME_TO_ANSWER)
