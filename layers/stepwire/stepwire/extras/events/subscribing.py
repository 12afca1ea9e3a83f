"""`events/subscribe` and `events/unsubscribe`: an endpoint proves that it wants deliveries before it gets one."""

import hmac
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.engine.limiter import WaitLimiter, express_places
from stepwire.engine.ports import Randomness
from stepwire.errors import InvalidParams
from stepwire.extras.events.events import Filter, Position, Start, cursor_of, start_of
from stepwire.extras.events.ports import Endpoints, EventStore, NotPublic, NotReached, Ring, SubscriptionStore
from stepwire.extras.events.refusals import CallbackEndpointError, EntityNotFound, ResourceExhausted
from stepwire.extras.events.subscription import (
    MOST_SUBSCRIPTIONS,
    VERIFIED,
    Sign,
    Subscription,
    category_of,
    control_message,
    headers_of,
    is_success,
    subscription_id_of,
)
from stepwire.json_text import JsonObject, JsonTextError, as_object, parse
from stepwire.principal import Principal
from stepwire.rendering import timestamp
from stepwire.tasks.limiter import Places, Refused
from stepwire.tasks.line import span

LONGEST_PROOF: Final = timedelta(seconds=3)
"""How long a request waits for the proof of an endpoint, with the resolution of its name."""
PROOFS: Final = "proofs "
"""The kind of the pools of requests that wait for the proof of an endpoint."""
_CHALLENGE_BYTES: Final = 24
_TOO_MANY: Final = (
    f"You have {MOST_SUBSCRIPTIONS} subscriptions, the most there may be: end one of them first. "
    "One that was begun and ended, or that failed, counts for a minute."
)


def proof_places(waits: Places) -> Places:
    """Return the places of such requests: as many as of calls of EXPRESS tools, and one if there are none."""
    return waits.resized(max(1, express_places(waits).all))


class Events(Struct, frozen=True):
    """What serves the methods of MCP Events."""

    record: EventStore
    subscribing: "Subscribing"
    allows_local: bool = False
    """Whether webhooks may lead to this machine; only the local stack may."""


class Asked(Struct, frozen=True):
    """What `events/subscribe` asks for, checked."""

    owner: Principal
    wanted: Filter
    url: str
    secret: str
    ttl: timedelta
    position: Position | None
    """None: from now on."""
    longest: timedelta | None = None
    """The caller wants no events that are older."""
    person: str = ""
    """As of `Subscription`."""

    def begun(self, position: Position, at: datetime) -> Subscription:
        """Return the subscription from a position on."""
        oldest = None if self.longest is None else at - self.longest
        ends = at + self.ttl
        return Subscription(
            self.owner, self.wanted, self.url, self.secret, ends, position, person=self.person, oldest=oldest
        )


class Subscribing(Struct, frozen=True):
    """Begins, refreshes and ends subscriptions."""

    record: EventStore
    store: SubscriptionStore
    endpoints: Endpoints
    sign: Sign
    ring: Ring
    randomness: Randomness
    count_call: Callable[[Principal], None]
    """Counts a call against the caller's rate, or refuses it: a challenge is a request to somebody else."""
    limiter: WaitLimiter
    """Places for requests that wait for the proof of an endpoint."""

    def subscribe(self, asked: Asked, at: datetime) -> JsonObject:
        """Begin a subscription, or refresh it: the same caller, URL, type and arguments are the same subscription.

        Raises:
            ResourceExhausted: the caller has too many.
            CallbackEndpointError: the endpoint has not proved itself.
            LimitReached: too many requests wait for proofs.
        """
        subscription_id = subscription_id_of(asked.owner, asked.url, asked.wanted)
        if not self.store.reserve(asked.owner, subscription_id, at, MOST_SUBSCRIPTIONS):
            raise ResourceExhausted(_TOO_MANY, "subscriptions", MOST_SUBSCRIPTIONS)
        found = self.store.load(asked.owner, subscription_id)
        old = found if found is not None and found.expires_at > at else None
        expires_at = at + asked.ttl
        head = self.record.open_record(asked.owner, at, expires_at)
        start = start_of(asked.position, head, at, asked.longest)
        if old is None:
            subscription = asked.begun(start.position, at)
        else:
            # A live subscription goes on where it is: the caller's cursor is never ahead of it.
            start = Start(old.position, is_truncated=False)
            subscription = replace(old.refreshed(asked.secret, expires_at, at), person=asked.person)
        self._verify(subscription, at)
        if old is None:
            self.store.begin(subscription)
        else:
            self.store.refresh(subscription)
        if subscription.position.number < head.number:
            self.ring(asked.owner, self.store.ask(asked.owner, {subscription.id: ""}, at))
        return {
            "id": subscription.id,
            "refreshBefore": timestamp(expires_at),
            "cursor": cursor_of(asked.owner, start.position),
            "truncated": start.is_truncated,
            **({} if old is None else {"deliveryStatus": old.standing.shown()}),
        }

    def unsubscribe(self, owner: Principal, wanted: Filter, url: str, at: datetime) -> None:
        """End a subscription.

        Raises:
            EntityNotFound: the caller has none for this type, these arguments and this URL.
        """
        subscription_id = subscription_id_of(owner, url, wanted)
        found = self.store.load(owner, subscription_id)
        if not self.store.delete(owner, subscription_id) or found is None or found.expires_at <= at:
            raise EntityNotFound(
                "There is no subscription for this event, these arguments and this URL.", "subscription"
            )

    def _verify(self, subscription: Subscription, at: datetime) -> None:
        owner, url = subscription.owner, subscription.url
        if self.store.is_verified(owner, url, at):
            return
        self.count_call(owner)
        challenge = self.randomness(_CHALLENGE_BYTES).hex()
        message = control_message("verification", self.randomness(8), {"challenge": challenge})
        held = self.limiter.acquire(owner, at + LONGEST_PROOF)
        if isinstance(held, Refused):
            raise held.error(
                "endpoints being verified",
                f"Too many endpoints are being verified at the moment. Try again in {span(held.retry_after)}.",
            )
        try:
            answer = self.endpoints.post(url, headers_of(subscription, message, at, self.sign), message.body.encode())
        except NotPublic:
            raise InvalidParams("params.delivery.url must lead to a public address.") from None
        except NotReached as fault:
            raise CallbackEndpointError("The endpoint was not reached.", fault.category) from None
        finally:
            self.limiter.release(held)
        if not is_success(answer.status):
            raise CallbackEndpointError("The endpoint refused the verification.", category_of(answer.status))
        if not _echoes(answer.body, challenge):
            raise CallbackEndpointError("The endpoint did not echo the challenge.", "challenge_failed")
        self.store.set_verified(owner, url, at + VERIFIED)


def _echoes(body: bytes, challenge: str) -> bool:
    """Tell whether an answer has the challenge. One that repeats the message has not read it: any echo does that."""
    try:
        answer = as_object(parse(body))
    except JsonTextError:
        return False
    echoed = answer.get("challenge")
    if "type" in answer:
        return False
    return isinstance(echoed, str) and hmac.compare_digest(echoed.encode(errors="replace"), challenge.encode())
