"""The ports of this room. `aws/` implements them; tests use fakes that pass the same contracts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from stepwire.changes import CallerEvent
from stepwire.codec import NO_TIME
from stepwire.extras.events.events import Filter, Head, Recorded
from stepwire.extras.events.subscription import Subscription
from stepwire.principal import Principal


class EventStore(Protocol):
    """The events of each caller, recorded only while the caller asks for them. Reads are consistent."""

    def open_record(self, owner: Principal, at: datetime, until: datetime) -> Head:
        """Record the caller's events until a time, at least; return the end of the record."""
        ...

    def head(self, owner: Principal, at: datetime) -> Head | None:
        """Return the end of the record; None if the caller's events are not recorded. Costs one read."""
        ...

    def append(self, owner: Principal, head: Head, events: Sequence[CallerEvent]) -> None:
        """Add events to the record, except those that `head` knows: a retry adds nothing twice.

        Raises:
            StoreBusy: some may be missing; retry.
        """
        ...

    def read(self, owner: Principal, after: int, most: int) -> Sequence[Recorded]:
        """Return up to `most` events after a number, oldest first."""
        ...


CARRIED: Final = timedelta(minutes=15)
"""How long a message is trusted to come, from when it is due: longer than the queue hides one that was taken."""


class Listener(Struct, frozen=True):
    """A live subscription, as the recorder of changes sees it."""

    wanted: Filter
    is_told: bool = False
    """A message is on its way, and whoever takes it will look for all changes up to now."""
    asked_for: str | None = None
    """The change for which that message was to be sent; None when it has been taken."""


class SubscriptionStore(Protocol):
    """The webhook subscriptions of each caller. Reads are consistent.

    A subscription has one message at most, which carries it from the first change until nothing is left to deliver.
    The subscription says until when its message is trusted to come; a mark says that there is news since the last look.
    """

    def load(self, owner: Principal, subscription_id: str) -> Subscription | None:
        """Return a subscription, possibly an expired one; None if there is none."""
        ...

    def live(self, owner: Principal, at: datetime) -> Mapping[str, Listener]:
        """Return the caller's live subscriptions by their ids."""
        ...

    def ask(self, owner: Principal, changes: Mapping[str, str], at: datetime) -> list[str]:
        """Mark subscriptions: there is news. Return those that need a message, because none is on its way.

        `changes`: by the id of the subscription, the change for which the message is to be sent.

        For the same change, the same subscriptions need one, until they are claimed.
        """
        ...

    def reserve(self, owner: Principal, subscription_id: str, at: datetime, most: int) -> bool:
        """Reserve the place of a subscription for the request that will write it; False if all places are taken.

        A live subscription has its place. A place without one is free after `RESERVATION`.

        Raises:
            StoreBusy: too many requests of this caller at the same time; retry.
        """
        ...

    def begin(self, subscription: Subscription) -> None:
        """Write a new subscription, whose place this request has reserved."""
        ...

    def refresh(self, subscription: Subscription) -> None:
        """Write a refreshed subscription, whose place this request has reserved; the position stays as stored.

        Its message is trusted no more: what there is may be delivered at once.
        """
        ...

    def delete(self, owner: Principal, subscription_id: str) -> bool:
        """Delete a subscription; return whether there was one."""
        ...

    def claim(
        self, owner: Principal, subscription_id: str, carrier: str, at: datetime, until: datetime
    ) -> Subscription | None:
        """Take the right to deliver until a time, and the mark; None if no subscription is live, or another delivers.

        Idempotent for the same carrier and the same times.
        """
        ...

    def finish(self, subscription: Subscription, until: datetime) -> bool:
        """Save the position and the standing, and give back a claim: the subscription has no message any more.

        If there is news, take the mark, keep the claim and return False. Do nothing if the claim is another's by now,
        or the subscription was deleted.
        """
        ...

    def pause(self, subscription: Subscription, until: datetime, resumes_at: datetime) -> bool:
        """Save the position and the standing, and give back a claim: its message comes again at a time.

        Return False if it was refreshed since the claim: then its standing is that of the refresh, and only the
        position is saved. Do nothing if the claim is another's by now, or the subscription was deleted.
        """
        ...

    def is_verified(self, owner: Principal, url: str, at: datetime) -> bool:
        """Tell whether an endpoint has proved itself to this caller."""
        ...

    def set_verified(self, owner: Principal, url: str, until: datetime) -> None:
        """Remember that an endpoint has proved itself."""
        ...


class Answer(Struct, frozen=True):
    """What an endpoint answered; only verification reads the body."""

    status: int
    body: bytes = b""
    again_after: timedelta = NO_TIME
    """How long it asks to be left alone (`Retry-After`)."""


class Endpoints(Protocol):
    """Sends one POST to a webhook's endpoint, within limits of time and size, to public addresses only."""

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a body.

        Raises:
            NotReached: no answer; says why in a category.
            NotPublic: the address is not public, so nothing was sent.
        """
        ...


class NotReached(Exception):
    """An endpoint gave no answer; `category` is one of those that callers may see."""

    def __init__(self, category: str) -> None:
        """Keep the category."""
        super().__init__(category)
        self.category = category


class NotPublic(NotReached):
    """The address of an endpoint is not public."""

    def __init__(self) -> None:
        """Show callers what they would see if nobody listened there."""
        super().__init__("connection_refused")


Ring: TypeAlias = Callable[[Principal, Iterable[str]], None]
"""Lets the function `webhooks` look after subscriptions, by the caller and their ids."""
