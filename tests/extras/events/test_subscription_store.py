"""Webhook subscriptions, in memory and in DynamoDB."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from msgspec.structs import replace

from stepwire.aws.clients import dynamodb_client
from stepwire.aws.storage.table import Table
from stepwire.extras.events.events import FINISHED, Filter, Position
from stepwire.extras.events.ports import CARRIED, Listener, SubscriptionStore
from stepwire.extras.events.store import DynamoDbSubscriptionStore
from stepwire.extras.events.subscription import RESERVATION, Standing, Subscription
from stepwire.tasks.ids import TaskId
from tests.contracts.task_stores import places
from tests.extras.events.fakes import InMemorySubscriptionStore
from tests.fakes import START_OF_TIME as NOW
from tests.kits import ALICE, BOB
from tests.tables import new_table

HOUR = timedelta(hours=1)
URL = "https://hooks.example/agent?id=1"
PLAIN = Subscription(ALICE, Filter(FINISHED), URL, "whsec_one", NOW + HOUR, Position(7, NOW))
FULL = Subscription(
    ALICE,
    Filter(FINISHED, "tool", TaskId("01kyyk41g000000000000000000000000001")),
    "https://other.example/",
    "whsec_one",
    NOW + HOUR,
    Position(8, NOW),
    "whsec_before",
    NOW + HOUR,
    Standing(3, NOW + HOUR, NOW, "timeout", NOW - HOUR, "a message"),
    BOB,
)


@pytest.fixture(params=places(InMemorySubscriptionStore, DynamoDbSubscriptionStore))
def store(request: pytest.FixtureRequest, aws: None) -> SubscriptionStore:
    build: Callable[[], SubscriptionStore] = request.param
    return build()


@pytest.mark.parametrize("one", [PLAIN, FULL], ids=["plain", "full"])
def test_a_subscription_is_read_as_it_was_written(store: SubscriptionStore, one: Subscription) -> None:
    store.begin(one)

    assert store.load(ALICE, one.id) == one
    assert store.load(BOB, one.id) is None
    assert store.claim(ALICE, one.id, "m1", NOW, NOW + HOUR / 2) == one


def test_the_live_ones_of_a_caller_are_listed(store: SubscriptionStore) -> None:
    for one in (PLAIN, FULL, replace(PLAIN, owner=BOB), replace(PLAIN, url="https://old.example/", expires_at=NOW)):
        store.begin(one)

    assert store.live(ALICE, NOW) == {PLAIN.id: Listener(PLAIN.wanted), FULL.id: Listener(FULL.wanted)}


def told(store: SubscriptionStore, at: datetime = NOW) -> tuple[bool, str | None]:
    """Return whether a message of the plain subscription is on its way, with news, and for which change."""
    listener = store.live(ALICE, at)[PLAIN.id]
    return listener.is_told, listener.asked_for


def test_a_subscription_needs_one_message(store: SubscriptionStore) -> None:
    for one in (PLAIN, FULL):
        store.begin(one)
    before = told(store)

    asked = [store.ask(ALICE, {PLAIN.id: "change 1", FULL.id: "change 1"}, NOW)]
    asked.append(store.ask(ALICE, {PLAIN.id: "change 2", "sub_unknown": "change 2"}, NOW))

    asked.append(store.ask(ALICE, {PLAIN.id: "change 1"}, NOW))

    assert (before, told(store)) == ((False, None), (True, "change 1"))
    assert asked == [[PLAIN.id, FULL.id], [], [PLAIN.id]], "a repetition gets the same answer"
    assert store.ask(ALICE, {PLAIN.id: "change 3"}, NOW + CARRIED) == [PLAIN.id], "the message was lost"
    assert store.ask(ALICE, {PLAIN.id: "change 4"}, NOW + HOUR) == [], "the subscription is over"


def test_who_claims_takes_the_news(store: SubscriptionStore) -> None:
    store.begin(PLAIN)
    store.ask(ALICE, {PLAIN.id: "change 1"}, NOW)
    until = NOW + timedelta(minutes=1)
    store.claim(ALICE, PLAIN.id, "m1", NOW, until)
    claimed = told(store)

    assert store.ask(ALICE, {PLAIN.id: "change 2"}, NOW) == [], "whoever has claimed it looks again"
    assert (claimed, told(store)) == ((False, None), (True, None))
    assert [store.finish(PLAIN, until), told(store)] == [False, (False, None)]
    assert store.claim(ALICE, PLAIN.id, "m2", NOW, until) is None, "the claim goes on"
    assert [store.finish(PLAIN, until), told(store)] == [True, (False, None)]
    assert store.ask(ALICE, {PLAIN.id: "change 3"}, NOW) == [PLAIN.id]


def test_a_message_that_comes_later_is_trusted_until_then(store: SubscriptionStore) -> None:
    store.begin(PLAIN)
    until, later = NOW + timedelta(minutes=1), NOW + timedelta(minutes=20)
    store.claim(ALICE, PLAIN.id, "m1", NOW, until)
    waiting = replace(PLAIN, standing=Standing(1, later, NOW, "timeout", None, "a message"))

    store.pause(waiting, until, later)

    assert store.ask(ALICE, {PLAIN.id: "change"}, later) == []
    assert store.claim(ALICE, PLAIN.id, "m1", NOW, until) == waiting, "the claim was given back"
    assert store.ask(ALICE, {PLAIN.id: "change"}, later) == [PLAIN.id], "and lasts no longer than the new one"


def test_a_refresh_sends_a_message_whatever_is_on_its_way(store: SubscriptionStore) -> None:
    store.begin(PLAIN)
    store.claim(ALICE, PLAIN.id, "m1", NOW, NOW + timedelta(minutes=1))
    store.ask(ALICE, {PLAIN.id: "change 1"}, NOW)

    store.refresh(PLAIN)

    assert store.ask(ALICE, {PLAIN.id: "change 2"}, NOW) == [PLAIN.id]
    assert not store.finish(PLAIN, NOW + timedelta(minutes=1)), "whoever delivers still looks again"


def test_a_caller_has_so_many_places(store: SubscriptionStore) -> None:
    later = NOW + RESERVATION

    assert [store.reserve(ALICE, one, NOW, 2) for one in ("a", "b", "c", "a")] == [True, True, False, True]
    assert store.reserve(BOB, "c", NOW, 2)
    assert store.reserve(ALICE, "c", later, 2), "nothing was written in the place that was reserved"


def test_a_place_is_free_when_its_subscription_is_over(store: SubscriptionStore) -> None:
    other = replace(PLAIN, url="https://other.example/")
    for one in (PLAIN, other):
        store.reserve(ALICE, one.id, NOW, 2)
        store.begin(one)
    later = NOW + RESERVATION

    assert not store.reserve(ALICE, "c", later, 2)
    store.delete(ALICE, other.id)
    assert store.reserve(ALICE, "c", later, 2)
    assert not store.reserve(ALICE, "d", later, 2)
    assert store.reserve(ALICE, "d", PLAIN.expires_at, 2)


@pytest.mark.parametrize("taken", [0, 1], ids=["the first ones", "later ones"])
def test_of_requests_that_read_the_same_places_one_gets_the_last(aws: None, taken: int) -> None:
    table = new_table()
    other = DynamoDbSubscriptionStore(Table(table, dynamodb_client))
    for number in range(taken):
        other.reserve(ALICE, f"before {number}", NOW, taken + 1)
    client, told = dynamodb_client(), list[bool]()

    class SlowClient:
        """Another request reserves between each read of this one and its write."""

        def __getattr__(self, name: str) -> Any:
            return getattr(client, name)

        def get_item(self, **request: Any) -> Any:
            found = client.get_item(**request)
            told.append(other.reserve(ALICE, "other", NOW, taken + 1))
            return found

    slow = DynamoDbSubscriptionStore(Table(table, lambda: cast(Any, SlowClient())))

    assert not slow.reserve(ALICE, "slow", NOW, taken + 1)
    assert told == [True, True]


def test_one_delivery_at_a_time(store: SubscriptionStore) -> None:
    store.begin(PLAIN)
    until = NOW + timedelta(minutes=1)
    store.claim(ALICE, PLAIN.id, "m1", NOW, until)

    assert store.claim(ALICE, PLAIN.id, "m1", NOW, until + HOUR) is None
    assert store.claim(ALICE, PLAIN.id, "m2", NOW, until) is None
    assert store.claim(ALICE, PLAIN.id, "m1", NOW, until) == PLAIN, "the same attempt, whose answer was lost"
    assert store.claim(ALICE, PLAIN.id, "m1", until, until + HOUR / 4) == PLAIN, "the claim of one that stopped lapses"
    assert store.claim(BOB, PLAIN.id, "m1", NOW, until) is None
    assert store.claim(ALICE, PLAIN.id, "m1", NOW + HOUR, NOW + 2 * HOUR) is None, "it has expired"


def test_a_finished_delivery_is_saved_and_gives_its_claim_back(store: SubscriptionStore) -> None:
    store.begin(PLAIN)
    until = NOW + timedelta(minutes=1)
    store.claim(ALICE, PLAIN.id, "m1", NOW, until)
    done = replace(PLAIN, position=Position(9, NOW + HOUR), standing=Standing(last_delivery_at=NOW))

    store.finish(done, until)

    assert store.claim(ALICE, PLAIN.id, "m1", NOW, until) == done


def test_who_has_lost_the_claim_saves_nothing(store: SubscriptionStore) -> None:
    store.begin(PLAIN)
    first = NOW + timedelta(minutes=1)
    store.claim(ALICE, PLAIN.id, "m1", NOW, first)
    store.claim(ALICE, PLAIN.id, "m1", first, first + HOUR / 4)

    store.finish(replace(PLAIN, position=Position(9, NOW)), first)
    store.finish(replace(FULL, position=Position(9, NOW)), first)
    store.pause(replace(PLAIN, position=Position(9, NOW)), first, NOW)

    assert store.load(ALICE, PLAIN.id) == PLAIN
    assert store.load(ALICE, FULL.id) is None


def test_a_refresh_keeps_the_position_that_was_reached_meanwhile(store: SubscriptionStore) -> None:
    store.begin(FULL)
    until = NOW + timedelta(minutes=1)
    store.claim(ALICE, FULL.id, "m1", NOW, until)
    refreshed = FULL.refreshed("whsec_two", NOW + 2 * HOUR, NOW)
    store.refresh(refreshed)
    assert store.claim(ALICE, FULL.id, "m2", NOW, until) is None

    store.finish(replace(FULL, position=Position(9, NOW), standing=Standing()), until)

    found = store.load(ALICE, FULL.id)
    assert found == replace(refreshed, position=Position(9, NOW), standing=Standing())


def test_a_refresh_keeps_its_standing_whatever_came_of_a_delivery_meanwhile(store: SubscriptionStore) -> None:
    store.begin(FULL)
    until = NOW + timedelta(minutes=1)
    store.claim(ALICE, FULL.id, "m1", NOW, until)
    refreshed = FULL.refreshed("whsec_two", NOW + 2 * HOUR, NOW)
    store.refresh(refreshed)
    suspended = replace(FULL, position=Position(9, NOW), standing=Standing(9, None, NOW, "timeout"))

    assert not store.pause(suspended, until, NOW + HOUR)
    assert store.load(ALICE, FULL.id) == (now := replace(refreshed, position=Position(9, NOW)))
    assert store.claim(ALICE, FULL.id, "m1", NOW, until) == now, "the claim was given back"
    assert store.pause(suspended, until, NOW + HOUR)


def test_a_refresh_of_a_deleted_subscription_writes_it(store: SubscriptionStore) -> None:
    store.refresh(PLAIN)

    assert store.load(ALICE, PLAIN.id) == PLAIN


def test_a_deleted_subscription_is_gone(store: SubscriptionStore) -> None:
    store.begin(PLAIN)

    assert store.delete(ALICE, PLAIN.id)
    assert not store.delete(ALICE, PLAIN.id)
    assert store.load(ALICE, PLAIN.id) is None


def test_a_proof_is_remembered_for_its_caller_url_and_time(store: SubscriptionStore) -> None:
    store.set_verified(ALICE, URL, NOW + HOUR)

    assert store.is_verified(ALICE, URL, NOW)
    assert not store.is_verified(ALICE, URL, NOW + HOUR)
    assert not store.is_verified(BOB, URL, NOW)
    assert not store.is_verified(ALICE, URL + "2", NOW)
