"""Simulate many calls of one caller at the same moment: how slots and tasks are written, and what conflicts.

A model of DynamoDB, not a measurement: writes of one item are put in a row; a transaction holds its items from its
preparation to its commit, and whatever else wants one of them meanwhile is refused (TransactionConflict). The rule:
the numbers of the model are named below, the seed is fixed, and decision 40 shows the table.

    python -m benchmarks.contention
"""

import heapq
import random
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final, TypeAlias

CALLS: Final = (10, 50, 200)
SLOTS: Final = 250
"""The limit of active tasks, of which none is taken at first."""
NETWORK: Final = (0.002, 0.006)  # seconds each way: least and most
WRITE: Final = 0.001  # seconds that a write occupies its item
TRANSACTION: Final = 0.010  # seconds from the preparation of a transaction to its commit
BACKOFF: Final = (0.025, 0.05, 0.1, 0.2)  # seconds at most, drawn evenly, before each further attempt
SEED: Final = 7
_ID: Final = 36  # bytes of a task's id in the set of active tasks


@dataclass
class Outcome:
    """What some calls at once cost, together."""

    requests: int = 0
    units: int = 0
    """Write units, those of refused attempts included."""
    conflicts: int = 0
    failed: int = 0
    """Calls that were refused although the caller is at no limit."""
    last: float = 0.0
    """Seconds until the last call was answered."""


@dataclass(frozen=True)
class Write:
    """A request that writes some items."""

    items: tuple[str, ...]
    units: int
    is_transaction: bool = False


Call: TypeAlias = Generator[Write, bool, bool]
"""Yields requests, gets whether each was accepted, and returns whether the call succeeded."""


@dataclass
class Table:
    """The items, and until when each is busy or held."""

    busy: dict[str, float] = field(default_factory=dict[str, float])
    held: dict[str, float] = field(default_factory=dict[str, float])
    active: Counter[str] = field(default_factory=Counter[str])
    """How many slots are taken, by the item that counts them."""

    def answers(self, write: Write, at: float) -> tuple[bool, float]:
        """Return whether a request that arrives now is accepted, and when it is answered."""
        if any(self.held.get(item, 0) > at for item in write.items):
            return False, at
        if write.is_transaction:
            done = max([at, *(self.busy.get(item, 0) for item in write.items)]) + TRANSACTION
            self.held |= dict.fromkeys(write.items, done)
            return True, done
        (item,) = write.items
        self.busy[item] = max(at, self.busy.get(item, 0)) + WRITE
        return True, self.busy[item]


def _set_units(slots: int) -> int:
    """Return the write units of an item with so many ids."""
    return -(-(200 + _ID * (slots + 1)) // 1024)


def two_writes(table: Table, number: int, _chance: random.Random) -> Call:
    """A slot in the caller's set, then the task: two single writes (decision 12)."""
    for write in (Write(("usage",), _set_units(table.active["usage"])), Write((f"task {number}",), 1)):
        table.active["usage"] += len(write.items) if write.items == ("usage",) else 0
        if not (yield write):
            return False
    return True


def one_transaction(table: Table, number: int, chance: random.Random) -> Call:
    """The set and the task in one transaction, which costs twice the units."""
    return (yield from _in_parts(table, number, chance, parts=1))


def a_part_of_the_set(table: Table, number: int, chance: random.Random) -> Call:
    """The set in 16 parts, of which each attempt chooses one at random, and the task, in one transaction."""
    return (yield from _in_parts(table, number, chance, parts=16))


def a_slot_of_its_own(table: Table, number: int, chance: random.Random) -> Call:
    """An item per slot, of which each attempt chooses one at random, and the task, in one transaction."""
    return (yield from _in_parts(table, number, chance, parts=SLOTS))


def _in_parts(table: Table, number: int, chance: random.Random, parts: int) -> Call:
    for _ in range(len(BACKOFF) + 1):
        part = f"part {chance.randrange(parts)}"
        is_full = table.active[part] >= -(-SLOTS // parts)
        units = 2 * ((1 if parts == SLOTS else _set_units(table.active[part])) + 1)
        accepted = yield Write((part, f"task {number}"), units, is_transaction=True)
        if accepted and not is_full:
            table.active[part] += 1
            return True
    return False


WAYS: Final[dict[str, Callable[[Table, int, random.Random], Call]]] = {
    "two single writes (today)": two_writes,
    "one transaction, one set": one_transaction,
    "one transaction, 16 sets": a_part_of_the_set,
    "one transaction, a slot each": a_slot_of_its_own,
}


def simulate(way: Callable[[Table, int, random.Random], Call], calls: int) -> Outcome:
    """Make so many calls at once."""
    chance = random.Random(SEED)  # noqa: S311 - the same chance each time
    table, outcome, order = Table(), Outcome(), count()
    arrivals: list[tuple[float, int, int, Call, Write]] = []
    tries = Counter[int]()

    def send(at: float, number: int, call: Call, write: Write) -> None:
        outcome.requests += 1
        outcome.units += write.units
        heapq.heappush(arrivals, (at + chance.uniform(*NETWORK), next(order), number, call, write))

    for number in range(calls):
        call = way(table, number, chance)
        send(0.0, number, call, next(call))
    while arrivals:
        at, _, number, call, write = heapq.heappop(arrivals)
        accepted, answered = table.answers(write, at)
        answered += chance.uniform(*NETWORK)
        outcome.conflicts += not accepted
        try:
            following = call.send(accepted)
        except StopIteration as end:
            outcome.failed += not end.value
            outcome.last = max(outcome.last, answered)
            continue
        if write.is_transaction:
            answered += chance.uniform(0, BACKOFF[min(tries[number], len(BACKOFF) - 1)])
            tries[number] += 1
        send(answered, number, call, following)
    return outcome


def table() -> str:
    """Return the table of decision 40 as Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in _rows())


def _rows() -> Iterator[list[str]]:
    yield ["how", "calls at once", "requests per call", "write units per call", "conflicts per call", "refused", "last"]
    yield ["---", *["--:"] * 6]
    for name, way in WAYS.items():
        for calls in CALLS:
            made = simulate(way, calls)
            per_call = (f"{value / calls:.1f}" for value in (made.requests, made.units, made.conflicts))
            yield [name, f"{calls}", *per_call, f"{made.failed / calls:.0%}", f"{1000 * made.last:.0f} ms"]


if __name__ == "__main__":
    sys.stdout.write(table())
