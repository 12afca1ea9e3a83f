"""The event bus gets each change of a task's status, after it is written, and nothing else."""

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, Final, cast

import boto3
import pytest

from stepwire_local import at_once
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.recorded import recorded
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient
from tests.waiting import until

TOOL: Final = "wait_and_echo"
LONG: Final = {"message": "hello", "seconds": 600}
REFUND: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}
APPROVAL: Final = {"approval": {"action": "accept", "content": {"amount": 120.5, "note": "Half."}}}
Detail = dict[str, Any]
REFUSED: Final = {"ErrorCode": "InternalFailure", "ErrorMessage": "no"}


@dataclass
class Listener:
    """A queue that receives all events of Stepwire on a bus, as an agent's queue would."""

    stack: Deployed
    url: str

    def events(self) -> list[Detail]:
        """Return the events since the last call, after all written changes are published."""
        self.stack.stack.drain()
        found: list[Detail] = []
        request = {"QueueUrl": self.url, "MaxNumberOfMessages": 10}
        sqs = self.stack.stack.client("sqs")
        while messages := sqs.receive_message(**request).get("Messages"):
            for message in messages:
                found.append(json.loads(message["Body"]))
                sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def told(self) -> list[tuple[str | None, str]]:
        """Return the changes of status: from which to which."""
        details = [event["detail"] for event in self.events()]
        return [(one["previous_status"], one["status"]) for one in sorted(details, key=lambda one: one["version"])]


@contextmanager
def listening(bus: str) -> Generator[Listener]:
    """Serve the root template with an event bus, and receive all events of Stepwire on it."""
    with deployed(ROOT / "stack.yaml", at_once, WaitSeconds="0", EventBus=bus) as stack:
        events, sqs = stack.stack.client("events"), stack.stack.client("sqs")
        name = stack.stack.physical_ids["TasksTable"]
        if bus != "default":
            events.create_event_bus(Name=bus)
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        events.put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps({"source": ["stepwire"]}))
        events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "queue", "Arn": arn}])
        yield Listener(stack, url)


@pytest.fixture(scope="module")
def module_listener() -> Iterator[Listener]:
    with listening("default") as listener:
        yield listener


@pytest.fixture
def listener(module_listener: Listener) -> Listener:
    """The same queue, with earlier events removed."""
    module_listener.events()
    return module_listener


@pytest.fixture
def modern(listener: Listener) -> ModernClient:
    return ModernClient(listener.stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def let_expire(stack: Deployed) -> None:
    """Let time pass until every task of the examples has expired."""
    stack.stack.expire(at=datetime.now(UTC) + timedelta(days=30))


def test_an_event_reports_the_start_and_the_end_of_a_task(modern: ModernClient, listener: Listener) -> None:
    task_id = modern.call(TOOL, {"message": "hello"}).id_in()
    until(lambda: modern.task("get", task_id).result["status"] == "completed")

    begun, ended = listener.events()

    shown = modern.task("get", task_id).result
    sample = recorded("task_status_changed")
    assert set(ended["detail"]) == set(sample["detail"])
    assert [ended[name] for name in ("source", "detail-type")] == [sample[name] for name in ("source", "detail-type")]
    assert begun["detail"]["status"] == "working"
    assert ended["detail"] == {
        "event_id": f"{task_id}-2",
        "task_id": task_id,
        "tool": TOOL,
        "status": "completed",
        "previous_status": "working",
        "is_error": False,
        "principal": begun["detail"]["principal"],
        "version": 2,
        "created_at": shown["createdAt"],
        "last_updated_at": shown["lastUpdatedAt"],
        "expires_at": begun["detail"]["expires_at"],
    }


def test_an_agent_that_gets_an_event_fetches_the_result(modern: ModernClient, listener: Listener) -> None:
    modern.call(TOOL, {"message": "grüße"})
    ends: list[Detail] = []

    def woken() -> bool:
        ends.extend(event for event in listener.events() if event["detail"]["status"] == "completed")
        return bool(ends)

    until(woken)
    result = modern.task("get", ends[0]["detail"]["task_id"]).result["result"]

    assert result["structuredContent"]["message"] == "grüße"


def test_an_event_reports_each_question_and_its_answer(modern: ModernClient, listener: Listener) -> None:
    task_id = modern.call("approve_refund", REFUND).id_in()
    until(lambda: modern.task("get", task_id).result["status"] == "input_required")
    modern.update(task_id, APPROVAL)
    until(lambda: modern.task("get", task_id).result["status"] == "completed")

    events = listener.events()

    changes = [(one["detail"]["previous_status"], one["detail"]["status"]) for one in events]
    assert changes == [
        (None, "working"),
        ("working", "input_required"),
        ("input_required", "working"),
        ("working", "completed"),
    ]
    assert not [words for words in ("249.00", "wobbles", "Half", "120.5") if words in json.dumps(events)]


def test_an_event_reports_a_cancellation(modern: ModernClient, listener: Listener) -> None:
    task_id = modern.call(TOOL, LONG).id_in()

    modern.task("cancel", task_id)

    assert listener.told() == [(None, "working"), ("working", "cancelled")]


def test_one_event_reports_a_task_that_expires_while_it_runs(modern: ModernClient, listener: Listener) -> None:
    task_id = modern.call(TOOL, LONG).id_in()

    let_expire(listener.stack)

    assert listener.told() == [(None, "working"), ("working", "expired")]
    until(lambda: listener.stack.status_of(task_id) == "ABORTED")
    assert listener.told() == [], "the end of the stopped execution must not be published"


def test_the_expiry_of_an_ended_task_publishes_no_event(modern: ModernClient, listener: Listener) -> None:
    modern.task("cancel", modern.call(TOOL, LONG).id_in())
    listener.events()

    let_expire(listener.stack)

    assert listener.told() == []


@contextmanager
def bus_that(answers: list[tuple[int, Detail]]) -> Generator[list[int]]:
    """Let PutEvents give these answers, one per call, and then its own; return the numbers of the entries."""
    sizes: list[int] = []
    lock = threading.Lock()

    def answer(params: Detail, **_: object) -> tuple[SimpleNamespace, Detail] | None:
        with lock:
            sizes.append(len(json.loads(params["body"])["Entries"]))
            if not answers:
                return None
            status, body = answers.pop(0)
        return SimpleNamespace(status_code=status), {**body, "ResponseMetadata": {"HTTPStatusCode": status}}

    session = boto3.DEFAULT_SESSION
    assert session is not None
    # Registered first, so that it applies to existing and new clients.
    session.events.register_first("before-call.events.PutEvents", cast(Any, answer))
    try:
        yield sizes
    finally:
        session.events.unregister("before-call.events.PutEvents", cast(Any, answer))


@pytest.mark.long
@pytest.mark.parametrize(
    ("bus", "status", "body"),
    [
        pytest.param("deaf", 400, {"Error": {"Code": "ValidationException"}}, id="the call", marks=pytest.mark.long),
        pytest.param("forgetful", 200, {"FailedEntryCount": 1, "Entries": [REFUSED]}, id="the entry"),
    ],
)
def test_events_that_the_bus_refuses_are_retried_until_accepted(bus: str, status: int, body: Detail) -> None:
    with listening(bus) as listener, bus_that([(status, body)] * 3) as sizes:
        modern = ModernClient(listener.stack)
        modern.call(TOOL, LONG)

        assert listener.told() == [(None, "working")]
    assert len(sizes) == 4
