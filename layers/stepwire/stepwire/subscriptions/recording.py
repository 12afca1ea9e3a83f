"""Record what the table's stream says about tasks, for the callers who have asked for events.

The changes of one caller arrive in order, in one place: the caller's tasks are in one partition of the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from stepwire.engine.ports import Clock
from stepwire.principal import Principal
from stepwire.subscriptions.changes import Change
from stepwire.subscriptions.ports import EventStore


@dataclass(frozen=True)
class OwnedChange:
    """A change of a caller's task."""

    owner: Principal
    change: Change


@dataclass(frozen=True)
class Recording:
    """Records changes."""

    store: EventStore
    clock: Clock

    def record(self, changes: Sequence[OwnedChange]) -> None:
        """Record each change whose caller has asked for events; one read for each caller.

        Raises:
            Exception: some may not be recorded. All must be given again; those that were recorded are then told twice.
        """
        at = self.clock.now()
        in_order = sorted(changes, key=lambda one: one.owner)  # stable: the order of a caller's changes is kept
        for owner, group in groupby(in_order, key=lambda one: one.owner):
            head = self.store.head(owner, at)
            if head is not None:
                self.store.append(owner, head, [one.change for one in group])
