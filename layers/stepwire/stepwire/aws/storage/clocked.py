"""What an instance reads by the clock, and not for a request: the list of blocked callers, and the catalog's head.

The rule: an instance reads both with one call, and with them the task that the request is about, so that no poll
makes a call more because there is a list.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from stepwire.aws.storage.blocks import LIST, hashes_in
from stepwire.aws.storage.items import item_key, task_of
from stepwire.aws.storage.published_catalog import HEAD
from stepwire.aws.storage.table import Item, Table
from stepwire.engine.blocks import BlockedCallers
from stepwire.tasks.ids import TaskKey

_JUST_NOW: Final = timedelta(seconds=1)


class ClockedReads:
    """Reads both, and hands the head to whoever asks for it just afterwards."""

    def __init__(self, table: Table, now: Callable[[], datetime], *, has_catalog: bool) -> None:
        """Read nothing yet."""
        self._table, self._now = table, now
        self._keys = [LIST, HEAD] if has_catalog else [LIST]
        self._head: Item | None = None
        self._read_at: datetime | None = None

    def blocked_callers(self, task: TaskKey | None) -> BlockedCallers:
        """Return the hashes of all blocked callers, and a task."""
        wanted = None if task is None else item_key(task)
        keys = self._keys if wanted is None else [*self._keys, wanted]
        found = {item["sk"]["S"]: item for item in self._table.get_all(keys)}
        self._head, self._read_at = found.get(HEAD["sk"]["S"]), self._now()
        item = None if wanted is None else found.get(wanted["sk"]["S"])
        return BlockedCallers(hashes_in(found.get(LIST["sk"]["S"])), None if item is None else task_of(item))

    def head(self) -> Item | None:
        """Return the catalog's head, by a call unless it was read just now."""
        is_new = self._read_at is not None and self._now() - self._read_at < _JUST_NOW
        return self._head if is_new else self._table.get(HEAD, is_consistent=False)
