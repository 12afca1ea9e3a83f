"""The contracts of Askings and Subscribers, in memory and on DynamoDB."""

from datetime import timedelta

import pytest

from stepwire.aws.storage.table import Table
from stepwire.extras.approvals.inbox import Asking, Askings
from stepwire.extras.approvals.listening import MOST_FOUND, Subscriber, Subscribers
from stepwire.extras.approvals.storage import DynamoDbAskings, DynamoDbSubscribers
from stepwire.principal import Principal
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.extras.approvals.fakes import InMemoryAskings, InMemorySubscribers
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOB
from tests.tables import new_table

UNTIL = START_OF_TIME + timedelta(hours=1)
IMPLEMENTATIONS = ["in memory", "on DynamoDB"]


def table() -> Table:
    return Table(new_table(), lambda: aws_client("dynamodb", REGION))


@pytest.fixture(params=IMPLEMENTATIONS)
def askings(request: pytest.FixtureRequest, aws: None) -> Askings:
    return InMemoryAskings() if request.param == "in memory" else DynamoDbAskings(table())


@pytest.fixture(params=IMPLEMENTATIONS)
def subscribers(request: pytest.FixtureRequest, aws: None) -> Subscribers:
    return InMemorySubscribers() if request.param == "in memory" else DynamoDbSubscribers(table())


def test_a_call_has_the_answer_of_its_latest_attempt(askings: Askings) -> None:
    assert askings.find(ALICE, "a call") is None

    askings.note(ALICE, "a call", Asking(2, "too large"), UNTIL)
    askings.note(ALICE, "a call", Asking(1), UNTIL)

    assert askings.find(ALICE, "a call") == Asking(2, "too large")
    askings.note(ALICE, "a call", Asking(3), UNTIL)
    assert askings.find(ALICE, "a call") == Asking(3)


def test_an_answer_is_of_one_caller_and_one_call(askings: Askings) -> None:
    askings.note(ALICE, "a call", Asking(1), UNTIL)

    assert askings.find(BOB, "a call") is None
    assert askings.find(ALICE, "another call") is None


def subscriber(owner: Principal, *digests: str) -> Subscriber:
    return Subscriber(owner, f"person {owner}", frozenset(digests), UNTIL)


def test_a_subscriber_is_found_by_any_quality_until_the_time(subscribers: Subscribers) -> None:
    alice, bob = subscriber(ALICE, "a", "b"), subscriber(BOB, "b")
    subscribers.keep(alice)
    subscribers.keep(bob)

    assert list(subscribers.find(["a"], START_OF_TIME)) == [alice]
    assert set(subscribers.find(["a", "b"], START_OF_TIME)) == {alice, bob}
    assert list(subscribers.find(["c"], START_OF_TIME)) == []
    assert list(subscribers.find(["a", "b"], UNTIL)) == []


def test_only_the_latest_qualities_of_a_subscriber_count(subscribers: Subscribers) -> None:
    subscribers.keep(subscriber(ALICE, "a", "b"))
    subscribers.keep(subscriber(ALICE, "b"))

    assert list(subscribers.find(["a"], START_OF_TIME)) == []
    assert list(subscribers.find(["b"], START_OF_TIME)) == [subscriber(ALICE, "b")]
    assert subscribers.known(ALICE) == subscriber(ALICE, "b")
    assert subscribers.known(BOB) is None


def test_of_many_subscribers_a_bounded_number_is_found(subscribers: Subscribers) -> None:
    for number in range(MOST_FOUND + 1):
        subscribers.keep(subscriber(Principal(f"{number:032x}"), "a"))

    assert len(subscribers.find(["a"], START_OF_TIME)) == MOST_FOUND
