"""The queue of function webhooks: a message is a doorbell, which asks for deliveries to a subscription.

It names a subscription, and nothing of its data. Lambda polls the queue, empty or not. Whoever gets a message too early
sends it again.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from stepwire.aws.queues import seconds_of
from stepwire.errors import StoreBusy
from stepwire.json_text import JsonTextError, as_object, parse, write
from stepwire.principal import PRINCIPAL_PATTERN, Principal

_AT_ONCE: Final = 10  # messages of SendMessageBatch


class Bell(Struct, frozen=True):
    """A message: a subscription may have something to deliver."""

    owner: Principal
    subscription_id: str
    carrier: str = ""
    """The id of the first message, if this is one that was sent again."""


class Doorbells(Struct, frozen=True, dict=True):
    """The queue of function webhooks. The client is built on the first call."""

    queue_url: str
    build_client: Callable[[], Any]

    @cached_property
    def client(self) -> Any:
        """The client."""
        return self.build_client()

    def ring(self, owner: Principal, subscription_ids: Iterable[str]) -> None:
        """Ask for deliveries to subscriptions.

        Raises:
            StoreBusy: some messages were not taken; all may be sent again.
        """
        ids = list(subscription_ids)
        for start in range(0, len(ids), _AT_ONCE):
            entries = [
                {"Id": str(number), "MessageBody": write({"principal": owner, "subscription": one})}
                for number, one in enumerate(ids[start : start + _AT_ONCE])
            ]
            if self.client.send_message_batch(QueueUrl=self.queue_url, Entries=entries).get("Failed"):
                raise StoreBusy

    def again(self, bell: Bell, span: timedelta) -> None:
        """Send a message again, after a time: at most 15 minutes, and whoever takes it too early does the same."""
        body = {"principal": bell.owner, "subscription": bell.subscription_id, "carrier": bell.carrier}
        self.client.send_message(QueueUrl=self.queue_url, MessageBody=write(body), DelaySeconds=seconds_of(span))


def bell_of(body: str) -> Bell | None:
    """Return what a message asks for; None if it is none of ours."""
    try:
        value = as_object(parse(body))
    except JsonTextError:
        return None
    match value.get("principal"), value.get("subscription"):
        case str(owner), str(subscription_id) if PRINCIPAL_PATTERN.fullmatch(owner):
            carrier = value.get("carrier")
            return Bell(Principal(owner), subscription_id, carrier if isinstance(carrier, str) else "")
        case _:
            return None
