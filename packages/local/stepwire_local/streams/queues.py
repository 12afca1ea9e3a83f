"""Event source mappings from a queue: deliver its messages to a function, and delete those that were processed.

The rules are Lambda's: a message that no filter lets through is deleted; one of a failed batch becomes visible again,
until the queue's redrive policy moves it to the dead-letter queue. It becomes visible after a second here, not after
the queue's visibility timeout, unless the function has hidden the message itself.
"""

import base64
import json
import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from moto.events.models import EventPattern
from moto.sqs.models import sqs_backends

from stepwire_local.activity import Activity, counted, tell
from stepwire_local.iam.clients import aws_client
from stepwire_local.lambdas.invocations import Outcome, Returned
from stepwire_local.streams.mappings import Target
from stepwire_local.streams.records import is_success
from stepwire_local.stubs.owners import name_of

logger = logging.getLogger(__name__)

_PAUSE: Final = 0.1  # seconds between two looks at the queue
_RETRY_AFTER: Final = 1  # seconds


@dataclass(frozen=True)
class QueueMappingSettings:
    """The template's settings of a mapping."""

    queue_arn: str
    function: Target
    batch_size: int = 10
    filters: tuple[EventPattern, ...] = ()  # a message must match one of them; empty: every message matches
    reports_failures: bool = False


class QueueMapping:
    """Delivers the messages of one queue to one function, in its own thread."""

    def __init__(self, settings: QueueMappingSettings) -> None:
        self._settings: Final = settings
        _, _, _, self._region, self._account, self._name = settings.queue_arn.split(":")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queue", daemon=True)
        self._is_delivering = False

    def start(self) -> None:
        """Start delivering."""
        self._thread.start()

    def stop(self) -> None:
        """Stop delivering, without waiting for the current batch."""
        self._stopping.set()

    def has_caught_up(self) -> bool:
        """Return whether every message that is due has been processed; a delayed one is not."""
        # In this order: a message that is no longer due is one that is being delivered, or was.
        return self._stopping.is_set() or (not self._due() and not self._is_delivering)

    def _due(self) -> bool:
        queue: Any = sqs_backends[self._account][self._region].queues.get(self._name)
        return queue is not None and any(one.visible and not one.delayed for one in list(queue._messages))  # noqa: SLF001 - moto shows them nowhere else

    def _run(self) -> None:
        while not self._stopping.wait(_PAUSE):
            if not self._due():
                continue
            self._is_delivering = True
            try:
                self._deliver()
            except Exception:
                logger.exception("Messages of %s could not be delivered.", self._settings.queue_arn)
            finally:
                self._is_delivering = False

    def _deliver(self) -> None:
        sqs: Any = aws_client("sqs", self._region)
        url = sqs.get_queue_url(QueueName=self._name)["QueueUrl"]
        most = min(self._settings.batch_size, 10)
        everything = {"AttributeNames": ["All"], "MessageAttributeNames": ["All"]}
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=most, **everything).get("Messages", [])
        records = {one["MessageId"]: self._record(one) for one in received}
        messages = [one for one in received if self._lets_through(records[one["MessageId"]])]
        for one in received:
            if one not in messages:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
        if not messages:
            return
        event = {"Records": [records[one["MessageId"]] for one in messages]}
        queue, function = name_of(self._settings.queue_arn), name_of(self._settings.function.arn)
        tell(Activity("queue", queue, function, counted(len(messages), "message")))
        hidden = self._hidden_until()
        failed = self._failed(self._settings.function.invoke(json.dumps(event)), messages)
        hidden_now = self._hidden_until()
        for one in messages:
            handle = {"QueueUrl": url, "ReceiptHandle": one["ReceiptHandle"]}
            if one["MessageId"] in failed:
                if hidden.get(one["MessageId"]) != hidden_now.get(one["MessageId"]):
                    continue
                sqs.change_message_visibility(VisibilityTimeout=_RETRY_AFTER, **handle)
            else:
                sqs.delete_message(**handle)

    def _lets_through(self, record: Mapping[str, Any]) -> bool:
        body: Any = record["body"]
        with suppress(ValueError):  # a filter sees JSON as what it says
            body = json.loads(body)
        filters: Any = self._settings.filters
        return not filters or any(pattern.matches_event({**record, "body": body}) for pattern in filters)

    def _hidden_until(self) -> dict[str, float]:
        queue: Any = sqs_backends[self._account][self._region].queues[self._name]
        return {one.id: one.visible_at for one in list(queue._messages)}  # noqa: SLF001 - as above

    def _record(self, message: dict[str, Any]) -> dict[str, Any]:
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message.get("Attributes", {}),
            "messageAttributes": {
                name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()
            },
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self._settings.queue_arn,
            "awsRegion": self._region,
        }

    def _failed(self, outcome: Outcome, messages: list[dict[str, Any]]) -> set[str]:
        """Return the ids of the messages to deliver again."""
        if not isinstance(outcome, Returned):
            return {one["MessageId"] for one in messages}
        if not self._settings.reports_failures or is_success(result := json.loads(outcome.payload)):
            return set()
        named = set[Any]()
        with suppress(KeyError, TypeError):
            named = {one["itemIdentifier"] for one in result["batchItemFailures"]}
        return named if named and all(named) else {one["MessageId"] for one in messages}  # a report that cannot be read


def _attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an attribute of a message as events have it."""
    text = {"stringValue": value["StringValue"]} if "StringValue" in value else {}
    binary = {"binaryValue": base64.b64encode(value["BinaryValue"]).decode()} if "BinaryValue" in value else {}
    return {**text, **binary, "stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
