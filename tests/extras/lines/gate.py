"""The gate of the tests, over lines in memory, or in the table that a test has in place of the store in memory."""

from bisect import bisect_left, insort
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from msgspec.structs import replace

from stepwire.engine.assembly import Ports
from stepwire.engine.recorder import Recorder
from stepwire.errors import StoreBusy
from stepwire.extras.lines.ports import Lines
from stepwire.extras.lines.rules import Change, Held, Line, Place, Seen, Share, Ticket
from stepwire.extras.lines.storage import DynamoDbLines
from stepwire.extras.lines.turns import Turns
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId
from tests.fakes import InMemoryTaskStore, nothing


class InMemoryLines:
    """Lines in dictionaries."""

    def __init__(self) -> None:
        self.states: dict[str, Line] = {}
        self.held: dict[tuple[str, Ticket], Held] = {}
        self.places: dict[tuple[str, Ticket], Place] = {}
        self.orders: dict[str, list[Order]] = {}
        """The places of each line, in the order in which they are served."""
        self.shares: dict[tuple[str, Principal], Share] = {}
        self.calls: list[str] = []
        """The name of each call, in order; one entry is one call to DynamoDB."""
        self.before_change: Callable[[], object] = nothing
        """Called once, before the next change is written, to simulate a concurrent writer."""
        self.before_see: Callable[[], object] = nothing
        """Called once, before the next `see` reads, to simulate a concurrent writer."""
        self.is_available = True
        """Whether lines can be read."""
        self.broken = ""
        """The key of a line that cannot be read."""

    def see(self, key: str, ticket: Ticket) -> Seen:
        self.calls.append("see")
        meanwhile, self.before_see = self.before_see, nothing
        meanwhile()
        if not self.is_available:
            raise StoreBusy
        share = self.shares.get((key, ticket.owner), Share())
        return Seen(self.states.get(key), self.held.get((key, ticket)), self.places.get((key, ticket)), share)

    def line(self, key: str) -> Line | None:
        self.calls.append("line")
        if key == self.broken:
            raise StoreBusy
        return self.states.get(key)

    def first(self, key: str, count: int = 1) -> list[Place]:
        self.calls.append("first")
        return [self.places[key, one[-1]] for one in self.orders.get(key, [])[:count]]

    def before(self, key: str, place: Place, most: int) -> int:
        self.calls.append("before")
        return min(most, bisect_left(self.orders.get(key, []), order_of(place)))

    def turns(self, key: str, owner: Principal | None = None) -> list[Held]:
        self.calls.append("turns")
        found = [one for (line, _), one in self.held.items() if line == key]
        return found if owner is None else [one for one in found if one.ticket.owner == owner]

    def in_use(self) -> list[str]:
        self.calls.append("in_use")
        found = [key for key, line in self.states.items() if line.is_in_use]
        return sorted(found, key=lambda key: not self.states[key].is_restricted)

    def change(self, key: str, before: Line | None, change: Change, at: datetime) -> bool:
        self.calls.append("change")
        meanwhile, self.before_change = self.before_change, nothing
        meanwhile()
        known = self.states.get(key)
        if (known.version if known else None) != (before.version if before else None):
            return False
        self.states[key] = replace(change.line, version=(before.version if before else 0) + 1)
        for turn in change.holds:
            self.held[key, turn.ticket] = turn
        for ticket in change.frees:
            self.held.pop((key, ticket), None)
        for place in change.joins:
            self._place(key, place)
            if change.share is not None:
                self.shares[key, place.ticket.owner] = change.share
        for before_move, place in change.moves:
            self.orders[key].remove(order_of(before_move))
            self._place(key, place)
        for place in change.leaves:
            self.places.pop((key, place.ticket), None)
            self.orders[key].remove(order_of(place))
            share = self.shares.get((key, place.ticket.owner), Share())
            self.shares[key, place.ticket.owner] = replace(share, waiting=max(0, share.waiting - 1))
        return True

    def _place(self, key: str, place: Place) -> None:
        self.places[key, place.ticket] = place
        insort(self.orders.setdefault(key, []), order_of(place))


Order: TypeAlias = tuple[int, datetime, TaskId, int, Ticket]


def order_of(place: Place) -> Order:
    """Return what places are served by."""
    return place.round, place.joined_at, place.ticket.task_id, place.ticket.run, place.ticket


def lines_of(store: Any) -> Any:
    """Return the lines beside a store."""
    return InMemoryLines() if isinstance(store, InMemoryTaskStore) else DynamoDbLines(store.table)


def gate_over(lines: Lines) -> Callable[[Recorder, Ports], Turns]:
    """Return what builds the gate over lines."""
    return lambda recorder, ports: Turns(lines, recorder, ports.workflows, ports.wake_ups, ports.report)
