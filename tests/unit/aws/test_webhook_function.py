"""Function webhooks: a batch of messages, each with its own outcome."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest

from stepwire.aws.publishing.doorbells import Doorbells, bell_of
from stepwire.aws.webhook_function import WebhooksHandler
from stepwire.errors import StoreBusy
from stepwire.principal import Principal
from stepwire.subscriptions.delivering import Done, Outcome
from tests.kits import ALICE

HIDDEN: Final = "https://queue.example/webhooks"


class FakeDelivering:
    """Gives each subscription an outcome."""

    def __init__(self, outcomes: dict[str, Done]) -> None:
        self.outcomes = outcomes

    def deliver(self, owner: Principal, subscription_id: str, message_id: str) -> Done:
        assert (owner, message_id) == (ALICE, f"message of {subscription_id}")
        if subscription_id not in self.outcomes:
            raise TimeoutError("secret-words")
        return self.outcomes[subscription_id]


class FakeSqs:
    """Records what is asked of a queue."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.hidden: list[tuple[str, int]] = []
        self.sent: list[Any] = []
        self._refuses = refuses

    def change_message_visibility(self, **asked: Any) -> None:
        assert asked["QueueUrl"] == HIDDEN
        self.hidden.append((asked["ReceiptHandle"], asked["VisibilityTimeout"]))

    def send_message_batch(self, **asked: Any) -> dict[str, Any]:
        self.sent.append([json.loads(one["MessageBody"]) for one in asked["Entries"]])
        return {"Failed": [{"Id": "0"}]} if self._refuses else {"Successful": []}


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> FakeSqs:
    monkeypatch.setenv("WEBHOOK_QUEUE", HIDDEN)
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "prod")
    return FakeSqs()


def handle(sqs: FakeSqs, outcomes: dict[str, Done], *bodies: str) -> list[str]:
    handler = WebhooksHandler()
    vars(handler).update(_delivering=FakeDelivering(outcomes), _queue=sqs)
    records = [
        {"messageId": f"message of {name}", "receiptHandle": f"receipt of {name}", "body": body}
        for body in bodies
        for name in [json.loads(body)["subscription"] if body.startswith("{") else "none"]
    ]
    return [one["itemIdentifier"] for one in handler({"Records": records}, None)["batchItemFailures"]]


def bell(name: str) -> str:
    return json.dumps({"principal": ALICE, "subscription": name})


def test_each_message_has_its_own_outcome(sqs: FakeSqs, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = {
        "done": Done(Outcome.DELIVERED, delivered=2, skipped=1),
        "later": Done(Outcome.FAILED, again_after=timedelta(seconds=30)),
        "much later": Done(Outcome.FAILED, again_after=timedelta(days=1)),
        "dead": Done(Outcome.SUSPENDED),
        "idle": Done(Outcome.NOTHING),
    }

    left = handle(sqs, outcomes, *map(bell, outcomes), bell("broken"))

    assert set(left) == {f"message of {name}" for name in ("later", "much later", "broken")}
    assert sorted(sqs.hidden) == [("receipt of later", 30), ("receipt of much later", 11 * 3_600)]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    counted = {name: line[name] for line in lines if "_aws" in line for name in line if name[0].isupper()}
    assert counted == {
        "EventsDelivered": 2,
        "EventsRefused": 1,
        "WebhooksFailed": 1,
        "WebhooksSuspended": 1,
        "WebhookFaults": 1,
    }
    assert "secret-words" not in json.dumps(lines)


@pytest.mark.parametrize("body", ["hello", "[]", "7", '{"principal": 7}', '{"principal": "x", "subscription": "y"}'])
def test_a_message_that_names_no_subscription_is_dropped(sqs: FakeSqs, body: str) -> None:
    handler = WebhooksHandler()
    vars(handler).update(_delivering=FakeDelivering({}), _queue=sqs)
    record = {"messageId": "one", "receiptHandle": "receipt", "body": body}

    assert handler({"Records": [record]}, None) == {"batchItemFailures": []}
    assert bell_of(body) is None


def test_a_doorbell_is_read_as_it_was_rung() -> None:
    sqs = FakeSqs()
    Doorbells(HIDDEN, lambda: sqs).ring(ALICE, (f"sub_{number}" for number in range(25)))

    assert [len(batch) for batch in sqs.sent] == [10, 10, 5]
    read = [bell_of(json.dumps(body)) for batch in sqs.sent for body in batch]
    assert [one.subscription_id for one in read if one] == [f"sub_{number}" for number in range(25)]
    assert {one.owner for one in read if one} == {ALICE}


def test_a_queue_that_refuses_a_message_is_an_error() -> None:
    build: Callable[[], Any] = lambda: FakeSqs(refuses=True)  # noqa: E731

    with pytest.raises(StoreBusy):
        Doorbells(HIDDEN, build).ring(ALICE, ["sub_1"])
