"""Deliver the events of one subscription, in order, from where the last delivery ended.

A message of the queue only says that a subscription may have something to deliver. What there is, how far it was
delivered and when the next attempt is due are in the table, so a message that comes twice does nothing twice, and a
receiver that is dead holds up one message, however many events it misses.
"""

from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from stepwire.engine.ports import Clock, Randomness
from stepwire.lean_dataclasses import dataclass, replace
from stepwire.principal import Principal
from stepwire.subscriptions.messages import Message, control_message, event_message, headers_of
from stepwire.subscriptions.ports import Busy, Endpoints, EventStore, NotReached, Recorded, Sign, SubscriptionStore
from stepwire.subscriptions.positions import Position, cursor_of
from stepwire.subscriptions.subscription import Standing, Subscription, Verdict, category_of, verdict_on

_PAGE: Final = 50  # changes
CLAIM: Final = timedelta(seconds=60)
"""How long one invocation may deliver before another may take over; longer than `BUDGET` and one attempt."""
BUDGET: Final = timedelta(seconds=30)
"""After that long, no further event is begun: the message is taken again."""
WHEN_BUSY: Final = timedelta(seconds=5)
"""After which a message is taken again while another delivers to its subscription."""


class Outcome(Enum):
    """What came of one message, for the metrics."""

    NOTHING = "nothing"
    """There was nothing to deliver, or not yet."""
    DELIVERED = "delivered"
    FAILED = "failed"
    SUSPENDED = "suspended"
    """The receiver has failed for a day: nothing is tried until its caller refreshes."""


@dataclass(frozen=True)
class Done:
    """What one message came to."""

    outcome: Outcome
    delivered: int = 0
    skipped: int = 0
    again_after: timedelta | None = None
    """When the message must be taken again; None: it is done with."""


@dataclass(frozen=True)
class _Attempt:
    verdict: Verdict
    error: str = ""


@dataclass(frozen=True)
class _Progress:
    subscription: Subscription
    delivered: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Delivering:
    """Delivers events."""

    record: EventStore
    store: SubscriptionStore
    endpoints: Endpoints
    sign: Sign
    clock: Clock
    randomness: Randomness

    def deliver(self, owner: Principal, subscription_id: str, message_id: str) -> Done:
        """Deliver what is there.

        Args:
            owner: the caller whose subscription it is.
            subscription_id: the subscription.
            message_id: the message of the queue that asks for it; after a failure, it carries the next attempt.
        """
        at = self.clock.now()
        until = at + CLAIM
        found = self.store.claim(owner, subscription_id, at, until)
        match found:
            case None:
                return Done(Outcome.NOTHING)
            case Busy():
                return Done(Outcome.NOTHING, again_after=WHEN_BUSY)
            case Subscription():
                waits = self._not_yet(found, message_id, at)
                if waits is not None:
                    self.store.finish(found, until)
                    return waits
                return self._deliver(found, message_id, until, at + BUDGET)

    def _not_yet(self, subscription: Subscription, message_id: str, at: datetime) -> Done | None:
        """Return what to do before the next attempt is due; None if it is due."""
        standing = subscription.standing
        if standing.is_suspended():
            return Done(Outcome.NOTHING)
        if standing.next_attempt_at is None or standing.next_attempt_at <= at:
            return None
        # Only one message carries the next attempt: all others are done with.
        carries = standing.retried_by == message_id
        return Done(Outcome.NOTHING, again_after=standing.next_attempt_at - at if carries else None)

    def _deliver(self, subscription: Subscription, message_id: str, until: datetime, end: datetime) -> Done:
        made = _Progress(subscription)
        while self.clock.now() < end:
            recorded = self.record.read(subscription.owner, made.subscription.position.number, _PAGE)
            if not recorded:
                return self._finish(made, until, None)
            self._tell_of_gap(made.subscription, recorded[0])
            for one in recorded:
                if self.clock.now() >= end:
                    break
                made, has_failed = self._take(made, one, message_id)
                if has_failed:
                    return self._fail(made, until)
        return self._finish(made, until, timedelta())

    def _take(self, made: _Progress, one: Recorded, message_id: str) -> tuple[_Progress, bool]:
        """Deliver a change if it is wanted; return the progress, and whether the attempt must be repeated later."""
        subscription = made.subscription
        passed = Position(one.number, max(subscription.position.at, one.change.at))
        if not one.change.matches(subscription.wanted):
            return replace(made, subscription=replace(subscription, position=passed)), False
        attempt = self._attempt(subscription, event_message(subscription, one))
        at = self.clock.now()
        match attempt.verdict:
            case Verdict.DELIVERED:
                standing = subscription.standing.after_success(at)
                delivered = replace(subscription, position=passed, standing=standing)
                return replace(made, subscription=delivered, delivered=made.delivered + 1), False
            case Verdict.SKIP:
                skipped = replace(
                    subscription, position=passed, standing=_after_skip(subscription.standing, attempt.error)
                )
                return replace(made, subscription=skipped, skipped=made.skipped + 1), False
            case Verdict.RETRY:
                standing = subscription.standing.after_failure(attempt.error, at, message_id)
                return replace(made, subscription=replace(subscription, standing=standing)), True

    def _attempt(self, subscription: Subscription, message: Message) -> _Attempt:
        headers = headers_of(subscription, message, self.clock.now(), self.sign)
        try:
            answer = self.endpoints.post(subscription.url, headers, message.body.encode())
        except NotReached as fault:
            return _Attempt(Verdict.RETRY, fault.category)
        return _Attempt(verdict_on(answer.status, subscription.standing.failures), category_of(answer.status))

    def _tell_of_gap(self, subscription: Subscription, first: Recorded) -> None:
        """Say once that changes were lost, which the record no longer has. The answer is ignored."""
        if first.number > subscription.position.number + 1:
            fresh = Position(first.number - 1, first.change.at)
            cursor = cursor_of(subscription.owner, fresh)
            self._attempt(subscription, control_message("gap", self.randomness(8), {"cursor": cursor}))

    def _finish(self, made: _Progress, until: datetime, again_after: timedelta | None) -> Done:
        self.store.finish(made.subscription, until)
        outcome = Outcome.DELIVERED if made.delivered or made.skipped else Outcome.NOTHING
        return Done(outcome, made.delivered, made.skipped, again_after)

    def _fail(self, made: _Progress, until: datetime) -> Done:
        self.store.finish(made.subscription, until)
        next_at = made.subscription.standing.next_attempt_at
        if next_at is None:
            return Done(Outcome.SUSPENDED, made.delivered, made.skipped)
        return Done(Outcome.FAILED, made.delivered, made.skipped, max(next_at - self.clock.now(), timedelta()))


def _after_skip(standing: Standing, error: str) -> Standing:
    return Standing(last_error=error, last_delivery_at=standing.last_delivery_at)
