"""The composition root of function webhooks, which takes messages of the queue and delivers to subscriptions.

A batch's subscriptions are looked after at the same time, each in a thread of its own. While a receiver does not
answer, the invocation takes further messages itself: so a slow receiver holds a thread, and no other receiver waits
for it (docs/decisions/0047-one-way-to-deliver.md). A message that must be taken again stays in the queue, hidden until
then.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from stepwire.aws.bootstrap import SystemClock, log_fault, new_logger
from stepwire.aws.clients import patient_dynamodb_client, sqs_client
from stepwire.aws.publishing.audit_log import metrics_in_line
from stepwire.aws.publishing.doorbells import bell_of
from stepwire.aws.publishing.endpoints import HttpsEndpoints
from stepwire.aws.publishing.signatures import sign
from stepwire.aws.settings import read_allows_local, read_table_name, read_webhook_queue
from stepwire.aws.storage.event_store import DynamoDbEventStore
from stepwire.aws.storage.subscription_store import DynamoDbSubscriptionStore
from stepwire.json_text import write
from stepwire.subscriptions.delivering import Delivering, Done, Outcome

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

IS_SLOW_AFTER: Final = 0.25
"""Seconds after which an invocation that still waits for receivers takes further messages."""
TAKES_MORE_FOR: Final = 20.0
"""Seconds for which it does so. A message that was taken last may need 40 more, and the function has 90."""
MOST_AT_ONCE: Final = 50
"""Deliveries of one invocation at the same time."""
LARGEST_BATCH: Final = 10  # messages that SQS returns at once
_LONG_POLL: Final = 1  # second
_LONGEST_HIDDEN: Final = timedelta(hours=11)  # SQS hides a message for at most 12 hours


class WebhooksHandler:
    """Handles messages of the queue."""

    def __init__(self, is_slow_after: float = IS_SLOW_AFTER) -> None:
        """Build nothing yet."""
        self._is_slow_after = is_slow_after

    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Deliver for each message; those that must be taken again are reported as failed."""
        until = time.monotonic() + TAKES_MORE_FOR
        with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
            taken = [_begun(pool, self._take, record) for record in event["Records"]]
            waiting = wait(taken, self._is_slow_after).not_done
            while waiting and time.monotonic() < until:
                more = self._receive(MOST_AT_ONCE - len(waiting))
                if more is None:
                    break
                waiting |= {_begun(pool, self._take_received, record) for record in more}
                waiting = wait(waiting, 0, FIRST_COMPLETED).not_done
        left = [one.result() for one in taken]
        return {"batchItemFailures": [{"itemIdentifier": one} for one in left if one is not None]}

    def _receive(self, most: int) -> list[dict[str, Any]] | None:
        """Return up to `most` further messages, as records of a batch; None if there is no room, or after a fault."""
        if most <= 0:
            return None
        try:
            found = self._queue.receive_message(
                QueueUrl=read_webhook_queue(os.environ),
                MaxNumberOfMessages=min(most, LARGEST_BATCH),
                WaitTimeSeconds=_LONG_POLL,
            )
        except Exception as fault:  # noqa: BLE001 - the batch goes on, and other invocations take the messages
            log_fault(fault, "further messages could not be received", "batch goes on", self._logger)
            return None
        return [
            {"messageId": one["MessageId"], "receiptHandle": one["ReceiptHandle"], "body": one["Body"]}
            for one in found.get("Messages", [])
        ]

    def _take_received(self, record: dict[str, Any]) -> None:
        """Deliver for a message that this invocation has received itself, and delete it unless it is taken again."""
        if self._take(record) is not None:
            return
        try:
            self._queue.delete_message(QueueUrl=read_webhook_queue(os.environ), ReceiptHandle=record["receiptHandle"])
        except Exception as fault:  # noqa: BLE001 - it comes again, and there is nothing to deliver then
            log_fault(fault, "a message could not be deleted", "it comes again", self._logger)

    def _take(self, record: dict[str, Any]) -> str | None:
        """Deliver for one message; return its id if it must be taken again."""
        message_id: str = record["messageId"]
        try:
            bell = bell_of(record["body"])
            if bell is None:
                self._logger.warning("a message of the queue names no subscription: it is dropped")
                return None
            done = self._delivering.deliver(bell.owner, bell.subscription_id, message_id)
            _count(bell.subscription_id, done)
            if done.again_after is None:
                return None
            self._hide(record["receiptHandle"], done.again_after)
        except Exception as fault:  # noqa: BLE001 - the message is taken again
            log_fault(fault, "events could not be delivered", "delivery postponed", self._logger)
            write_counts({"WebhookFaults": 1}, {})
        return message_id

    def _hide(self, receipt: str, span: timedelta) -> None:
        self._queue.change_message_visibility(
            QueueUrl=read_webhook_queue(os.environ),
            ReceiptHandle=receipt,
            VisibilityTimeout=round(min(span, _LONGEST_HIDDEN).total_seconds()),
        )

    @cached_property
    def _delivering(self) -> Delivering:
        table = read_table_name(os.environ)
        return Delivering(
            DynamoDbEventStore(table, patient_dynamodb_client),
            DynamoDbSubscriptionStore(table, patient_dynamodb_client),
            HttpsEndpoints(allows_local=read_allows_local(os.environ)),
            sign,
            SystemClock(),
            os.urandom,
        )

    @cached_property
    def _queue(self) -> Any:
        return sqs_client()

    @cached_property
    def _logger(self) -> "Logger":
        return new_logger()


def _begun(pool: ThreadPoolExecutor, act: Callable[[dict[str, Any]], Any], record: dict[str, Any]) -> Future[Any]:
    """Begin in the context of the invocation, which the local stack needs for its settings and permissions."""
    return pool.submit(copy_context().run, act, record)


_METRICS: Final[Mapping[Outcome, str]] = {
    Outcome.FAILED: "WebhooksFailed",
    Outcome.SUSPENDED: "WebhooksSuspended",
}


def _count(subscription_id: str, done: Done) -> None:
    """Write a line with the metrics of one message: ids and counts, and nothing of the endpoint."""
    counts = {"EventsDelivered": done.delivered, "EventsRefused": done.skipped}
    counts |= {_METRICS[done.outcome]: 1} if done.outcome in _METRICS else {}
    counts = {name: count for name, count in counts.items() if count}
    if counts:
        write_counts(counts, {"subscription": subscription_id, "outcome": done.outcome.value})


def write_counts(counts: Mapping[str, int], about: Mapping[str, str]) -> None:
    """Write a line with metrics: ids and counts, and nothing of an endpoint."""
    service = os.environ.get("POWERTOOLS_SERVICE_NAME", "")
    described = metrics_in_line(["service"], dict.fromkeys(counts, "Count"))
    sys.stdout.write(write({**described, "service": service, **about, **counts}) + "\n")
