"""Function webhooks: a batch of messages, each with its own outcome."""

import json
from collections.abc import Callable
from datetime import timedelta
from threading import Semaphore
from typing import Any, Final

import pytest

from stepwire.errors import StoreBusy
from stepwire.extras.events.delivering import Done, Outcome
from stepwire.extras.events.doorbells import Bell, Doorbells, bell_of
from stepwire.extras.events.webhook_function import WebhooksHandler
from stepwire.principal import Principal
from tests.kits import ALICE

HIDDEN: Final = "https://queue.example/webhooks"


class FakeDelivering:
    """Gives each subscription an outcome."""

    def __init__(self, outcomes: dict[str, Done]) -> None:
        self.outcomes = outcomes

    def deliver(self, owner: Principal, subscription_id: str, carrier: str) -> Done:
        assert (owner, carrier) == (ALICE, f"message of {subscription_id}")
        if subscription_id not in self.outcomes:
            raise TimeoutError("secret-words")
        return self.outcomes[subscription_id]


class FakeSqs:
    """Records what is asked of a queue."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.delayed: list[tuple[Bell | None, int]] = []
        """What was sent again, and after how many seconds it comes."""
        self.sent: list[Any] = []
        self.held: list[str] = []
        """The subscriptions of further messages."""
        self.deleted: list[str] = []
        self.polls = 0
        self._refuses = refuses

    def send_message(self, **asked: Any) -> None:
        assert asked["QueueUrl"] == HIDDEN
        self.delayed.append((bell_of(asked["MessageBody"]), asked["DelaySeconds"]))

    def seconds(self) -> dict[str, int]:
        """Return the delays of what was sent again, by subscription."""
        assert {bell and bell.carrier for bell, _ in self.delayed} == {
            bell and f"message of {bell.subscription_id}" for bell, _ in self.delayed
        }
        return {bell.subscription_id: seconds for bell, seconds in self.delayed if bell}

    def send_message_batch(self, **asked: Any) -> dict[str, Any]:
        self.sent.append([json.loads(one["MessageBody"]) for one in asked["Entries"]])
        return {"Failed": [{"Id": "0"}]} if self._refuses else {"Successful": []}

    def receive_message(self, **asked: Any) -> dict[str, Any]:
        assert (asked["QueueUrl"], asked["MaxNumberOfMessages"]) == (HIDDEN, 10)
        self.polls += 1
        if self._refuses:
            raise TimeoutError
        messages = [
            {"MessageId": f"message of {name}", "ReceiptHandle": f"receipt of {name}", "Body": bell(name)}
            for name in self.held
        ]
        self.held.clear()
        return {"Messages": messages} if messages else {}

    def delete_message(self, **asked: Any) -> None:
        assert asked["QueueUrl"] == HIDDEN
        self.deleted.append(asked["ReceiptHandle"])


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> FakeSqs:
    monkeypatch.setenv("WEBHOOK_QUEUE", HIDDEN)
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "prod")
    return FakeSqs()


def handle(
    sqs: FakeSqs, delivering: "dict[str, Done] | FakeDelivering", *bodies: str, is_slow_after: float = 60
) -> list[str]:
    handler = WebhooksHandler(is_slow_after)
    fake = FakeDelivering(delivering) if isinstance(delivering, dict) else delivering
    vars(handler).update(_delivering=fake, _bells=Doorbells(HIDDEN, lambda: sqs))
    records = [
        {"messageId": f"message of {name}", "receiptHandle": f"receipt of {name}", "body": body}
        for body in bodies
        for name in [json.loads(body)["subscription"] if body.startswith("{") else "none"]
    ]
    return [one["itemIdentifier"] for one in handler({"Records": records}, None)["batchItemFailures"]]


def bell(name: str) -> str:
    return json.dumps({"principal": ALICE, "subscription": name})


def test_each_message_has_its_own_outcome(sqs: FakeSqs, printed: Callable[[], str]) -> None:
    outcomes = {
        "done": Done(Outcome.DELIVERED, delivered=2, skipped=1),
        "later": Done(Outcome.FAILED, again_after=timedelta(seconds=29.5)),
        "much later": Done(Outcome.FAILED, again_after=timedelta(days=1)),
        "dead": Done(Outcome.SUSPENDED),
        "idle": Done(Outcome.NOTHING),
    }

    left = handle(sqs, outcomes, *map(bell, outcomes), bell("broken"))

    assert left == ["message of broken"]
    assert sqs.seconds() == {"later": 30, "much later": 900}
    lines = [json.loads(line) for line in printed().splitlines()]
    counted = {name: line[name] for line in lines if "_aws" in line for name in line if name[0].isupper()}
    assert counted == {
        "EventsDelivered": 2,
        "EventsRefused": 1,
        "WebhooksFailed": 1,
        "WebhooksSuspended": 1,
        "WebhookFaults": 1,
    }
    assert "secret-words" not in json.dumps(lines)


class SlowReceiver(FakeDelivering):
    """The receiver of `slow` answers when the others have got theirs."""

    def __init__(self, outcomes: dict[str, Done]) -> None:
        super().__init__(outcomes)
        self.others = Semaphore(0)

    def deliver(self, owner: Principal, subscription_id: str, carrier: str) -> Done:
        if subscription_id == "slow":
            for _ in range(len(self.outcomes)):
                assert self.others.acquire(timeout=60)
            return Done(Outcome.FAILED, again_after=timedelta(seconds=10))
        self.others.release()
        return super().deliver(owner, subscription_id, carrier)


def test_while_a_receiver_does_not_answer_further_messages_are_taken(sqs: FakeSqs) -> None:
    outcomes = {"done": Done(Outcome.DELIVERED, delivered=1), "later": Done(Outcome.FAILED, again_after=timedelta(1))}
    sqs.held = ["done", "later", "broken"]

    left = handle(sqs, SlowReceiver({**outcomes, "fast": Done(Outcome.DELIVERED)}), bell("slow"), is_slow_after=0)

    assert left == []
    assert sorted(sqs.deleted) == ["receipt of done", "receipt of later"], "what failed comes again"
    assert sqs.seconds() == {"later": 900, "slow": 10}


def test_a_batch_that_is_done_takes_nothing_more(sqs: FakeSqs) -> None:
    sqs.held = ["other"]

    handle(sqs, {"done": Done(Outcome.DELIVERED)}, bell("done"))

    assert (sqs.polls, sqs.held) == (0, ["other"])


def test_a_fault_of_the_queue_harms_no_batch(sqs: FakeSqs) -> None:
    refusing = FakeSqs(refuses=True)

    left = handle(refusing, SlowReceiver({}), bell("slow"), is_slow_after=0)

    assert left == [], "its delivery is tried again"


def test_a_message_that_cannot_be_sent_again_stays_in_the_queue(sqs: FakeSqs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(FakeSqs, "send_message")

    assert handle(sqs, {"later": Done(Outcome.FAILED, again_after=timedelta(1))}, bell("later")) == ["message of later"]


@pytest.mark.parametrize("body", ["hello", "[]", "7", '{"principal": 7}', '{"principal": "x", "subscription": "y"}'])
def test_a_message_that_names_no_subscription_is_dropped(sqs: FakeSqs, body: str) -> None:
    handler = WebhooksHandler()
    vars(handler).update(_delivering=FakeDelivering({}), _bells=Doorbells(HIDDEN, lambda: sqs))
    record = {"messageId": "one", "receiptHandle": "receipt", "body": body}

    assert handler({"Records": [record]}, None) == {"batchItemFailures": []}
    assert bell_of(body) is None


def test_a_message_keeps_the_id_of_the_first_one_however_often_it_is_sent_again() -> None:
    sqs = FakeSqs()
    again = Bell(ALICE, "sub_1", "the first")

    Doorbells(HIDDEN, lambda: sqs).again(again, timedelta(seconds=3))

    assert sqs.delayed == [(again, 3)]


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
