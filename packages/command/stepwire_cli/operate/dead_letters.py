"""Redelivers the messages in a stack's dead-letter queue to their functions.

There are four kinds of messages. An event that EventBridge could not deliver, or that the function did not record, is
in the message itself. For an expired or changed task, the message names only the function that gave up and the position
of the records in the table's stream, which keeps them for 24 hours. A wake-up names the task whose next attempt could
not begin. A message of the queue of an extra goes back to that queue. The rules: delete a
message only after its function has succeeded, because every event may safely be delivered twice; never print an event,
because it may contain arguments and results.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeAlias

from botocore.exceptions import ClientError

from stepwire_cli.extras import parts

_HELD: Final = 300  # seconds; the visibility timeout of received messages
WAIT: Final = 1  # second; how long an empty queue is given to show a message: such a read asks all its servers
_AT_ONCE: Final = 25  # records in one event: the BatchSize of the template's mapping
_OURS: Final = "Stepwire Task Status Change"
_OF_THE_CATALOG: Final = ("aws.ssm", "aws.tag", "aws.events")  # the sources of the events of function catalog
_WAKE_UP: Final = "the next attempt of a task"
_TASK: Final = "task#"  # how the sort keys of tasks begin
_FORGOTTEN: Final = ("TrimmedDataAccessException", "ResourceNotFoundException")


Record: TypeAlias = dict[str, Any]


class Fate(Enum):
    """The outcome for a message."""

    DELIVERED = "delivered"
    WAITING = "would be delivered"
    FAILED = "its function failed again: it stays"
    LOST = "the stream has forgotten its records: it stays"
    FORGOTTEN = "the stream has forgotten its records: deleted"
    UNHEARD = "its receiver did not take it: it stays"
    UNKNOWN = "no function of this stack takes such a message: it stays"


STAYS: Final = frozenset({Fate.FAILED, Fate.LOST, Fate.UNHEARD, Fate.UNKNOWN})


@dataclass(frozen=True)
class Stack:
    """The dead-letter queue of a stack and its consumers: the physical ids of the resources."""

    queue_url: str
    execution_events: str
    expirations: str
    catalog: str
    status_changes: str | None = None
    """None where nobody is told how tasks stand."""
    queues: Mapping[str, str] = field(default_factory=dict[str, str])
    """The URLs of the queues of extras that it has, by their names in the template."""


@dataclass(frozen=True)
class Letter:
    """A message and its outcome."""

    message_id: str
    about: str
    fate: Fate


class _Lost(Exception):
    """The stream no longer has the records."""


def stack_named(name: str, cloudformation: Any) -> Stack:
    """Return the resources of a deployed stack."""

    def physical(logical_id: str) -> str:
        found = cloudformation.describe_stack_resource(StackName=name, LogicalResourceId=logical_id)
        return found["StackResourceDetail"]["PhysicalResourceId"]

    return Stack(
        physical("DeadLetters"),
        physical("ExecutionEventsFunction"),
        physical("ExpirationsFunction"),
        physical("CatalogFunction"),
        _if_there(physical, "StatusChangesFunction"),
        {part.QUEUE: url for part in parts("letters") if (url := _if_there(physical, part.QUEUE)) is not None},
    )


def _if_there(physical: Callable[[str], str], logical_id: str) -> str | None:
    try:
        return physical(logical_id)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == "ValidationError":
            return None
        raise


@dataclass(frozen=True)
class Replay:
    """Processes each message in a queue once.

    Args:
        stack: the stack with the queue.
        session: creates AWS clients, as a boto3 session does.
        is_rehearsal: do not deliver or delete anything.
        forgets_lost: delete the messages whose records are lost.
    """

    stack: Stack
    session: Any
    is_rehearsal: bool = False
    forgets_lost: bool = False

    def run(self) -> Iterator[Letter]:
        """Yield each message with its outcome.

        Messages that remain become visible again after `_HELD`, also while a long replay runs: it ends with them.
        """
        sqs, known = self.session.client("sqs"), set[str]()
        queue = {"QueueUrl": self.stack.queue_url}
        wanted = {"MaxNumberOfMessages": 10, "VisibilityTimeout": _HELD, "WaitTimeSeconds": WAIT}
        while found := sqs.receive_message(**queue, **wanted).get("Messages"):
            new = [one for one in found if one["MessageId"] not in known]
            if not new:
                return
            for message in new:
                known.add(message["MessageId"])
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
            case {"detail-type": str(kind), "detail": dict()} if kind == _OURS:
                return Letter(message["MessageId"], kind, Fate.UNHEARD)
            case {"detail-type": str(kind), "detail": dict(), "source": str(source)} if source in _OF_THE_CATALOG:
                return Letter(message["MessageId"], kind, self._delivered(self.stack.catalog, body))
            case {"detail-type": str(kind), "detail": dict()}:
                return Letter(message["MessageId"], kind, self._delivered(self.stack.execution_events, body))
            case {
                "requestContext": {"functionArn": str(arn)},
                "DDBStreamBatchInfo": {"batchSize": size, **where},
            }:
                return self._of_the_stream(message["MessageId"], arn.split(":")[6], size, where)
            case _:
                return self._of_a_queue(message, body)

    def _of_a_queue(self, message: dict[str, Any], body: object) -> Letter:
        """Redeliver a message that another queue of the stack has given up."""
        for part in parts("letters"):
            if (about := part.about(body)) is not None:
                return Letter(message["MessageId"], about, self._sent_back(part.QUEUE, message["Body"]))
        match body:
            case {"owner": str(), "task_id": str()}:
                event = {"Records": [{"messageId": message["MessageId"], "body": message["Body"]}]}
                return Letter(message["MessageId"], _WAKE_UP, self._delivered(self.stack.execution_events, event))
            case _:
                return Letter(message["MessageId"], "?", Fate.UNKNOWN)

    def _sent_back(self, queue: str, body: str) -> Fate:
        if queue not in self.stack.queues:
            return Fate.UNKNOWN
        if not self.is_rehearsal:
            self.session.client("sqs").send_message(QueueUrl=self.stack.queues[queue], MessageBody=body)
        return Fate.WAITING if self.is_rehearsal else Fate.DELIVERED

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

    def _of_the_stream(self, message_id: str, function: str, size: int, where: dict[str, str]) -> Letter:
        if function == self.stack.expirations:
            return Letter(message_id, f"{size} expired tasks", self._streamed(function, where, _is_removal))
        if function == self.stack.status_changes:
            return Letter(message_id, f"{size} changes of tasks", self._streamed(function, where, _is_of_a_task))
        return Letter(message_id, "?", Fate.UNKNOWN)

    def _streamed(self, function: str, where: dict[str, str], is_wanted: Callable[[Record], bool]) -> Fate:
        try:
            records = [_as_lambda_has_it(record) for record in self._records(where) if is_wanted(record)]
        except _Lost:
            return Fate.FORGOTTEN if self.forgets_lost and not self.is_rehearsal else Fate.LOST
        batches = [records[first : first + _AT_ONCE] for first in range(0, len(records), _AT_ONCE)]
        fates = {self._delivered(function, {"Records": batch}) for batch in batches}
        return Fate.FAILED if Fate.FAILED in fates else next(iter(fates), Fate.DELIVERED)

    def _records(self, where: dict[str, str]) -> Iterator[Record]:
        """Return the records at that position, without the mapping's filters; the function ignores the others."""
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
                    yield record
                    if int(record["dynamodb"]["SequenceNumber"]) == last:
                        return
                iterator = page.get("NextShardIterator")
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _FORGOTTEN:
                raise _Lost from None
            raise


def _is_removal(record: Record) -> bool:
    # Parts of the catalog expire too, and hold bytes; the mapping passes on tasks alone.
    return record["eventName"] == "REMOVE" and _is_of_a_task(record)


def _is_of_a_task(record: Record) -> bool:
    return record["dynamodb"]["Keys"]["sk"]["S"].startswith(_TASK)


def _as_lambda_has_it(record: Record) -> Record:
    """Return a record in the format of Lambda's events: keys of the user identity begin with lower-case letters."""
    match record.get("userIdentity"):
        case {"Type": kind, "PrincipalId": principal}:
            return {**record, "userIdentity": {"type": kind, "principalId": principal}}
        case _:
            return record


def _seconds(value: object) -> float:
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value)} is no value of an event")
    return value.timestamp()
