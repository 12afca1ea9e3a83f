"""Deliver again what waits in a stack's dead-letter queue, to the functions that should have got it.

Two shapes of messages are there. An event that EventBridge could not deliver, or that the function could not record, is
the event itself. Of tasks that expired there is only where their records lie in the stream of the table, which forgets
them after 24 hours. The rules: a message is deleted when its function has taken what it stands for, and not before, for
all of it is harmless if it comes twice; and nothing of an event is shown, for it may hold arguments and results.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final

from botocore.exceptions import ClientError

_HELD: Final = 300  # seconds that a message is kept from others, and from being read a second time
_AT_ONCE: Final = 25  # records in one event: the BatchSize of the template's mapping
_FORGOTTEN: Final = ("TrimmedDataAccessException", "ResourceNotFoundException")


class Fate(Enum):
    """What became of a message."""

    DELIVERED = "delivered"
    WAITING = "would be delivered"
    FAILED = "its function failed again: it stays"
    LOST = "the stream has forgotten its records: it stays"
    FORGOTTEN = "the stream has forgotten its records: deleted"
    UNKNOWN = "nobody knows what it is: it stays"


STAYS: Final = frozenset({Fate.FAILED, Fate.LOST, Fate.UNKNOWN})


@dataclass(frozen=True)
class Stack:
    """Where the dead letters of a stack are, and who gets them: the physical ids of its resources."""

    queue_url: str
    execution_events: str
    expirations: str


@dataclass(frozen=True)
class Letter:
    """A message, and what became of it."""

    message_id: str
    about: str
    fate: Fate


class _Lost(Exception):
    """The stream has forgotten the records."""


def stack_named(name: str, cloudformation: Any) -> Stack:
    """Find the parts of a deployed stack."""

    def physical(logical_id: str) -> str:
        found = cloudformation.describe_stack_resource(StackName=name, LogicalResourceId=logical_id)
        return found["StackResourceDetail"]["PhysicalResourceId"]

    return Stack(physical("DeadLetters"), physical("ExecutionEventsFunction"), physical("ExpirationsFunction"))


@dataclass(frozen=True)
class Replay:
    """Goes through a queue once.

    Args:
        stack: whose.
        session: makes the clients of AWS, as boto3's does.
        is_rehearsal: deliver and delete nothing.
        forgets_lost: delete what can be delivered no more.
    """

    stack: Stack
    session: Any
    is_rehearsal: bool = False
    forgets_lost: bool = False

    def run(self) -> Iterator[Letter]:
        """Take each message, and say what became of it. Those that stay can be read again when `_HELD` is over."""
        sqs = self.session.client("sqs")
        queue = {"QueueUrl": self.stack.queue_url}
        wanted = {"MaxNumberOfMessages": 10, "VisibilityTimeout": _HELD, "WaitTimeSeconds": 1}
        while messages := sqs.receive_message(**queue, **wanted).get("Messages"):
            for message in messages:
                letter = self._taken(message)
                if letter.fate in (Fate.DELIVERED, Fate.FORGOTTEN):
                    sqs.delete_message(**queue, ReceiptHandle=message["ReceiptHandle"])
                yield letter

    def _taken(self, message: dict[str, Any]) -> Letter:
        try:
            body = json.loads(message["Body"])
        except ValueError:
            body = None
        match body:
            case {"detail-type": str(kind), "detail": dict()}:
                return Letter(message["MessageId"], kind, self._delivered(self.stack.execution_events, body))
            case {"DDBStreamBatchInfo": {"batchSize": size, **where}}:
                return Letter(message["MessageId"], f"{size} expired tasks", self._streamed(where))
            case _:
                return Letter(message["MessageId"], "?", Fate.UNKNOWN)

    def _delivered(self, function: str, event: dict[str, Any]) -> Fate:
        if self.is_rehearsal:
            return Fate.WAITING
        payload = json.dumps(event, default=_seconds).encode()
        answer = self.session.client("lambda").invoke(FunctionName=function, Payload=payload)
        match json.loads(answer["Payload"].read() or b"null"):
            case {"batchItemFailures": [_, *_]}:
                return Fate.FAILED
            case _:
                return Fate.FAILED if "FunctionError" in answer else Fate.DELIVERED

    def _streamed(self, where: dict[str, str]) -> Fate:
        try:
            records = list(self._records(where))
        except _Lost:
            return Fate.FORGOTTEN if self.forgets_lost and not self.is_rehearsal else Fate.LOST
        batches = [records[first : first + _AT_ONCE] for first in range(0, len(records), _AT_ONCE)]
        fates = {self._delivered(self.stack.expirations, {"Records": batch}) for batch in batches}
        return Fate.FAILED if Fate.FAILED in fates else next(iter(fates), Fate.DELIVERED)

    def _records(self, where: dict[str, str]) -> Iterator[dict[str, Any]]:
        """Read from the stream what was removed from the table there; the function knows which of it has expired."""
        streams, last = self.session.client("dynamodbstreams"), int(where["endSequenceNumber"])
        try:
            iterator: str | None = streams.get_shard_iterator(
                StreamArn=where["streamArn"],
                ShardId=where["shardId"],
                ShardIteratorType="AT_SEQUENCE_NUMBER",
                SequenceNumber=where["startSequenceNumber"],
            )["ShardIterator"]
            while iterator:
                page = streams.get_records(ShardIterator=iterator)
                for record in page["Records"]:
                    if int(record["dynamodb"]["SequenceNumber"]) > last:
                        return
                    if record["eventName"] == "REMOVE":
                        yield _as_lambda_has_it(record)
                    if int(record["dynamodb"]["SequenceNumber"]) == last:
                        return
                iterator = page.get("NextShardIterator")
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _FORGOTTEN:
                raise _Lost from None
            raise


def _as_lambda_has_it(record: dict[str, Any]) -> dict[str, Any]:
    """Write a record as Lambda's events do: the names of who did it begin with small letters."""
    match record.get("userIdentity"):
        case {"Type": kind, "PrincipalId": principal}:
            return {**record, "userIdentity": {"type": kind, "principalId": principal}}
        case _:
            return record


def _seconds(value: object) -> float:
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value)} is no value of an event")
    return value.timestamp()
