"""Waiting for a task, and who may: a request that waits holds a function instance, of which the account has few.

The functions that bring a task its end take their instances from the same few. So all the requests that wait at one
moment are counted, in the store, because an instance serves one request and knows of no other; and a request for which
there is no place is answered at once with what is known. A place is a lease: it lapses when its function dies.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from stepwire.errors import UnknownTask
from stepwire.ports import Lease, Places, Randomness
from stepwire.principal import Principal
from stepwire.recorder import Recorder
from stepwire.tasks.task import Task
from stepwire.upkeep import Upkeep

TIME_TO_ANSWER: Final = timedelta(seconds=9)
"""What must be left of a request when its wait ends: one call of AWS, which may be under way, takes up to that."""
EVERYBODY: Final = "everybody"
"""The room that all callers share; no principal is written so."""
_RANDOM_BYTES: Final = 2
_FIRST_PAUSE: Final = 0.1  # seconds
_LONGEST_PAUSE: Final = 1.0


@dataclass(frozen=True)
class WaitLimits:
    """How many requests may wait at one moment."""

    all: int = 5
    """Of all callers: half of the 10 instances that a new account has."""
    per_caller: int = 3


@dataclass(frozen=True)
class Waiter:
    """A request that has its places."""

    owner: Principal
    lease: Lease


@dataclass(frozen=True)
class WaitingRoom:
    """Counts the requests that wait."""

    places: Places
    limits: WaitLimits
    randomness: Randomness
    report: Callable[[Exception], None]
    """Told of what went wrong where the caller is served all the same."""

    def enter(self, owner: Principal, until: datetime, at: datetime) -> Waiter | None:
        """Take a place among the caller's and among all; None where there is none, or where nobody knows."""
        if min(self.limits.all, self.limits.per_caller) < 1:
            return None
        lease = Lease(until + TIME_TO_ANSWER, int.from_bytes(self.randomness(_RANDOM_BYTES)))
        try:
            if not self.places.take(owner, lease, self.limits.per_caller, at):
                return None
            if self.places.take(EVERYBODY, lease, self.limits.all, at):
                return Waiter(owner, lease)
            self.places.give_back(owner, lease)
        except Exception as fault:  # noqa: BLE001 - whatever it is, the caller is answered without a wait
            self.report(fault)
        return None

    def leave(self, waiter: Waiter) -> None:
        """Give the places back; what is not given back lapses."""
        try:
            self.places.give_back(EVERYBODY, waiter.lease)
            self.places.give_back(waiter.owner, waiter.lease)
        except Exception as fault:  # noqa: BLE001 - the caller has an answer to get
            self.report(fault)


@dataclass(frozen=True)
class Waiting:
    """Follows tasks for requests that wait."""

    recorder: Recorder
    upkeep: Upkeep
    room: WaitingRoom
    report: Callable[[Exception], None]
    """Told of what went wrong where the caller is served all the same."""

    def follow(
        self, task: Task, patience: timedelta, until: Callable[[Task], bool], deadline: datetime | None
    ) -> Iterator[Task]:
        """Give a task as it was read, and again whenever it has changed, until it is so or the wait ends.

        The wait ends when patience does, and before the deadline while there is time to answer. There is none where
        too many requests wait already. An error of the store ends no wait: the caller keeps the handle of the task.

        Raises:
            UnknownTask: the task has expired meanwhile.
        """
        yield task
        now = self.recorder.now()
        ends_at = _end_of_wait(patience, deadline, now)
        waiter = None if until(task) or ends_at <= now else self.room.enter(task.owner, ends_at, now)
        if waiter is None:
            return
        try:
            yield from self._changes(task, ends_at, until)
        finally:
            self.room.leave(waiter)

    def _changes(self, task: Task, ends_at: datetime, until: Callable[[Task], bool]) -> Iterator[Task]:
        pause = _FIRST_PAUSE
        while not until(task) and (left := ends_at - self.recorder.now()) > timedelta():
            self.recorder.clock.sleep(min(pause, left.total_seconds()))
            pause = min(pause * 2, _LONGEST_PAUSE)
            latest = self._latest(task)
            if latest != task:
                yield latest
            task = latest

    def _latest(self, task: Task) -> Task:
        try:
            return self.upkeep.kept(self.recorder.known(task.owner, task.task_id))  # our own look is no poll
        except UnknownTask:
            raise
        except Exception as fault:  # noqa: BLE001 - the next look may succeed, and the handle is the caller's anyway
            self.report(fault)
            return task


def _end_of_wait(patience: timedelta, deadline: datetime | None, at: datetime) -> datetime:
    longest = at + patience
    return longest if deadline is None else min(longest, deadline - TIME_TO_ANSWER)
