"""The record of a caller's events: written from the table's stream, and read by `events/poll`.

It is kept only for callers who have asked for events. Those of one caller arrive in order, in one place: the
caller's tasks are in one partition of the table. One poll, of a client without an address, reads a bounded part.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from msgspec import Struct

from stepwire.changes import CallerEvent
from stepwire.codec import MILLISECOND
from stepwire.extras.events.events import RETENTION, Filter, Position, cursor_of, matches, start_of, written
from stepwire.extras.events.ports import EventStore, Ring, SubscriptionStore
from stepwire.json_text import JsonObject
from stepwire.principal import Principal

MOST_READ: Final = 200  # of a record in one poll
MOST_EVENTS: Final = 100
USUAL_EVENTS: Final = 50
NEXT_POLL: Final = timedelta(seconds=15)
"""The shortest pause between two polls."""
LONGEST_PAUSE: Final = timedelta(minutes=2)
"""The longest one. In between, a poll waits as long as there was no event: eight polls in the first ten minutes."""


class Recording(Struct, frozen=True):
    """Records events."""

    store: EventStore
    subscriptions: SubscriptionStore
    ring: Ring
    now: Callable[[], datetime]

    def record(self, events: Sequence[CallerEvent]) -> None:
        """Record each event whose caller has asked for events; one read for each caller.

        Raises:
            Exception: some may not be recorded. All must be given again; those that were recorded are not told twice.
        """
        at = self.now()
        in_order = sorted(events, key=lambda one: one.owner)  # stable: the order of a caller's events is kept
        for owner, group in groupby(in_order, key=lambda one: one.owner):
            head = self.store.head(owner, at)
            if head is not None:
                its = list(group)
                self.store.append(owner, head, its)
                self._ring(owner, its, at)

    def _ring(self, owner: Principal, events: Sequence[CallerEvent], at: datetime) -> None:
        """Send a message to each subscription that is concerned and has none."""
        untold = dict[str, str]()
        for one, listener in self.subscriptions.live(owner, at).items():
            its = [event.id for event in events if matches(event, listener.wanted)]
            if listener.asked_for in its:  # given again: whoever was to send the message may have failed
                untold[one] = str(listener.asked_for)
            elif its and not listener.is_told:
                untold[one] = its[-1]
        silent = self.subscriptions.ask(owner, untold, at) if untold else []
        if silent:
            self.ring(owner, silent)


class Poll(Struct, frozen=True):
    """What one poll asks for."""

    owner: Principal
    wanted: Filter
    position: Position | None
    """None: from now on."""
    longest: timedelta | None = None
    """The caller wants no events that are older."""
    most: int = USUAL_EVENTS


def poll(store: EventStore, asked: Poll, at: datetime) -> JsonObject:
    """Return the events since the caller's position, and where the next poll begins."""
    head = store.open_record(asked.owner, at, at + RETENTION)
    start = start_of(asked.position, head, at, asked.longest)
    most = min(asked.most, MOST_EVENTS)
    floor = None if asked.longest is None else at - asked.longest
    events, number, is_whole = list[JsonObject](), start.position.number, True
    last_at = start.position.at
    if number < head.number:
        recorded = store.read(asked.owner, number, MOST_READ)
        is_whole = len(recorded) < MOST_READ
        for one in recorded:
            if len(events) == most:
                is_whole = False
                break
            number, last_at = one.number, max(last_at, one.event.at)
            if matches(one.event, asked.wanted) and (floor is None or one.event.at >= floor):
                events.append(written(one.event, asked.wanted.name))
    # At the end of the record, the cursor is as new as this poll, however long nothing happens.
    quiet_since = at if events else start.position.quiet_since or at
    reached = Position(number, at if is_whole else min(last_at, at), quiet_since)
    return {
        "events": events,
        "cursor": cursor_of(asked.owner, reached),
        "truncated": start.is_truncated,
        "hasMore": not is_whole,
        "nextPollMs": min(max(at - quiet_since, NEXT_POLL), LONGEST_PAUSE) // MILLISECOND,
    }
