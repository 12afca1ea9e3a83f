"""Event source mappings from a queue to a function: batches of messages, with partial failures and redelivery.

The rules are Lambda's: what a function has not reported as failed is deleted; the rest becomes visible again when its
time is over, until the queue's redrive policy takes it. One batch at a time, so a slow function delays the next batch
more than in AWS.
"""

import json
import logging
import threading
from dataclasses import dataclass
from typing import Any, Final

from moto.sqs.models import sqs_backends

from local.iam.clients import aws_client
from local.lambdas.functions import Outcome, Returned
from local.streams.mappings import Target

logger = logging.getLogger(__name__)

_PAUSE: Final = 0.1  # seconds between two looks at an empty queue


@dataclass(frozen=True)
class QueueSettings:
    """The template's settings of a mapping."""

    queue_arn: str
    function: Target
    batch_size: int = 10
    reports_failures: bool = False


class QueueMapping:
    """Delivers the messages of one queue to one function, in its own thread."""

    def __init__(self, settings: QueueSettings) -> None:
        self._settings: Final = settings
        _, _, _, self._region, self._account, self._queue = settings.queue_arn.split(":", 5)
        self._stopping = threading.Event()
        self._idle = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queue", daemon=True)

    def start(self) -> None:
        """Start delivering."""
        self._thread.start()

    def stop(self) -> None:
        """Stop delivering, without waiting for the current batch."""
        self._stopping.set()

    def has_caught_up(self) -> bool:
        """Return whether no message waits, other than those that are hidden until later."""
        return self._idle.is_set() and not self._waits()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._waits():
                    self._idle.clear()
                    self._carry_on()
                    continue
            except Exception:
                logger.exception("Messages of %s could not be delivered.", self._settings.queue_arn)
            self._idle.set()
            self._stopping.wait(_PAUSE)

    def _waits(self) -> bool:
        backend: Any = sqs_backends[self._account][self._region]
        queue = backend.queues.get(self._queue)
        return queue is not None and any(message.visible and not message.delayed for message in queue.messages)

    def _carry_on(self) -> None:
        sqs = aws_client("sqs", self._region)
        url = sqs.get_queue_url(QueueName=self._queue)["QueueUrl"]
        messages: list[dict[str, Any]] = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=min(10, self._settings.batch_size), AttributeNames=["All"]
        ).get("Messages", [])
        if not messages:
            return
        outcome = self._settings.function.invoke(json.dumps({"Records": [self._record(one) for one in messages]}))
        left = self._left(outcome)
        for one in messages:
            if left is not None and one["MessageId"] not in left:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])

    def _left(self, outcome: Outcome) -> set[str] | None:
        """Return the ids of the messages that the function reports as failed; None if all are."""
        if not isinstance(outcome, Returned):
            return None
        if not self._settings.reports_failures:
            return set()
        answer: Any = json.loads(outcome.payload) or {}
        return {failure["itemIdentifier"] for failure in answer.get("batchItemFailures", ())}

    def _record(self, message: dict[str, Any]) -> dict[str, Any]:
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message.get("Attributes", {}),
            "messageAttributes": {},
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self._settings.queue_arn,
            "awsRegion": self._region,
        }
