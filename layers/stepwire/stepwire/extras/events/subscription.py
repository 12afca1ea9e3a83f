"""A webhook subscription, how its deliveries stand, and what is posted: with the headers of Standard Webhooks.

Pure: what a caller may give as an endpoint, and what follows from an attempt, is decided here.
"""

import base64
import binascii
import hashlib
import ipaddress
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from stepwire.changes import CallerEvent
from stepwire.codec import NO_TIME
from stepwire.errors import InvalidParams
from stepwire.extras.events.events import RETENTION, Filter, Position, Recorded, cursor_of, matches, written
from stepwire.hooks import Kept
from stepwire.json_text import Json, JsonObject, write
from stepwire.principal import Principal
from stepwire.rendering import timestamp
from stepwire.tasks.limiter import rests_until
from stepwire.tracing import Trace

MOST_SUBSCRIPTIONS: Final = 100  # of one caller
USUAL_TTL: Final = timedelta(days=1)
SHORTEST_TTL: Final = timedelta(minutes=5)
LONGEST_SUBSCRIPTION: Final = RETENTION
RESERVATION: Final = timedelta(minutes=1)
"""How long the place of a subscription is reserved for the request that writes it; longer than a request may take."""
ROTATION: Final = timedelta(hours=1)
"""How long deliveries are signed with the previous secret too."""
VERIFIED: Final = timedelta(days=7)
"""How long an endpoint that has proved itself need not do so again for the same caller."""
PATIENCE: Final = timedelta(days=1)
"""How long deliveries are retried before they are suspended."""
SLOW: Final = timedelta(seconds=3)
"""A receiver that takes longer to answer gets a rest, as a caller does (`limiter`): 100 slow receivers of one caller
are 10 deliveries at a time."""
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
LONGEST_URL: Final = 2_048  # characters
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - how each secret begins
_SECRET_BYTES: Final = range(24, 65)
_HTTPS_PORT: Final = 443
_LOCAL_HOSTS: Final = ("127.0.0.1", "localhost")
# Python calls some of these global: they lead to other networks, or to an IPv4 address inside.
_NOT_PUBLIC: Final = (
    *("192.0.0.0/24", "192.88.99.0/24", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fec0::/10"),
    *("::/96", "100.64.0.0/10", "168.63.129.16/32", "fd00:ec2::/32"),
)
_NETWORKS: Final = tuple(map(ipaddress.ip_network, _NOT_PUBLIC))


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
    refusals: int = 0
    """Of those failures, answers that refuse the event (4xx)."""

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
        rests = rests_until(None, took, at, SLOW)
        return self if rests is None else replace(self, next_attempt_at=rests, retried_by=carrier)

    def after_failure(
        self, error: str, at: datetime, carrier: str, again_after: timedelta = NO_TIME, *, is_refusal: bool = False
    ) -> "Standing":
        """Return the standing after a failed attempt; suspended when patience is at its end.

        `again_after`: how long the receiver asks to be left alone.
        """
        since = self.failing_since or at
        pause = min(max(_FIRST_PAUSE * 3 ** min(self.failures, 20), again_after), _LONGEST_PAUSE)
        next_at = at + pause if at + pause <= since + PATIENCE else None
        return replace(
            self,
            failures=self.failures + 1,
            next_attempt_at=next_at,
            failing_since=since,
            last_error=error,
            retried_by=carrier,
            refusals=self.refusals + is_refusal,
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
    person: str = ""
    """The digest that stands for the person who calls, where that is something else than the owner."""
    oldest: datetime | None = None
    """The caller wants no events from before then; None: all since the position."""

    def __repr__(self) -> str:
        return f"Subscription({self.id!r})"  # its secrets are for no log

    @property
    def id(self) -> str:
        """The same for the same caller, URL, type and arguments."""
        return subscription_id_of(self.owner, self.url, self.wanted)

    def wants(self, event: CallerEvent) -> bool:
        """Tell whether an event is delivered."""
        return matches(event, self.wanted) and (self.oldest is None or event.at >= self.oldest)

    def secrets(self, at: datetime) -> tuple[str, ...]:
        """Return the secrets that sign now: the current one first."""
        is_rotating = self.previous_secret and self.previous_until is not None and at < self.previous_until
        return (self.secret, self.previous_secret) if is_rotating and self.previous_secret else (self.secret,)

    def shown(self) -> Kept:
        """Return what is shown of it to an operator."""
        standing = self.standing.shown()
        data: JsonObject = {
            "id": self.id,
            "event": self.wanted.name,
            "arguments": self.wanted.arguments,
            "url": self.url,
            "expiresAt": self.expires_at.isoformat(),
            "deliveryStatus": standing,
        }
        state = "active" if standing["active"] else "suspended"
        words = f"{self.id}  {self.wanted.name}  {state} until {self.expires_at:%Y-%m-%d}"
        return Kept(data, words, self.expires_at)

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
    return LONGEST_SUBSCRIPTION if asked is None else min(max(asked, SHORTEST_TTL), LONGEST_SUBSCRIPTION)


def verdict_on(status: int, refusals: int) -> Verdict:
    """Return what follows from an endpoint's answer, after so many that refused the same event."""
    if is_success(status):
        return Verdict.DELIVERED
    if status in _FINAL:
        return Verdict.SKIP
    return Verdict.SKIP if is_refusal(status) and refusals + 1 >= _REFUSALS else Verdict.RETRY


def is_success(status: int) -> bool:
    """Tell whether an endpoint has taken what it was sent."""
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def is_refusal(status: int) -> bool:
    """Tell whether an endpoint refuses what it was sent, perhaps for good."""
    return not is_success(status) and category_of(status) == _REFUSED and status not in _PASSING


def category_of(status: int) -> str:
    """Return the category of a failure that callers may see; a redirect is not followed, and counts as a refusal."""
    return _REFUSED if status < HTTPStatus.INTERNAL_SERVER_ERROR else "http_5xx"


class Message(Struct, frozen=True):
    """A body, and the id by which its receiver drops duplicates."""

    id: str
    body: str
    trace: Trace | None = None
    """What the receiver continues."""


def event_message(subscription: Subscription, recorded: Recorded) -> Message:
    """Return the message of an event. Its cursor is that of the last delivery, so it is safe to keep."""
    event = written(recorded.event, subscription.wanted.name)
    cursor = cursor_of(subscription.owner, subscription.position)
    # The latest text of SEP-3415 wants an id for each message, ChatGPT and the AI SDK want the event's: they are equal.
    return Message(str(event["eventId"]), write({**event, "cursor": cursor}), recorded.event.trace)


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
        **(message.trace.context if message.trace else {}),
    }


class Endpoint(Struct, frozen=True):
    """A checked URL, in the parts that a connection needs."""

    host: str
    port: int
    target: str
    """Path and query, as sent."""
    is_tls: bool


def endpoint_of(url: Json, *, allows_local: bool) -> Endpoint:
    """Return the endpoint of a webhook's URL.

    Args:
        url: what the caller gave.
        allows_local: whether plain HTTP to this machine is allowed too; only the local stack may.

    Raises:
        InvalidParams: it is none that Stepwire delivers to.
    """
    if not isinstance(url, str) or not 0 < len(url) <= LONGEST_URL:
        raise InvalidParams(f"params.delivery.url must be a URL of at most {LONGEST_URL} characters.")
    if not url.isascii() or any(character <= " " or character in "\x7f\\" for character in url):
        raise InvalidParams("params.delivery.url must consist of printable ASCII, without spaces.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidParams("params.delivery.url is not a URL.") from None
    if parts.username is not None or parts.password is not None or parts.fragment or not host:
        raise InvalidParams("params.delivery.url must have a host, no user or password, and no fragment.")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if allows_local and parts.scheme == "http" and host in _LOCAL_HOSTS:
        return Endpoint(host, port or 80, target, is_tls=False)
    if parts.scheme != "https" or port not in (None, _HTTPS_PORT):
        raise InvalidParams("params.delivery.url must begin with https:// and use port 443.")
    return Endpoint(host, _HTTPS_PORT, target, is_tls=True)


def check_secret(secret: Json) -> str:
    """Return the secret that signs a webhook's deliveries.

    Raises:
        InvalidParams: it is not whsec_ and base64 of 24 to 64 bytes.
    """
    if isinstance(secret, str) and secret.startswith(SECRET_PREFIX):
        try:
            octets = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            octets = b""
        if len(octets) in _SECRET_BYTES:
            return secret
    raise InvalidParams("params.delivery.secret must be whsec_ followed by base64 of 24 to 64 random bytes.")


def is_public(address: str) -> bool:
    """Tell whether an IP address is reached through the public internet, and leads nowhere else."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if "%" in address or not found.is_global or found.is_multicast or found.is_reserved:
        return False
    return not any(found.version == network.version and found in network for network in _NETWORKS)
