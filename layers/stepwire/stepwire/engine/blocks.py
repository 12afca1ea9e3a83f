"""Which callers are blocked: a short list that each process reads for itself, at most once in 30 seconds.

The rule: whoever is on the list gets nothing, and nobody else waits for it. A process that has no list yet, or one that
is older than 30 seconds, reads it before it calls AWS for a caller; between two reads, a check costs no call.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from stepwire.errors import CallerBlocked
from stepwire.principal import Caller

MOST_BLOCKED: Final = 5_000
"""Hashes on the list, which each process reads as a whole: 160 kB."""
REREAD_AFTER: Final = timedelta(seconds=30)
_OLDEST: Final = timedelta(seconds=60)
"""Age of a list with which a process goes on, if it cannot be read anew."""


class Blocks:
    """The list, as this process knows it."""

    def __init__(
        self,
        read: Callable[[], frozenset[str]],
        now: Callable[[], datetime],
        report: Callable[[Exception], None],
    ) -> None:
        """Read nothing yet.

        Args:
            read: returns the hashes of all blocked callers.
            now: returns the time.
            report: receives a fault of a read, while the list is not too old to go on with.
        """
        self._read, self._now, self._report = read, now, report
        self._blocked = frozenset[str]()
        self._told = set[str]()
        self._read_at: datetime | None = None
        self._due_at: datetime | None = None

    def check(self, caller: Caller, may_read: Callable[[], bool] = lambda: True) -> None:
        """Refuse a caller who is blocked, as a principal or as a person.

        Args:
            caller: who calls.
            may_read: tells, where it is time, whether to read the list; if not, what is known counts.

        Raises:
            CallerBlocked: the caller is on the list.
        """
        self._reread(may_read)
        if not self._blocked or self._blocked.isdisjoint((caller.principal, caller.person or caller.principal)):
            return
        is_first = caller.principal not in self._told
        self._told.add(caller.principal)
        raise CallerBlocked(is_first=is_first)

    def has(self, *hashes: str) -> bool:
        """Tell whether one of these is on the list, which is read where it is time."""
        self._reread()
        return not self._blocked.isdisjoint(hashes)

    def _reread(self, may_read: Callable[[], bool] = lambda: True) -> None:
        now = self._now()
        if (self._due_at is not None and now < self._due_at) or not may_read():
            return
        try:
            self._blocked = self._read()
        except Exception as fault:
            if self._read_at is None or now - self._read_at >= _OLDEST:
                raise  # whoever is blocked must not get in because the table is down
            self._report(fault)
            return
        self._told.clear()
        self._read_at, self._due_at = now, now + REREAD_AFTER


def nobody_blocked() -> Blocks:
    """Return an empty list, for a server without one: its time does not pass, so it is read once."""
    return Blocks(frozenset[str], lambda: datetime.min.replace(tzinfo=UTC), lambda _fault: None)
