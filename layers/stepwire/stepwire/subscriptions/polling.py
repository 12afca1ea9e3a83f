"""`events/poll`: the changes since a cursor, for clients without an address. One poll reads a bounded part."""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.json_text import JsonObject
from stepwire.principal import Principal
from stepwire.subscriptions.event_types import Filter
from stepwire.subscriptions.ports import EventStore
from stepwire.subscriptions.positions import RETENTION, Position, cursor_of, start_of

MOST_READ: Final = 200  # changes in one poll
MOST_EVENTS: Final = 100
USUAL_EVENTS: Final = 50
NEXT_POLL: Final = timedelta(seconds=15)


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
            number, last_at = one.number, max(last_at, one.change.at)
            if one.change.matches(asked.wanted) and (floor is None or one.change.at >= floor):
                events.append(one.change.event(asked.wanted.name))
    # At the end of the record, the cursor is as new as this poll, however long nothing happens.
    reached = Position(number, at if is_whole else min(last_at, at))
    return {
        "events": events,
        "cursor": cursor_of(asked.owner, reached),
        "truncated": start.is_truncated,
        "hasMore": not is_whole,
        "nextPollMs": NEXT_POLL // timedelta(milliseconds=1),
    }
