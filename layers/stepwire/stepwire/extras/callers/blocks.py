"""Which callers are blocked: a short list that each process reads for itself, at most once in 30 seconds.

The rule: whoever is on the list gets nothing, and nobody else waits for it. A process that has no list yet, or one that
is older than 30 seconds, reads it before it calls AWS for a caller; between two reads, a check costs no call. The
task that a poll is about is read with the list, by the same call, so that no poll makes a call more for the list.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from msgspec import Struct

from stepwire.errors import CallerBlocked
from stepwire.principal import Caller
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.task import Task

MOST_BLOCKED: Final = 5_000
"""Hashes on the list, which each process reads as a whole: 160 kB."""
REREAD_AFTER: Final = timedelta(seconds=30)
_OLDEST: Final = timedelta(seconds=60)
"""Age of a list with which a process goes on, if it cannot be read anew."""


class AwsNeed(Struct, frozen=True):
    """What a request needs of AWS."""

    is_needed: bool
    """Whether it may call AWS at all."""
    task: TaskKey | None = None
    """The task that it is about, as far as is known before its message is checked; None: it reads something else."""


class BlockedCallers(Struct, frozen=True):
    """The list as it was read."""

    blocked: frozenset[str]
    """The hashes of all blocked callers."""
    task: Task | None = None
    """The task that was to be read with it, in parts as the store keeps it; None: it was not, or there is none."""


ReadBlocked: TypeAlias = Callable[[TaskKey | None], BlockedCallers]
"""Reads the list and, if it can, a task with it."""
_ANYTHING: Final = AwsNeed(is_needed=True)


class Blocks:
    """The list, as this process knows it."""

    def __init__(self, read: ReadBlocked, report: Callable[[Exception], None]) -> None:
        """Read nothing yet. A fault of a read is reported while the list is not too old to go on with."""
        self._read, self._report = read, report
        self._blocked = frozenset[str]()
        self._told = set[str]()
        self._read_at: datetime | None = None
        self._due_at: datetime | None = None

    def check(self, caller: Caller, at: datetime, need_of: Callable[[], AwsNeed] = lambda: _ANYTHING) -> Task | None:
        """Refuse a caller who is blocked, as a principal or as a person; return the task that was read on the way.

        If the list is due to be read, `need_of` says what the request needs of AWS; if nothing, the list is not read.

        Raises:
            CallerBlocked: the caller is on the list.
        """
        task = self._reread(at, need_of)
        if not self._blocked or self._blocked.isdisjoint((caller.principal, caller.person or caller.principal)):
            return task
        is_first = caller.principal not in self._told
        self._told.add(caller.principal)
        raise CallerBlocked(is_first=is_first)

    def has(self, at: datetime, *hashes: str) -> bool:
        """Tell whether one of these is on the list, which is read first if it is due."""
        self._reread(at)
        return not self._blocked.isdisjoint(hashes)

    def _reread(self, now: datetime, need_of: Callable[[], AwsNeed] = lambda: _ANYTHING) -> Task | None:
        if self._due_at is not None and now < self._due_at:
            return None
        need = need_of()
        if not need.is_needed:
            return None
        try:
            listed = self._read(need.task)
        except Exception as fault:
            if self._read_at is None or now - self._read_at >= _OLDEST:
                raise  # whoever is blocked must not get in because the table is down
            self._report(fault)
            return None
        self._told.clear()
        self._blocked, self._read_at, self._due_at = listed.blocked, now, now + REREAD_AFTER
        return listed.task


def without_task(read: Callable[[], frozenset[str]]) -> ReadBlocked:
    """Return what reads the list, and never a task with it."""
    return lambda _task: BlockedCallers(read())


def nobody_blocked() -> Blocks:
    """Return an empty list, for a server without one."""
    return Blocks(without_task(frozenset[str]), lambda _fault: None)
