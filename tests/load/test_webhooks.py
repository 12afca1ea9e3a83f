"""Ten thousand events to a hundred receivers, a tenth of them dead: simulated, so no time passes.

Lambda has the shape of the template: five invocations at a time, each with a batch of up to ten messages, whose
deliveries go on at the same time; an invocation ends with the last of them, and takes further messages meanwhile if the
function does. An attempt at a dead receiver takes ten seconds, at a living one a tenth of a second.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Final

import pytest

from stepwire.aws.webhook_function import IS_SLOW_AFTER, LARGEST_BATCH, MOST_AT_ONCE, TAKES_MORE_FOR
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
from tests.template.document import resource

EVENTS: Final = 10_000
RECEIVERS: Final = 100
CONCURRENCY: Final = int(resource("Webhooks").properties["ScalingConfig"]["MaximumConcurrency"])
BATCH: Final = int(resource("Webhooks").properties["BatchSize"])
SLOW: Final = timedelta(seconds=IS_SLOW_AFTER)
MORE: Final = timedelta(seconds=TAKES_MORE_FOR)
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


@dataclass
class Invocation:
    """One invocation of function webhooks."""

    began: datetime
    ends: list[datetime] = field(default_factory=list[datetime])
    """When its deliveries end."""

    def is_over(self, at: datetime) -> bool:
        return all(end <= at for end in self.ends)

    def has_room(self, at: datetime) -> bool:
        """Tell whether it takes further messages: it still waits, and has done so for a while."""
        waiting = sum(end > at for end in self.ends)
        return 0 < waiting < MOST_AT_ONCE and SLOW <= at - self.began < MORE


class Simulation:
    """A queue, invocations and a clock. With `takes_more`, an invocation that waits takes further messages."""

    def __init__(self, dead: int, *, takes_more: bool = True) -> None:
        self.takes_more = takes_more
        self.clock = FixedClock()
        self.owners = [principal_of((str(number),), "a stack") for number in range(RECEIVERS)]
        self.urls = {owner: f"https://{owner}.example/" for owner in self.owners}
        urls = list(self.urls.values())
        self.receivers = Receivers(self.clock, frozenset(urls[:: RECEIVERS // dead] if dead else ()))
        self.record, self.store = InMemoryEventStore(), InMemorySubscriptionStore()
        self.messages: list[tuple[datetime, int, Principal, str]] = []
        self.invocations: list[Invocation] = []
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
        for number in range(EVENTS):
            at = START_OF_TIME + number * SPACING
            self._take_until(at)
            self.clock.time = at
            task_id = new_task_id(at, number.to_bytes(RANDOM_BYTES, "big"))
            ends[task_id] = at
            change = Change(task_id, "tool", "completed", "working", 2, at, at, at, at, is_error=False)
            self.recording.record([OwnedChange(self.owners[number % RECEIVERS], change)])
        self._take_until(START_OF_TIME + timedelta(days=2))
        return ends

    def _take_until(self, end: datetime) -> None:
        """Take what can be taken before a time."""
        while self.messages:
            at = max(self.messages[0][0], self._next_free())
            if at >= end:
                return
            self.invocations = [one for one in self.invocations if not one.is_over(at)]
            taker = next((one for one in self.invocations if self.takes_more and one.has_room(at)), None)
            most = BATCH if taker is None else min(LARGEST_BATCH, MOST_AT_ONCE)
            if taker is None:
                taker = Invocation(at)
                self.invocations.append(taker)
                assert len(self.invocations) <= CONCURRENCY
            for _ in range(most):
                if self.messages and self.messages[0][0] <= at:
                    taker.ends.append(self._deliver(at))

    def _next_free(self) -> datetime:
        """Return when a message can be taken: by a new invocation, or by one that waits."""
        now = self.messages[0][0]
        running = [one for one in self.invocations if not one.is_over(now)]
        if len(running) < CONCURRENCY:
            return now
        moments = [max(one.ends) for one in running]
        if self.takes_more:
            moments += [max(now, one.began + SLOW) for one in running if one.has_room(max(now, one.began + SLOW))]
        return min(moments)

    def _deliver(self, at: datetime) -> datetime:
        _, number, owner, one = heapq.heappop(self.messages)
        self.clock.time = at
        done = self.delivering.deliver(owner, one, str(number))
        ended = self.clock.time
        if done.again_after is not None:
            heapq.heappush(self.messages, (ended + done.again_after, number, owner, one))
        return ended


def delays(simulation: Simulation, ends: dict[str, datetime]) -> list[float]:
    return sorted((at - ends[task]).total_seconds() for got in simulation.receivers.got.values() for task, at in got)


@pytest.mark.long
def test_dead_receivers_lose_no_event_and_delay_no_other_receiver() -> None:
    healthy, ill = Simulation(dead=0), Simulation(dead=RECEIVERS // 10)

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
    assert median(hampered) == median(usual)
    assert hampered[int(len(hampered) * 0.99)] <= usual[int(len(usual) * 0.99)] + IS_SLOW_AFTER
    assert hampered[-1] <= usual[-1] + 2 * IS_SLOW_AFTER


@pytest.mark.long
def test_invocations_that_only_wait_would_delay_the_others() -> None:
    """The simulation notices what it is for."""
    waiting = Simulation(dead=RECEIVERS // 10, takes_more=False)

    assert delays(waiting, waiting.run())[-1] > TIMEOUT.total_seconds() / 2
