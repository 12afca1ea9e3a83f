"""Event source mappings from a queue: messages reach a function, and leave the queue once they were processed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from moto.events.models import EventPattern

from stepwire_local.account.engine import ACCOUNT, shared_account
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from stepwire_local.lambdas.invocations import Failed, Outcome, Returned
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


class Answering:
    """A function that gets messages, and answers one thing after the other; the last one for good."""

    arn = Reader.arn

    def __init__(self, *answers: object) -> None:
        self.got: list[Any] = []
        self._answers = list(answers)

    def invoke(self, event: str) -> Outcome:
        self.got += json.loads(event)["Records"]
        return Returned(json.dumps(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]))


@pytest.fixture
def queue() -> Iterator[str]:
    with shared_account():
        yield aws_client("sqs", REGION).create_queue(QueueName="messages")["QueueUrl"]


def delivered(
    queue: str, reader: Reader | Answering, *bodies: str, times: int, delay: int = 0, **settings: Any
) -> list[Any]:
    """Send messages; return what has come when the function was given so many and the queue is empty."""
    sqs = aws_client("sqs", REGION)
    for body in bodies:
        colour: Any = {"Colour": {"DataType": "String", "StringValue": "red"}}
        sqs.send_message(QueueUrl=queue, MessageBody=body, DelaySeconds=delay, MessageAttributes=colour)
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:messages"
    mapping = QueueMapping(QueueMappingSettings(arn, reader, reports_failures=True, **settings))
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


@pytest.mark.parametrize("answer", [None, {}, {"batchItemFailures": None}, {"batchItemFailures": []}])
def test_a_report_without_failures_is_a_success(queue: str, answer: object) -> None:
    assert len(delivered(queue, Answering(answer), "one", times=1)) == 1


@pytest.mark.parametrize(
    "answer", ["ok", {"batchItemFailures": [{"itemIdentifier": ""}]}, {"batchItemFailures": [{"id": "a"}]}]
)
def test_a_report_that_cannot_be_read_fails_the_whole_batch(queue: str, answer: object) -> None:
    assert len(delivered(queue, Answering(answer, None), "one", times=2)) == 2


def test_an_event_has_the_attributes_of_its_messages(queue: str) -> None:
    (record,) = delivered(queue, Answering(None), "one", times=1)

    colour: dict[str, Any] = {
        "stringValue": "red",
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": "String",
    }
    assert record["messageAttributes"] == {"Colour": colour}


def test_a_message_that_no_filter_lets_through_is_deleted(queue: str) -> None:
    filters = (EventPattern.load(json.dumps({"body": {"kind": ["new"]}})),)
    bodies = ['{"kind": "new"}', '{"kind": "old"}', "text"]

    assert delivered(queue, Reader(), *bodies, times=1, filters=filters) == bodies[:1]


def test_a_delayed_message_comes_later_and_is_no_backlog(queue: str) -> None:
    assert delivered(queue, Reader(), "later", times=1, delay=1) == ["later"]
