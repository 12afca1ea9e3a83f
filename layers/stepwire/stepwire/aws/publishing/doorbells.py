"""The queue of function webhooks. A message names a subscription, and nothing of its events."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from stepwire.errors import StoreBusy
from stepwire.json_text import JsonTextError, is_object, parse, write
from stepwire.principal import PRINCIPAL_PATTERN, Principal

_AT_ONCE: Final = 10  # of SendMessageBatch
_LONGEST_DELAY: Final = 900  # seconds, of SQS
_SECOND: Final = timedelta(seconds=1)


class Bell(Struct, frozen=True):
    """A message: a subscription may have something to deliver."""

    owner: Principal
    subscription_id: str
    carrier: str = ""
    """The id of the first message, if this is one that was sent again."""


class Doorbells(Struct, frozen=True, dict=True):
    """The queue. The client is built on the first call."""

    queue_url: str
    build_client: Callable[[], Any]

    @cached_property
    def _client(self) -> Any:
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
            if self._client.send_message_batch(QueueUrl=self.queue_url, Entries=entries).get("Failed"):
                raise StoreBusy

    def again(self, bell: Bell, span: timedelta) -> None:
        """Send a message again, after a time: at most 15 minutes, and whoever takes it too early does the same."""
        body = {"principal": bell.owner, "subscription": bell.subscription_id, "carrier": bell.carrier}
        seconds = min(-(-span // _SECOND), _LONGEST_DELAY)
        self._client.send_message(QueueUrl=self.queue_url, MessageBody=write(body), DelaySeconds=seconds)


def bell_of(body: str) -> Bell | None:
    """Return what a message asks for; None if it is none of ours."""
    try:
        value = parse(body)
    except JsonTextError:
        return None
    if not is_object(value):
        return None
    match value.get("principal"), value.get("subscription"):
        case str(owner), str(subscription_id) if PRINCIPAL_PATTERN.fullmatch(owner):
            carrier = value.get("carrier")
            return Bell(Principal(owner), subscription_id, carrier if isinstance(carrier, str) else "")
        case _:
            return None
