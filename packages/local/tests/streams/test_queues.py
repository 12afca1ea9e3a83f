"""Event source mappings from a queue: messages reach a function, and leave the queue once they were processed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stepwire_local.account.engine import ACCOUNT, shared_account
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from stepwire_local.lambdas.functions import Failed, Outcome, Returned
from stepwire_local.streams.queues import QueueMapping, QueueMappingSettings
from tests.waiting import until


class Reader:
    """A function that gets messages, and fails with those named `bad` as often as it is told to."""

    arn = "arn:aws:lambda:us-east-1:123456789012:function:reader"

    def __init__(self, *, raises: bool = False) -> None:
        self.got: list[str] = []
        self._raises, self._bad = raises, 1

    def invoke(self, event: str) -> Outcome:
        records: list[dict[str, Any]] = json.loads(event)["Records"]
        self.got += [one["body"] for one in records]
        failed = [one["messageId"] for one in records if one["body"] == "bad" and self._bad]
        self._bad -= bool(failed)
        if failed and self._raises:
            return Failed(json.dumps({"errorMessage": "no"}))
        return Returned(json.dumps({"batchItemFailures": [{"itemIdentifier": one} for one in failed]}))


@pytest.fixture
def queue() -> Iterator[str]:
    with shared_account():
        yield aws_client("sqs", REGION).create_queue(QueueName="messages")["QueueUrl"]


def delivered(queue: str, reader: Reader, *bodies: str, times: int, delay: int = 0) -> list[str]:
    """Send messages; return what has come when the function was given so many and the queue is empty."""
    sqs = aws_client("sqs", REGION)
    for body in bodies:
        sqs.send_message(QueueUrl=queue, MessageBody=body, DelaySeconds=delay)
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:messages"
    mapping = QueueMapping(QueueMappingSettings(arn, reader, reports_failures=True))
    mapping.start()
    try:
        # The queue alone does not tell: a message that becomes visible between two of its counts is in neither.
        until(lambda: len(reader.got) >= times and _left(queue) == 0)
    finally:
        mapping.stop()
    return reader.got


def _left(queue: str) -> int:
    names = [
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed",
    ]
    counts = aws_client("sqs", REGION).get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
    return sum(map(int, counts.values()))


def test_messages_are_delivered_and_deleted(queue: str) -> None:
    assert sorted(delivered(queue, Reader(), "one", "two", times=2)) == ["one", "two"]


def test_a_message_that_is_reported_as_failed_comes_again_alone(queue: str) -> None:
    assert sorted(delivered(queue, Reader(), "good", "bad", times=3)) == ["bad", "bad", "good"]


def test_all_messages_of_a_function_that_fails_come_again(queue: str) -> None:
    got = delivered(queue, Reader(raises=True), "bad", times=2)

    assert got == ["bad", "bad"]


def test_a_delayed_message_comes_later_and_is_no_backlog(queue: str) -> None:
    assert delivered(queue, Reader(), "later", times=1, delay=1) == ["later"]
