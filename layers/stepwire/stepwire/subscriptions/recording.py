"""Record what the table's stream says about tasks, for the callers who have asked for events.

The changes of one caller arrive in order, in one place: the caller's tasks are in one partition of the table.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby

from msgspec import Struct

from stepwire.principal import Principal
from stepwire.subscriptions.changes import Change
from stepwire.subscriptions.ports import EventStore, Ring, SubscriptionStore


class OwnedChange(Struct, frozen=True):
    """A change of a caller's task."""

    owner: Principal
    change: Change


class Recording(Struct, frozen=True):
    """Records changes."""

    store: EventStore
    subscriptions: SubscriptionStore
    ring: Ring
    now: Callable[[], datetime]

    def record(self, changes: Sequence[OwnedChange]) -> None:
        """Record each change whose caller has asked for events; one read for each caller.

        Raises:
            Exception: some may not be recorded. All must be given again; those that were recorded are then told twice.
        """
        at = self.now()
        in_order = sorted(changes, key=lambda one: one.owner)  # stable: the order of a caller's changes is kept
        for owner, group in groupby(in_order, key=lambda one: one.owner):
            head = self.store.head(owner, at)
            if head is not None:
                its = [one.change for one in group]
                self.store.append(owner, head, its)
                self._ring(owner, its, at)

    def _ring(self, owner: Principal, changes: Sequence[Change], at: datetime) -> None:
        """Send a message to each subscription that is concerned and has none."""
        untold = dict[str, str]()
        for one, listener in self.subscriptions.live(owner, at).items():
            its = [change.id for change in changes if change.matches(listener.wanted)]
            if listener.asked_for in its:  # given again: whoever was to send the message may have failed
                untold[one] = str(listener.asked_for)
            elif its and not listener.is_told:
                untold[one] = its[-1]
        silent = self.subscriptions.ask(owner, untold, at) if untold else []
        if silent:
            self.ring(owner, silent)
