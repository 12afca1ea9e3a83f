"""The two queues of SQS: wake-ups of tasks, and doorbells, which ask function webhooks for deliveries.

A message names a task or a subscription, and nothing of its data. SQS delivers it after its delay, to the second. No
function runs meanwhile; Lambda polls the queues, empty or not. A delay is at most 15 minutes: whoever gets a message
too early sends the next one.
"""

import json
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from stepwire.errors import StoreBusy, WakeUpsUnavailable
from stepwire.json_text import JsonTextError, as_object, parse, write
from stepwire.principal import PRINCIPAL_PATTERN, Principal
from stepwire.tasks.ids import TaskId, TaskKey

_AT_ONCE: Final = 10  # messages of SendMessageBatch
_LONGEST_DELAY: Final = 900  # seconds
_SECOND: Final = timedelta(seconds=1)


class SqsWakeUps(Struct, frozen=True, dict=True):
    """Wake-ups in a queue. The client is built on the first call: few tasks need one."""

    queue_url: str
    build_client: Callable[[], Any]

    @cached_property
    def _client(self) -> Any:
        return self.build_client()

    def schedule(self, key: TaskKey, delay: timedelta, run: int = 0) -> None:
        """Send a message with a delay in whole seconds, rounded up."""
        body = json.dumps({"owner": key.owner, "task_id": key.task_id, **({"run": run} if run else {})})
        try:
            self._client.send_message(QueueUrl=self.queue_url, MessageBody=body, DelaySeconds=_seconds(delay))
        except (ClientError, BotoCoreError) as error:
            raise WakeUpsUnavailable from error


def wake_up_of(message: dict[str, Any]) -> tuple[TaskKey, int]:
    """Return the task that a message wakes, and the index of its run."""
    body = json.loads(message["body"])
    return TaskKey(Principal(body["owner"]), TaskId(body["task_id"])), body.get("run", 0)


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
        self.client.send_message(QueueUrl=self.queue_url, MessageBody=write(body), DelaySeconds=_seconds(span))


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


def _seconds(delay: timedelta) -> int:
    """Return a delay that SQS takes: whole seconds, rounded up."""
    return min(max(-(-delay // _SECOND), 0), _LONGEST_DELAY)
