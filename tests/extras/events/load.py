"""Function webhooks in virtual time: the real recording, taking and delivering, over a queue and tables in memory.

Lambda has the shape of the template: five invocations at a time, each with a batch of up to ten messages. A call of the
table takes 8 ms, one of the queue 10 ms; a receiver answers after as long as the scenario says.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any, Final

from stepwire.changes import CallerEvent
from stepwire.extras.events.delivering import Delivering, Job, Taking
from stepwire.extras.events.events import STATUS_CHANGED, Filter, Position
from stepwire.extras.events.ports import Answer, NotReached
from stepwire.extras.events.record import Recording
from stepwire.extras.events.subscription import LONGEST_SUBSCRIPTION, Subscription
from stepwire.principal import Principal, principal_of
from stepwire.tasks.ids import RANDOM_BYTES, new_task_id
from tests.extras.events.fakes import InMemoryEventStore, InMemorySubscriptionStore, Post
from tests.fakes import START_OF_TIME, counting
from tests.template.document import resource
from tests.virtual_time import VirtualTime

CONCURRENCY: Final = int(resource("Webhooks").properties["ScalingConfig"]["MaximumConcurrency"])
BATCH: Final = int(resource("Webhooks").properties["BatchSize"])
TABLE_CALL: Final = 0.008  # seconds
QUEUE_CALL: Final = 0.010
LONG_POLL: Final = 1.0
DEAD: Final = 10.0
"""Seconds after which a receiver gives no answer."""
SECRET: Final = "whsec_" + "c2VjcmV0" * 4


def unsigned(_secret: str, _message_id: str, _at: datetime, _body: str) -> str:
    """Sign nothing: the signatures are tested elsewhere."""
    return "v1,"


class Slow:
    """Passes calls on to a port, each after a while."""

    def __init__(self, port: Any, wait: Callable[[], None]) -> None:
        self._port, self._wait = port, wait

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        def call(*arguments: Any) -> Any:
            self._wait()
            return method(*arguments)

        return call


@dataclass(order=True)
class Message:
    """A message of the queue."""

    due: float
    number: int
    owner: Principal = field(compare=False)
    subscription: str = field(compare=False)
    carrier: str = field(compare=False)


class Queue:
    """A queue without faults: a message is delivered once."""

    def __init__(self, time: VirtualTime, on_message: Callable[[], None]) -> None:
        self._time, self._on_message = time, on_message
        self._messages = list[Message]()
        self._numbers = count()
        self._pollers = list[Callable[[], None]]()
        self.longest = 0
        """The most messages that it has held, with those that are not due."""

    def send(self, owner: Principal, subscription: str, carrier: str = "", delay: float = 0) -> None:
        number = next(self._numbers)
        message = Message(self._time.now + delay, number, owner, subscription, carrier or str(number))
        heapq.heappush(self._messages, message)
        self.longest = max(self.longest, len(self._messages))
        self._time.at(message.due, self._tell)

    def _tell(self) -> None:
        self._on_message()
        for wake in self._pollers:
            wake()
        self._pollers.clear()

    def take(self, most: int) -> list[Message]:
        """Take messages that are due."""
        taken = list[Message]()
        while self._messages and self._messages[0].due <= self._time.now and len(taken) < most:
            taken.append(heapq.heappop(self._messages))
        return taken

    def receive(self, most: int) -> list[Message]:
        """Take messages that are due, or wait for one."""
        self._time.sleep(QUEUE_CALL)
        taken = self.take(most)
        if not taken:
            self._pollers.append(self._time.waker())
            self._time.park(self._time.now + LONG_POLL)
            taken = self.take(most)
        return taken


class Threads:
    """The crew of one invocation."""

    def __init__(self, time: VirtualTime) -> None:
        self._time, self._at_work = time, 0
        self._until_all = False
        self._wake: Callable[[], None] | None = None

    def begin(self, work: Callable[[], None]) -> None:
        self._at_work += 1

        def run() -> None:
            work()
            self._at_work -= 1
            if self._wake is not None and (self._at_work == 0 or not self._until_all):
                self._wake()

        self._time.spawn(run)

    def wait(self, longest: float, *, until_all: bool = False) -> int:
        if self._at_work:
            self._wake, self._until_all = self._time.waker(), until_all
            self._time.park(self._time.now + longest)
            self._wake = None
        return self._at_work

    def now(self) -> float:
        return self._time.now


class Clock:
    """The time of a simulation, as a date."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time

    def now(self) -> datetime:
        return START_OF_TIME + timedelta(seconds=self._time.now)

    def sleep(self, seconds: float) -> None:
        self._time.sleep(seconds)


class Simulation:
    """A stack and its receivers."""

    def __init__(self, time: VirtualTime, *, takes_more: bool = True) -> None:
        self.time, self.clock, self.takes_more = time, Clock(time), takes_more
        self.queue = Queue(time, self._invoke)
        self.answers_after: dict[str, float] = {}
        """Seconds, by URL; `DEAD` or more is no answer."""
        self.got: dict[str, list[tuple[str, float]]] = defaultdict(list)
        """By URL: the tasks of its events, and when they arrived."""
        self._running, self._random, self._tasks = 0, Random(7), count()
        self._record, self._store = InMemoryEventStore(), InMemorySubscriptionStore()
        record: Any = Slow(self._record, lambda: time.sleep(TABLE_CALL))
        store: Any = Slow(self._store, lambda: time.sleep(TABLE_CALL))
        self._recording = Recording(record, store, self._ring, self.clock.now)
        self._delivering = Delivering(record, store, self, unsigned, self.clock, counting())
        self._changes, self._is_recording = list[CallerEvent](), False

    # What callers do.

    def subscribe(self, name: str, urls: Mapping[str, float]) -> Principal:
        """Let a caller subscribe to all changes, with receivers that answer after so many seconds."""
        owner, now = principal_of((name,), "a stack"), self.clock.now()
        head = self._record.open_record(owner, now, now + LONGEST_SUBSCRIPTION)
        for url in urls:
            position = Position(head.number, now)
            self._store.begin(
                Subscription(owner, Filter(STATUS_CHANGED), url, SECRET, now + LONGEST_SUBSCRIPTION, position)
            )
        self.answers_after |= urls
        return owner

    def change(self, owner: Principal) -> str:
        """Let a task of a caller change; return its id."""
        number, at = next(self._tasks), self.clock.now()
        task_id = new_task_id(at, number.to_bytes(RANDOM_BYTES, "big"))
        data = {"taskId": task_id, "tool": "tool", "status": "completed", "previousStatus": "working", "isError": False}
        self._changes.append(CallerEvent(owner, (STATUS_CHANGED,), f"{task_id}-2", at, data))
        if not self._is_recording:
            self._is_recording = True
            self.time.spawn(self._record_changes)
        return task_id

    # What AWS does.

    def _record_changes(self) -> None:
        """Give the changes to function status_changes, in batches."""
        while self._changes:
            batch, self._changes = self._changes[:100], self._changes[100:]
            self._recording.record(batch)
        self._is_recording = False

    def _ring(self, owner: Principal, ids: Iterable[str]) -> None:
        for number, one in enumerate(ids):
            if number % 10 == 0:
                self.time.sleep(QUEUE_CALL)
            self.queue.send(owner, one)

    def _invoke(self) -> None:
        while self._running < CONCURRENCY and (batch := self.queue.take(BATCH)):
            self._running += 1
            self.time.spawn(lambda batch=batch: self._invocation(batch))

    def _invocation(self, batch: list[Message]) -> None:
        receive: Callable[[int], Sequence[Job] | None] = lambda most: self._jobs(self.queue.receive(min(most, 10)))  # noqa: E731
        taking = Taking(Threads(self.time), receive if self.takes_more else self._receive_nothing)
        taking.run(self._jobs(batch), self._random.random())
        self._running -= 1
        self._invoke()

    def _receive_nothing(self, _most: int) -> None:
        return None

    def _jobs(self, messages: list[Message]) -> list[Job]:
        return [
            Job(one.owner, lambda one=one: self._deliver(one), lambda one=one: self._put_back(one, 1))
            for one in messages
        ]

    def _deliver(self, message: Message) -> None:
        done = self._delivering.deliver(message.owner, message.subscription, message.carrier)
        if done.again_after is not None:
            self._put_back(message, done.again_after.total_seconds())

    def _put_back(self, message: Message, delay: float) -> None:
        self.time.sleep(QUEUE_CALL)
        self.queue.send(message.owner, message.subscription, message.carrier, min(delay, 900))

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer for a receiver."""
        self.time.sleep(min(self.answers_after[url], DEAD))
        if self.answers_after[url] >= DEAD:
            raise NotReached("timeout")
        self.got[url].append((Post(url, headers, body.decode()).body["data"]["taskId"], self.time.now))
        return Answer(200)
