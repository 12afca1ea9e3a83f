"""Deliver the events of one subscription, in order, from where the last delivery ended.

A message of the queue only says that a subscription may have something to deliver. What there is, how far it was
delivered and when the next attempt is due are in the table, so a message that comes twice does nothing twice. A
subscription has one message, however many events it waits for: whoever delivers looks again before it ends, and a
message that finds another at work is dropped.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import Enum
from threading import Lock
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from stepwire.changes import CallerEvent
from stepwire.codec import NO_TIME
from stepwire.engine.ports import Clock, Randomness, Refuses, refuses_nobody
from stepwire.extras.events.events import Position, Recorded, cursor_of
from stepwire.extras.events.ports import Endpoints, EventStore, NotReached, SubscriptionStore
from stepwire.extras.events.subscription import (
    Message,
    Sign,
    Subscription,
    Verdict,
    category_of,
    control_message,
    event_message,
    headers_of,
    is_refusal,
    verdict_on,
)
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId
from stepwire.tasks.limiter import Places
from stepwire.tracing import Trace, follow

_PAGE: Final = 50  # changes
CLAIM: Final = timedelta(seconds=60)
"""How long one invocation may deliver before another may take over; longer than `BUDGET` and one attempt."""
BUDGET: Final = timedelta(seconds=15)
"""After that long, no further event is begun: the message is sent again."""
PLACES: Final = Places.shared(50, part=5)
"""Deliveries of one invocation at the same time."""
IS_SLOW_AFTER: Final = 0.25
"""Seconds after which an invocation that still waits for receivers takes further messages."""
TAKES_MORE_FOR: Final = 45.0
"""Seconds for which it does so at most, and half of that at least. A message that was taken last may need 40 more."""
WHEN_BLOCKED: Final = timedelta(minutes=15)
"""After that long, a subscription of a blocked caller is looked at again; SQS delays a message no longer."""
_AFTER_A_FAULT: Final = 1.0  # seconds


class Outcome(Enum):
    """What came of one message, for the metrics."""

    NOTHING = "nothing"
    """There was nothing to deliver, or not yet."""
    BLOCKED = "blocked"
    """An operator has blocked the caller: what is there waits."""
    DELIVERED = "delivered"
    FAILED = "failed"
    SUSPENDED = "suspended"
    """The receiver has failed for a day: nothing is tried until its caller refreshes."""


class Done(Struct, frozen=True):
    """What one message came to."""

    outcome: Outcome
    delivered: int = 0
    skipped: int = 0
    again_after: timedelta | None = None
    """When the message must come again; None: it is done with."""


class _Attempt(Struct, frozen=True):
    verdict: Verdict
    error: str
    took: timedelta
    again_after: timedelta = NO_TIME
    is_refusal: bool = False


class Delivery(Struct, frozen=True):
    """One attempt to deliver an event about a task, for the log: nothing of the receiver, and nothing that it got."""

    task_id: TaskId
    event: str
    """Its name, such as `task.finished`."""
    subscription_id: str
    verdict: Verdict
    took: timedelta
    trace: Trace | None
    """What the event continues."""


def _tell_nobody(_delivery: Delivery) -> None:
    pass


class _Progress(Struct, frozen=True):
    subscription: Subscription
    delivered: int = 0
    skipped: int = 0

    def done(self, outcome: Outcome | None = None, again_after: timedelta | None = None) -> Done:
        usual = Outcome.DELIVERED if self.delivered or self.skipped else Outcome.NOTHING
        return Done(outcome or usual, self.delivered, self.skipped, again_after)


class Delivering(Struct, frozen=True):
    """Delivers events."""

    record: EventStore
    store: SubscriptionStore
    endpoints: Endpoints
    sign: Sign
    clock: Clock
    randomness: Randomness
    refuses: Refuses = refuses_nobody
    tell: Callable[[Delivery], None] = _tell_nobody
    """Gets each attempt to deliver an event about a task."""

    def deliver(self, owner: Principal, subscription_id: str, carrier: str) -> Done:
        """Deliver what is there.

        `carrier`: the id of the message that asks for it, the same each time that it comes.
        """
        at = self.clock.now()
        is_blocked, until = self.refuses(at, owner), at + CLAIM
        found = self.store.claim(owner, subscription_id, carrier, at, until)
        if found is None:
            return Done(Outcome.NOTHING)  # whoever delivers to it looks for news before it ends
        if is_blocked or self.refuses(at, found.person):  # the same list: it is not read twice
            self.store.pause(found, until, at + WHEN_BLOCKED)
            return Done(Outcome.BLOCKED, again_after=WHEN_BLOCKED)
        return self._not_yet(found, carrier, until, at) or self._deliver(found, carrier, until, at + BUDGET)

    def _not_yet(self, subscription: Subscription, carrier: str, until: datetime, at: datetime) -> Done | None:
        """Give back the claim before the next attempt is due, and return what to do; None if it is due."""
        standing = subscription.standing
        if not standing.is_suspended() and (standing.next_attempt_at is None or standing.next_attempt_at <= at):
            return None
        # Only one message carries the next attempt: all others are done with.
        return self._pause(_Progress(subscription), until, Outcome.NOTHING, comes=standing.retried_by == carrier)

    def _deliver(self, subscription: Subscription, carrier: str, until: datetime, end: datetime) -> Done:
        made = _Progress(subscription)
        while self.clock.now() < end:
            recorded = self.record.read(subscription.owner, made.subscription.position.number, _PAGE)
            if not recorded:
                if self.store.finish(made.subscription, until):
                    return made.done()
                continue  # there is news
            self._tell_of_gap(made.subscription, recorded[0])
            for one in recorded:
                if self.clock.now() >= end:
                    break
                made, must_wait = self._take(made, one, carrier)
                if must_wait:
                    standing = made.subscription.standing
                    failed = Outcome.SUSPENDED if standing.is_suspended() else Outcome.FAILED
                    return self._pause(made, until, failed if standing.failures else None, comes=True)
        self.store.pause(made.subscription, until, self.clock.now())
        return made.done(again_after=timedelta())

    def _take(self, made: _Progress, one: Recorded, carrier: str) -> tuple[_Progress, bool]:
        """Deliver a change if it is wanted; return the progress, and whether the receiver gets nothing for a while."""
        subscription = made.subscription
        passed = Position(one.number, max(subscription.position.at, one.event.at))
        if not subscription.wants(one.event):
            return replace(made, subscription=replace(subscription, position=passed)), False
        attempt = self._attempt(subscription, event_message(subscription, one))
        self._tell_of(subscription, one.event, attempt)
        at, standing = self.clock.now(), subscription.standing
        if attempt.verdict is Verdict.RETRY:
            failed = standing.after_failure(
                attempt.error, at, carrier, attempt.again_after, is_refusal=attempt.is_refusal
            )
            return replace(made, subscription=replace(subscription, standing=failed)), True
        if attempt.verdict is Verdict.DELIVERED:
            standing, made = standing.after_success(at), replace(made, delivered=made.delivered + 1)
        else:
            standing, made = standing.after_skip(attempt.error), replace(made, skipped=made.skipped + 1)
        standing = standing.after_answer(attempt.took, at, carrier)
        passed_on = replace(subscription, position=passed, standing=standing)
        return replace(made, subscription=passed_on), standing.next_attempt_at is not None

    def _tell_of(self, subscription: Subscription, event: CallerEvent, attempt: _Attempt) -> None:
        if "taskId" in event.data:  # what is of others' tasks does not name them
            task_id, name = TaskId(event.data["taskId"]), subscription.wanted.name
            self.tell(Delivery(task_id, name, subscription.id, attempt.verdict, attempt.took, event.trace))

    def _attempt(self, subscription: Subscription, message: Message) -> _Attempt:
        follow(message.trace)
        began = self.clock.now()
        headers = headers_of(subscription, message, began, self.sign)
        try:
            answer = self.endpoints.post(subscription.url, headers, message.body.encode())
        except NotReached as fault:
            return _Attempt(Verdict.RETRY, fault.category, self.clock.now() - began)
        verdict = verdict_on(answer.status, subscription.standing.refusals)
        took, is_refused = self.clock.now() - began, is_refusal(answer.status)
        return _Attempt(verdict, category_of(answer.status), took, answer.again_after, is_refused)

    def _tell_of_gap(self, subscription: Subscription, first: Recorded) -> None:
        """Say before each attempt at the next event that changes before it were lost. The answer is ignored."""
        if first.number > subscription.position.number + 1:
            fresh = Position(first.number - 1, first.event.at)
            cursor = cursor_of(subscription.owner, fresh)
            self._attempt(subscription, control_message("gap", self.randomness(8), {"cursor": cursor}))

    def _pause(self, made: _Progress, until: datetime, outcome: Outcome | None, *, comes: bool) -> Done:
        """Give back the claim until the next attempt, for which the message comes again if it carries it.

        Of a suspended subscription, until its caller refreshes: until then, no message is sent. If the caller has done
        so during this delivery, the next attempt is due at once, whatever came of this one.
        """
        next_at = made.subscription.standing.next_attempt_at
        if not self.store.pause(made.subscription, until, next_at or made.subscription.expires_at):
            return made.done(Outcome.FAILED if outcome is Outcome.SUSPENDED else outcome, timedelta())
        if next_at is None or not comes:
            return made.done(outcome)
        return made.done(outcome, max(next_at - self.clock.now(), timedelta()))


class Job(Struct, frozen=True):
    """What a message asks for."""

    owner: Principal
    deliver: Callable[[], None]
    put_back: Callable[[], None]
    """Lets another invocation have the message."""


class Crew(Protocol):
    """Does jobs at the same time."""

    def begin(self, work: Callable[[], None]) -> None:
        """Begin to work, in a thread of its own."""
        ...

    def wait(self, longest: float, *, until_all: bool = False) -> int:
        """Wait until one that works has ended, or all have, at most so many seconds; return how many go on."""
        ...

    def now(self) -> float:
        """Return a time in seconds."""
        ...


class Taking:
    """One invocation, which takes messages of the queue and begins their deliveries in the order in which they came.

    No caller has more than its part of `PLACES`, however many messages it has and however slow its receivers are; the
    others wait for their turn, and leave room for everybody else. While a delivery goes on, the invocation takes
    further messages. It ends at a time of its own, so that not all invocations end at the same moment.
    """

    def __init__(self, crew: Crew, receive: Callable[[int], Sequence[Job] | None]) -> None:
        """Take nothing yet.

        Args:
            crew: who delivers.
            receive: returns up to so many further messages; None after a fault.
        """
        self._crew, self._receive = crew, receive
        self._lock = Lock()  # the crew's threads end and begin jobs at the same time
        self._at_work = Counter[Principal]()
        self._waiting = dict[Principal, deque[Job]]()

    def run(self, batch: Sequence[Job], spread: float, is_slow_after: float = IS_SLOW_AFTER) -> None:
        """Do the jobs of a batch, and of what is received meanwhile.

        Args:
            batch: what the invocation was called with.
            spread: a random number from 0 to 1, which says when this invocation ends.
            is_slow_after: seconds.
        """
        until = self._crew.now() + TAKES_MORE_FOR * (1 + spread) / 2
        self._begin(batch)
        at_work = self._crew.wait(is_slow_after, until_all=True)
        while at_work and (left := until - self._crew.now()) > 0:
            at_work = self._crew.wait(self._take_more(PLACES.all - at_work, left))
        with self._lock:
            unbegun = [job for jobs in self._waiting.values() for job in jobs]
            self._waiting.clear()
        for job in unbegun:
            self._crew.begin(job.put_back)
        self._crew.wait(float("inf"), until_all=True)

    def _take_more(self, room: int, left: float) -> float:
        """Take further messages if there is room; return how long to wait for room, in seconds."""
        if room <= 0:
            return left
        more = self._receive(room)
        if more is None:
            return min(left, _AFTER_A_FAULT)
        self._begin(more)
        return 0

    def _begin(self, jobs: Sequence[Job]) -> None:
        """Begin jobs; those of a caller that has places, and may take no other, wait until one of them is free."""
        for job in jobs:
            with self._lock:
                begins = PLACES.admit(self._at_work[job.owner], self._at_work.total())
                if begins:
                    self._at_work[job.owner] += 1
                else:
                    self._waiting.setdefault(job.owner, deque()).append(job)
            if begins:
                self._crew.begin(lambda job=job: self._work(job))

    def _work(self, job: Job) -> None:
        """Do a job, and then those of the same caller that wait."""
        following: Job | None = job
        while following is not None:
            following.deliver()
            with self._lock:
                waiting = self._waiting.get(job.owner)
                following = waiting.popleft() if waiting else None
                if following is None:
                    self._at_work[job.owner] -= 1
