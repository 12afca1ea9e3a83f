"""The queue that wakes tasks: what is sent, what comes back, and what function execution_events does with it."""

import json
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from stepwire.aws.background_functions import ExecutionEventsHandler
from stepwire.aws.queues import SqsWakeUps, wake_up_of
from stepwire.errors import WakeUpsUnavailable
from stepwire.tasks.ids import TaskId, TaskKey
from tests.kits import ALICE

KEY = TaskKey(ALICE, TaskId("01kyyk41g000000000000000000000000001"))


class Queue:
    """A client of SQS that records what is sent."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self._fault = fault

    def send_message(self, **message: Any) -> None:
        if self._fault is not None:
            raise self._fault
        self.sent.append(message)


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [
        (timedelta(), 0),
        (timedelta(seconds=-5), 0),
        (timedelta(milliseconds=1), 1),
        (timedelta(seconds=10), 10),
        (timedelta(minutes=15), 900),
        (timedelta(days=1), 900),
    ],
)
def test_a_delay_is_rounded_up_to_seconds_and_at_most_what_sqs_takes(delay: timedelta, seconds: int) -> None:
    queue = Queue()

    SqsWakeUps("https://queue", lambda: queue).schedule(KEY, delay)

    (message,) = queue.sent
    assert (message["QueueUrl"], message["DelaySeconds"]) == ("https://queue", seconds)
    assert wake_up_of({"messageId": "1", "body": message["MessageBody"]}) == (KEY, 0)


def test_a_message_names_the_run_that_it_wakes() -> None:
    queue = Queue()

    SqsWakeUps("https://queue", lambda: queue).schedule(KEY, timedelta(), 1)

    (message,) = queue.sent
    assert wake_up_of({"body": message["MessageBody"]}) == (KEY, 1)


@pytest.mark.parametrize(
    "fault", [ClientError({"Error": {"Code": "AccessDenied"}}, "SendMessage"), ReadTimeoutError(endpoint_url="x")]
)
def test_a_queue_that_does_not_take_a_message_is_told(fault: Exception) -> None:
    with pytest.raises(WakeUpsUnavailable):
        SqsWakeUps("https://queue", lambda: Queue(fault)).schedule(KEY, timedelta())


class _Attempts:
    def wake(self, key: TaskKey, run: int) -> None:
        if key.task_id != KEY.task_id:
            raise WakeUpsUnavailable


class _Engine:
    runs = _Attempts()


class _Events:
    engine = _Engine()


def test_a_message_whose_attempt_could_not_begin_is_delivered_again_alone() -> None:
    handler: Any = ExecutionEventsHandler()
    handler.__dict__["_events"] = _Events()
    bodies = {"first": KEY.task_id, "second": "another", "third": KEY.task_id}
    records = [
        {"messageId": name, "body": json.dumps({"owner": ALICE, "task_id": task_id})}
        for name, task_id in bodies.items()
    ]

    assert handler({"Records": records}, None) == {"batchItemFailures": [{"itemIdentifier": "second"}]}
