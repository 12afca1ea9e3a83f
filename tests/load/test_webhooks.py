"""Ten thousand events to a hundred receivers, a tenth of them dead: simulated, so no time passes.

Ten workers take messages of a queue as Lambda's do; an attempt at a dead receiver takes ten seconds, at a living one a
tenth of a second.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from statistics import median
from typing import Final

import pytest

from stepwire.principal import Principal, principal_of
from stepwire.subscriptions.changes import Change
from stepwire.subscriptions.delivering import Delivering
from stepwire.subscriptions.event_types import FINISHED, Filter
from stepwire.subscriptions.ports import Answer, NotReached
from stepwire.subscriptions.positions import Position
from stepwire.subscriptions.recording import OwnedChange, Recording
from stepwire.subscriptions.subscription import LONGEST_TTL, Subscription
from stepwire.tasks.ids import RANDOM_BYTES, new_task_id
from tests.fake_events import InMemoryEventStore, InMemorySubscriptionStore, Post
from tests.fakes import START_OF_TIME, FixedClock, counting

EVENTS: Final = 10_000
RECEIVERS: Final = 100
WORKERS: Final = 50
"""Five invocations with ten threads each: the template's concurrency."""
SPACING: Final = timedelta(milliseconds=20)
QUICK: Final = timedelta(milliseconds=100)
TIMEOUT: Final = timedelta(seconds=10)
SECRET: Final = "whsec_" + "c2VjcmV0" * 4


def unsigned(_secret: str, _message_id: str, _at: datetime, _body: str) -> str:
    """Sign nothing: the signatures are tested elsewhere."""
    return "v1,"


class Receivers:
    """A hundred receivers; each tenth never answers."""

    def __init__(self, clock: FixedClock, dead: frozenset[str]) -> None:
        self._clock, self.dead = clock, dead
        self.got: dict[str, list[tuple[str, datetime]]] = defaultdict(list)

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        self._clock.time += TIMEOUT if url in self.dead else QUICK
        if url in self.dead:
            raise NotReached("timeout")
        self.got[url].append((Post(url, headers, body.decode()).body["data"]["taskId"], self._clock.time))
        return Answer(200)


class Simulation:
    """A queue, workers and a clock."""

    def __init__(self, dead: int) -> None:
        self.clock = FixedClock()
        self.owners = [principal_of((str(number),), "a stack") for number in range(RECEIVERS)]
        self.urls = {owner: f"https://{owner}.example/" for owner in self.owners}
        urls = list(self.urls.values())
        self.receivers = Receivers(self.clock, frozenset(urls[:: RECEIVERS // dead] if dead else ()))
        self.record, self.store = InMemoryEventStore(), InMemorySubscriptionStore()
        self.messages: list[tuple[datetime, int, Principal, str]] = []
        self.numbers = iter(range(10**9))
        self.recording = Recording(self.record, self.store, self._ring, self.clock.now)
        self.delivering = Delivering(self.record, self.store, self.receivers, unsigned, self.clock, counting())
        for owner in self.owners:
            until = START_OF_TIME + LONGEST_TTL
            head = self.record.open_record(owner, START_OF_TIME, until)
            position = Position(head.number, START_OF_TIME)
            self.store.begin(Subscription(owner, Filter(FINISHED), self.urls[owner], SECRET, until, position))

    def _ring(self, owner: Principal, ids: Iterable[str]) -> None:
        for one in ids:
            heapq.heappush(self.messages, (self.clock.time, next(self.numbers), owner, one))

    def run(self) -> dict[str, datetime]:
        """Let all events happen, and take messages for two days; return when each task ended."""
        ends: dict[str, datetime] = {}
        events = [(START_OF_TIME + number * SPACING, number) for number in range(EVENTS)]
        free = [START_OF_TIME] * WORKERS
        while events or self.messages:
            next_message = self.messages[0][0] if self.messages else None
            worker = free[0]
            starts = max(worker, next_message) if next_message is not None else None
            if events and (starts is None or events[0][0] <= starts):
                at, number = events.pop(0)
                self.clock.time = at
                owner = self.owners[number % RECEIVERS]
                task_id = new_task_id(at, number.to_bytes(RANDOM_BYTES, "big"))
                ends[task_id] = at
                change = Change(task_id, "tool", "completed", "working", 2, at, at, at, at, is_error=False)
                self.recording.record([OwnedChange(owner, change)])
                continue
            assert starts is not None
            if starts > START_OF_TIME + timedelta(days=2):
                break
            _, number, owner, one = heapq.heappop(self.messages)
            self.clock.time = starts
            done = self.delivering.deliver(owner, one, str(number))
            heapq.heapreplace(free, self.clock.time)
            if done.again_after is not None:
                heapq.heappush(self.messages, (self.clock.time + done.again_after, number, owner, one))
        return ends


def delays(simulation: Simulation, ends: dict[str, datetime]) -> list[float]:
    return sorted((at - ends[task]).total_seconds() for got in simulation.receivers.got.values() for task, at in got)


@pytest.mark.long
def test_dead_receivers_lose_no_event_and_delay_no_other_receiver() -> None:
    healthy, ill = Simulation(dead=0), Simulation(dead=10)

    usual = delays(healthy, healthy.run())
    ends = ill.run()
    hampered = delays(ill, ends)

    expected: dict[str, list[str]] = defaultdict(list)
    for number, task in enumerate(ends):
        url = ill.urls[ill.owners[number % RECEIVERS]]
        if url not in ill.receivers.dead:
            expected[url].append(task)
    assert {url: [task for task, _ in got] for url, got in ill.receivers.got.items()} == expected
    assert (len(usual), len(hampered)) == (EVENTS, EVENTS * 9 // 10)
    assert median(hampered) <= median(usual) + 0.05
    assert hampered[int(len(hampered) * 0.99)] <= usual[int(len(usual) * 0.99)] + 1.0
