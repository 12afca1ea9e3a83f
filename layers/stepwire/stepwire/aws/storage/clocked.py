"""What an instance reads by the clock, and not for a request: the list of blocked callers, and the catalog's head.

The rule: an instance that begins reads both with one call, so that a cold request makes no call more than before there
was a list.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from stepwire.aws.storage.blocks import LIST, hashes_in
from stepwire.aws.storage.published_catalog import HEAD
from stepwire.aws.storage.table import Item, Table

_JUST_NOW: Final = timedelta(seconds=1)


class ClockedReads:
    """Reads both, and hands the head to whoever asks for it just afterwards."""

    def __init__(self, table: Table, now: Callable[[], datetime]) -> None:
        """Read nothing yet."""
        self._table, self._now = table, now
        self._head: Item | None = None
        self._read_at: datetime | None = None

    def blocked(self) -> frozenset[str]:
        """Return the hashes of all blocked callers."""
        found = {item["sk"]["S"]: item for item in self._table.get_all([LIST, HEAD])}
        self._head, self._read_at = found.get(HEAD["sk"]["S"]), self._now()
        listed = found.get(LIST["sk"]["S"])
        return frozenset() if listed is None else hashes_in(listed)

    def head(self) -> Item | None:
        """Return the catalog's head, by a call unless it was read just now."""
        is_new = self._read_at is not None and self._now() - self._read_at < _JUST_NOW
        return self._head if is_new else self._table.get(HEAD, is_consistent=False)
