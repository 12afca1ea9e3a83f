"""Which callers are blocked: a short list that each process reads for itself, at most once in 30 seconds.

The rule: whoever is on the list gets nothing, and nobody else waits for it. A process that has no list yet, or one that
is older than 30 seconds, reads it before it calls AWS for a caller; between two reads, a check costs no call.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

MOST_BLOCKED: Final = 5_000
"""Hashes on the list, which each process reads as a whole: 160 kB."""
REREAD_AFTER: Final = timedelta(seconds=30)
_OLDEST: Final = timedelta(seconds=60)
"""Age of a list with which a process goes on, if it cannot be read anew."""


class Blocks:
    """The list, as this process knows it: the hashes of all blocked callers."""

    def __init__(self, read: Callable[[], frozenset[str]], report: Callable[[Exception], None]) -> None:
        """Read nothing yet. A fault of a read is reported while the list is not too old to go on with."""
        self._read, self._report = read, report
        self._blocked = frozenset[str]()
        self._read_at: datetime | None = None
        self._due_at: datetime | None = None

    def __call__(self, at: datetime, *hashes: str, may_read: bool = True) -> bool:
        """Tell whether one of these is on the list, which is read first if it is due and may be read."""
        if may_read and (self._due_at is None or at >= self._due_at):
            self._reread(at)
        return not self._blocked.isdisjoint(hashes)

    def _reread(self, now: datetime) -> None:
        try:
            blocked = self._read()
        except Exception as fault:
            if self._read_at is None or now - self._read_at >= _OLDEST:
                raise  # whoever is blocked must not get in because the table is down
            self._report(fault)
            return
        self._blocked, self._read_at, self._due_at = blocked, now, now + REREAD_AFTER
