"""The composition root of function webhooks, which takes messages of the queue and delivers to subscriptions.

Which messages an invocation takes, and when each begins, says `delivering`
(docs/decisions/0047-one-way-to-deliver.md). A message that must come again is sent again with a delay: what comes after
its visibility timeout was received by an invocation that failed.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from stepwire.aws.audit_log import metrics_in_line, named
from stepwire.aws.bootstrap import refuses_of
from stepwire.aws.clients import patient_dynamodb_client, sqs_client
from stepwire.aws.invocations import SystemClock, builds_once, log_fault, new_logger
from stepwire.aws.settings import is_on, required
from stepwire.aws.storage.table import Table
from stepwire.engine.ports import refuses_nobody
from stepwire.extras.events.delivering import (
    IS_SLOW_AFTER,
    PLACES,
    Delivering,
    Delivery,
    Done,
    Job,
    Outcome,
    Taking,
)
from stepwire.extras.events.doorbells import Bell, Doorbells, bell_of
from stepwire.extras.events.endpoints import HttpsEndpoints, sign
from stepwire.extras.events.store import DynamoDbEventStore, DynamoDbSubscriptionStore
from stepwire.json_text import write
from stepwire.tracing import follow

if TYPE_CHECKING:
    from stepwire.aws.invocations import Logger

_LARGEST_BATCH: Final = 10  # messages that SQS returns at once
_LONG_POLL: Final = 1  # second
_WHEN_PUT_BACK: Final = timedelta(seconds=1)


class WebhooksHandler:
    """Handles messages of the queue."""

    def __init__(self, is_slow_after: float = IS_SLOW_AFTER) -> None:
        """Build nothing yet."""
        self._is_slow_after = is_slow_after

    @builds_once
    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Deliver for each message; those at which it failed are reported, so that they come again."""
        failed = list[str]()
        with ThreadPoolExecutor(PLACES.all) as pool:
            batch = self._jobs(event["Records"], lambda _record: None, failed.append)
            Taking(_Threads(pool), self._receive).run(batch, os.urandom(1)[0] / 255, self._is_slow_after)
        return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}

    def _receive(self, most: int) -> Sequence[Job] | None:
        """Return up to `most` further messages; None after a fault."""
        try:
            found = self._bells.client.receive_message(
                QueueUrl=self._bells.queue_url,
                MaxNumberOfMessages=min(most, _LARGEST_BATCH),
                WaitTimeSeconds=_LONG_POLL,
            )
        except Exception as fault:  # noqa: BLE001 - the batch goes on, and other invocations take the messages
            log_fault(fault, "further messages could not be received", "batch goes on", self._logger)
            return None
        records = [
            {"messageId": one["MessageId"], "receiptHandle": one["ReceiptHandle"], "body": one["Body"]}
            for one in found.get("Messages", [])
        ]
        return self._jobs(records, self._delete, lambda _id: None)

    def _jobs(
        self,
        records: Sequence[dict[str, Any]],
        done_with: Callable[[dict[str, Any]], None],
        has_failed: Callable[[str], None],
    ) -> list[Job]:
        """Return what messages ask for.

        Args:
            records: the messages.
            done_with: takes a message out of the queue, if Lambda does not.
            has_failed: is given the id of each that must come again.
        """
        jobs = list[Job]()
        for record in records:
            bell = bell_of(record["body"])
            if bell is None:
                self._logger.warning("a message of the queue names no subscription: it is dropped")
                done_with(record)
                continue
            carried = replace(bell, carrier=bell.carrier or record["messageId"])
            acts = (self._deliver, partial(self._again, span=_WHEN_PUT_BACK))
            deliver, put_back = (partial(self._do, act, carried, record, done_with, has_failed) for act in acts)
            jobs.append(Job(bell.owner, deliver, put_back))
        return jobs

    def _do(
        self,
        act: Callable[[Bell], None],
        bell: Bell,
        record: dict[str, Any],
        done_with: Callable[[dict[str, Any]], None],
        has_failed: Callable[[str], None],
    ) -> None:
        follow(None)  # this thread may have delivered an event of a trace before
        try:
            act(bell)
        except Exception as fault:  # noqa: BLE001 - the message comes again
            log_fault(fault, "events could not be delivered", "delivery postponed", self._logger)
            write_counts({"WebhookFaults": 1}, {})
            has_failed(record["messageId"])
            return
        done_with(record)

    def _deliver(self, bell: Bell) -> None:
        done = self._delivering.deliver(bell.owner, bell.subscription_id, bell.carrier)
        _count(bell.subscription_id, done)
        if done.again_after is not None:
            self._again(bell, done.again_after)

    def _again(self, bell: Bell, span: timedelta) -> None:
        self._bells.again(bell, span)

    def _delete(self, record: dict[str, Any]) -> None:
        """Delete a message that this invocation has received itself."""
        try:
            self._bells.client.delete_message(QueueUrl=self._bells.queue_url, ReceiptHandle=record["receiptHandle"])
        except Exception as fault:  # noqa: BLE001 - it comes again, and there is nothing to deliver then
            log_fault(fault, "a message could not be deleted", "it comes again", self._logger)

    @cached_property
    def _delivering(self) -> Delivering:
        table, clock = Table(required(os.environ, "TABLE_NAME"), patient_dynamodb_client), SystemClock()
        return Delivering(
            DynamoDbEventStore(table),
            DynamoDbSubscriptionStore(table),
            HttpsEndpoints(allows_local=is_on(os.environ, "LOCAL_WEBHOOKS")),
            sign,
            clock,
            os.urandom,
            refuses_of(table, self._report) or refuses_nobody,
            write_delivery,
        )

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "the list of blocked callers could not be read", "read again", self._logger)

    @cached_property
    def _bells(self) -> Doorbells:
        return Doorbells(required(os.environ, "WEBHOOK_QUEUE"), sqs_client)

    @cached_property
    def _logger(self) -> "Logger":
        return new_logger()


class _Threads:
    """Threads that work in the context of the invocation, which the local stack needs for its settings."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._at_work = set[Future[None]]()

    def begin(self, work: Callable[[], None]) -> None:
        """Begin to work."""
        self._at_work.add(self._pool.submit(copy_context().run, work))

    def wait(self, longest: float, *, until_all: bool = False) -> int:
        """Wait; return how many go on."""
        timeout = None if longest == float("inf") else longest
        ended, self._at_work = wait(self._at_work, timeout, ALL_COMPLETED if until_all else FIRST_COMPLETED)
        for one in ended:
            one.result()  # what is not answered for there fails the batch
        return len(self._at_work)

    def now(self) -> float:
        """Return a time in seconds."""
        return time.monotonic()


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


def write_delivery(delivery: Delivery) -> None:
    """Write a line about one attempt to deliver: the task, what came of it, and nothing of an endpoint."""
    trace = {"trace_id": delivery.trace.id} if delivery.trace else {}
    line = {
        "service": os.environ.get("POWERTOOLS_SERVICE_NAME", ""),
        "webhook": delivery.verdict.value,
        "event": delivery.event,
        "subscription": delivery.subscription_id,
        **named(delivery.task_id),
        **trace,
        "milliseconds": round(delivery.took.total_seconds() * 1000),
    }
    sys.stdout.write(write(line) + "\n")
    if is_on(os.environ, "SPANS"):
        from stepwire.extras.events.spans import write_delivery as write_span  # noqa: PLC0415 - off by default

        write_span(delivery)


def write_counts(counts: Mapping[str, int], about: Mapping[str, str]) -> None:
    """Write a line with metrics: ids and counts, and nothing of an endpoint."""
    service = os.environ.get("POWERTOOLS_SERVICE_NAME", "")
    described = metrics_in_line(["service"], dict.fromkeys(counts, "Count"))
    sys.stdout.write(write({**described, "service": service, **about, **counts}) + "\n")
