"""A webhook subscription, how its deliveries stand, and what is posted: with the headers of Standard Webhooks.

Pure: what follows from an attempt is decided here.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from http import HTTPStatus
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stepwire.json_text import JsonObject, write
from stepwire.principal import Principal
from stepwire.rendering import timestamp
from stepwire.subscriptions.events import Filter, Recorded
from stepwire.subscriptions.positions import RETENTION, Position, cursor_of

MOST_SUBSCRIPTIONS: Final = 100  # of one caller
USUAL_TTL: Final = timedelta(days=1)
SHORTEST_TTL: Final = timedelta(minutes=5)
LONGEST_TTL: Final = RETENTION
RESERVATION: Final = timedelta(minutes=1)
"""How long the place of a subscription is reserved for the request that writes it; longer than a request may take."""
ROTATION: Final = timedelta(hours=1)
"""How long deliveries are signed with the previous secret too."""
VERIFIED: Final = timedelta(days=7)
"""How long an endpoint that has proved itself need not do so again for the same caller."""
PATIENCE: Final = timedelta(days=1)
"""How long deliveries are retried before they are suspended."""
SLOW: Final = timedelta(seconds=3)
"""A receiver that takes longer to answer gets a rest."""
REST: Final = 9
"""How many times as long as its answer took: 100 slow receivers of one caller are 10 deliveries at a time."""
_FIRST_PAUSE: Final = timedelta(seconds=10)
_LONGEST_PAUSE: Final = timedelta(hours=4)
_REFUSALS: Final = 6
"""Attempts at one event that the endpoint refuses (4xx) before the event is passed over: 20 minutes."""
_REFUSED: Final = "http_4xx"
_FINAL: Final = frozenset({HTTPStatus.GONE, HTTPStatus.REQUEST_ENTITY_TOO_LARGE})
"""Answers that are never retried. They concern one event, and say nothing of the next."""
_PASSING: Final = frozenset({408, 409, 425, 429})


Sign: TypeAlias = Callable[[str, str, datetime, str], str]
"""Returns the signature of (secret, message id, time, body)."""


class Verdict(Enum):
    """What follows from an attempt."""

    DELIVERED = "delivered"
    RETRY = "retry"
    SKIP = "skip"
    """This event will never be taken."""


class Standing(Struct, frozen=True):
    """How the deliveries of a subscription stand."""

    failures: int = 0
    """Attempts that failed since the last success."""
    next_attempt_at: datetime | None = None
    """Not before then; None: at once, or never if it is failing."""
    failing_since: datetime | None = None
    last_error: str | None = None
    last_delivery_at: datetime | None = None
    retried_by: str | None = None
    """Which message of the queue carries the next attempt."""

    def is_suspended(self) -> bool:
        """Tell whether attempts have ended until the caller refreshes."""
        return self.failing_since is not None and self.next_attempt_at is None

    def shown(self) -> JsonObject:
        """Return this as `deliveryStatus`."""
        found: JsonObject = {
            "active": not self.is_suspended(),
            "lastDeliveryAt": None if self.last_delivery_at is None else timestamp(self.last_delivery_at),
            "lastError": self.last_error,
        }
        return found | ({} if self.failing_since is None else {"failedSince": timestamp(self.failing_since)})

    def after_success(self, at: datetime) -> "Standing":
        """Return the standing after a delivery."""
        return Standing(last_delivery_at=at)

    def after_skip(self, error: str) -> "Standing":
        """Return the standing after an event that the receiver will never take."""
        return Standing(last_error=error, last_delivery_at=self.last_delivery_at)

    def after_answer(self, took: timedelta, at: datetime, carrier: str) -> "Standing":
        """Return the standing after an answer that is not tried again; a slow receiver gets a rest."""
        return self if took <= SLOW else replace(self, next_attempt_at=at + REST * took, retried_by=carrier)

    def after_failure(self, error: str, at: datetime, carrier: str) -> "Standing":
        """Return the standing after a failed attempt; suspended when patience is at its end."""
        since = self.failing_since or at
        pause = min(_FIRST_PAUSE * 3 ** min(self.failures, 20), _LONGEST_PAUSE)
        next_at = at + pause if at + pause <= since + PATIENCE else None
        return replace(
            self,
            failures=self.failures + 1,
            next_attempt_at=next_at,
            failing_since=since,
            last_error=error,
            retried_by=carrier,
        )


class Subscription(Struct, frozen=True):
    """What a caller wants to be told, and where."""

    owner: Principal
    wanted: Filter
    url: str
    secret: str
    expires_at: datetime
    position: Position
    """All changes up to here were delivered, or passed over."""
    previous_secret: str | None = None
    previous_until: datetime | None = None
    standing: Standing = Standing()

    def __repr__(self) -> str:
        return f"Subscription({self.id!r})"  # its secrets are for no log

    @property
    def id(self) -> str:
        """The same for the same caller, URL, type and arguments."""
        return subscription_id_of(self.owner, self.url, self.wanted)

    def secrets(self, at: datetime) -> tuple[str, ...]:
        """Return the secrets that sign now: the current one first."""
        is_rotating = self.previous_secret and self.previous_until is not None and at < self.previous_until
        return (self.secret, self.previous_secret) if is_rotating and self.previous_secret else (self.secret,)

    def refreshed(self, secret: str, expires_at: datetime, at: datetime) -> "Subscription":
        """Return the subscription after its caller has renewed it; attempts go on if they were suspended."""
        rotated = (
            replace(self, secret=secret, previous_secret=self.secret, previous_until=at + ROTATION)
            if secret != self.secret
            else self
        )
        return replace(
            rotated, expires_at=expires_at, standing=Standing(last_delivery_at=self.standing.last_delivery_at)
        )


def subscription_id_of(owner: Principal, url: str, wanted: Filter) -> str:
    """Return the id of a subscription; `arguments` are compared by their canonical JSON."""
    key = json.dumps([owner, url, wanted.name, wanted.arguments], sort_keys=True, separators=(",", ":"))
    return f"sub_{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def granted(asked: timedelta | None, *, is_given: bool) -> timedelta:
    """Return the lifetime of a subscription; one without an end is never granted."""
    if not is_given:
        return USUAL_TTL
    return LONGEST_TTL if asked is None else min(max(asked, SHORTEST_TTL), LONGEST_TTL)


def verdict_on(status: int, failures: int) -> Verdict:
    """Return what follows from an endpoint's answer.

    Args:
        status: the HTTP status.
        failures: earlier attempts at the same event.
    """
    if is_success(status):
        return Verdict.DELIVERED
    if status in _FINAL:
        return Verdict.SKIP
    is_refused = category_of(status) == _REFUSED and status not in _PASSING
    return Verdict.SKIP if is_refused and failures + 1 >= _REFUSALS else Verdict.RETRY


def is_success(status: int) -> bool:
    """Tell whether an endpoint has taken what it was sent."""
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def category_of(status: int) -> str:
    """Return the category of a failure that callers may see; a redirect is not followed, and counts as a refusal."""
    return _REFUSED if status < HTTPStatus.INTERNAL_SERVER_ERROR else "http_5xx"


class Message(Struct, frozen=True):
    """A body, and the id by which its receiver drops duplicates."""

    id: str
    body: str


def event_message(subscription: Subscription, recorded: Recorded) -> Message:
    """Return the message of an event. Its cursor is that of the last delivery, so it is safe to keep."""
    event = recorded.change.event(subscription.wanted.name)
    cursor = cursor_of(subscription.owner, subscription.position)
    # The latest text of SEP-3415 wants an id for each message, ChatGPT and the AI SDK want the event's: they are equal.
    return Message(str(event["eventId"]), write({**event, "cursor": cursor}))


def control_message(kind: str, random: bytes, members: JsonObject) -> Message:
    """Return a control envelope, such as `verification` and `gap`."""
    return Message(f"msg_{kind}_{random.hex()}", write({"type": kind, **members}))


def headers_of(subscription: Subscription, message: Message, at: datetime, sign: Sign) -> Mapping[str, str]:
    """Return the headers of one attempt, signed now: by the previous secret too during a rotation."""
    signatures = [sign(secret, message.id, at, message.body) for secret in subscription.secrets(at)]
    return {
        "content-type": "application/json",
        "user-agent": "stepwire",
        "webhook-id": message.id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
        "x-mcp-subscription-id": subscription.id,
    }
