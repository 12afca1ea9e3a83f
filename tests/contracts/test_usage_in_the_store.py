"""The contract of TaskStore for limits and idempotency keys, for the one in memory and the one on DynamoDB."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import task_store
from stepwire.engine.ports import KeyClaim, TaskStore
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.limiter import Limits, Refused, SlotsTaken
from stepwire.tasks.task import LONGEST_TTL
from tests.contracts.task_stores import a_task, on_dynamodb
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table

GENEROUS = Limits(active=1000, per_minute=60_000)


def keys(count: int) -> list[TaskKey]:
    return [a_task(number=number).key for number in range(1, count + 1)]


def reserved(store: TaskStore, key: TaskKey, limits: Limits, at: datetime) -> None:
    """Reserve a slot, which must be there."""
    assert isinstance(store.slots.reserve(key, limits, at), int)


def refused_to(store: TaskStore, key: TaskKey, limits: Limits, at: datetime) -> Refused:
    """Return why there is no slot."""
    refused = store.slots.reserve(key, limits, at)
    assert isinstance(refused, Refused)
    return refused


def test_a_caller_at_the_limit_is_refused_with_the_usage(store: TaskStore) -> None:
    first, second, third = keys(3)
    limits = replace(GENEROUS, active=2)
    reserved(store, first, limits, START_OF_TIME)
    reserved(store, second, limits, START_OF_TIME)

    refused = refused_to(store, third, limits, START_OF_TIME)

    assert isinstance(refused, SlotsTaken)
    assert refused.usage.active == {first.task_id, second.task_id}


@pytest.mark.usefixtures("aws")
def test_a_slot_is_kept_as_long_as_a_task_may_run() -> None:
    table = Table(new_table(), quick_dynamodb_client)

    reserved(task_store(table), keys(1)[0], GENEROUS, START_OF_TIME)

    (item,) = table.query("pk = :owner", {":owner": {"S": ALICE}})
    assert int(item["expires_at"]["N"]) > (START_OF_TIME + LONGEST_TTL).timestamp()


def test_releasing_a_slot_is_idempotent(store: TaskStore) -> None:
    first, second, third = keys(3)
    limits = replace(GENEROUS, active=1)
    reserved(store, first, limits, START_OF_TIME)

    for _ in range(3):
        store.slots.release(ALICE, frozenset({first.task_id}))
    reserved(store, second, limits, START_OF_TIME)

    assert refused_to(store, third, limits, START_OF_TIME)


def test_slots_are_reclaimed_at_most_once_in_10_seconds(store: TaskStore) -> None:
    first, second = keys(2)
    limits = replace(GENEROUS, active=1)
    reserved(store, first, limits, START_OF_TIME)

    begun = [store.slots.begin_reclaim(ALICE, START_OF_TIME + timedelta(seconds=at)) for at in (0, 9.999, 10, 10)]
    refused = refused_to(store, second, limits, START_OF_TIME)

    assert begun == [True, False, True, False]
    assert isinstance(refused, SlotsTaken)
    assert refused.usage.reclaimed_at == START_OF_TIME + timedelta(seconds=10)


def test_reserving_is_idempotent_per_task(store: TaskStore) -> None:
    (key,) = keys(1)
    limits = replace(GENEROUS, active=1, per_minute=1)

    reserved(store, key, limits, START_OF_TIME)
    reserved(store, key, limits, START_OF_TIME)

    store.slots.release(ALICE, frozenset({key.task_id}))


def test_usage_is_separate_per_caller(store: TaskStore) -> None:
    limits = Limits(active=1, per_minute=1)
    reserved(store, a_task(ALICE).key, limits, START_OF_TIME)

    reserved(store, a_task(BOB).key, limits, START_OF_TIME)


@pytest.mark.parametrize("per_minute", [1, 3, 60])
def test_the_creation_rate_is_limited_per_minute(store: TaskStore, per_minute: int) -> None:
    limits = replace(GENEROUS, per_minute=per_minute)
    *within, over = keys(per_minute + 1)
    for key in within:
        reserved(store, key, limits, START_OF_TIME)

    refused = refused_to(store, over, limits, START_OF_TIME)

    assert not isinstance(refused, SlotsTaken)
    reserved(store, over, limits, START_OF_TIME + refused.retry_after)


def test_an_idle_caller_has_the_full_rate_again(store: TaskStore) -> None:
    limits = replace(GENEROUS, per_minute=2)
    first, second, third, fourth = keys(4)
    reserved(store, first, limits, START_OF_TIME)
    reserved(store, second, limits, START_OF_TIME)
    later = START_OF_TIME + timedelta(hours=1)

    reserved(store, third, limits, later)
    reserved(store, fourth, limits, later)


def test_undoing_a_reservation_is_idempotent(store: TaskStore) -> None:
    limits = replace(GENEROUS, per_minute=2)
    first, second, third = keys(3)
    reserved(store, first, limits, START_OF_TIME)
    reserved(store, second, limits, START_OF_TIME)

    for _ in range(3):
        store.slots.unreserve(first, limits)

    reserved(store, first, limits, START_OF_TIME)
    assert refused_to(store, third, limits, START_OF_TIME)


def a_claim(number: int = 1, call_digest: str = "a call") -> KeyClaim:
    """Return the claim of a key for the task with this number."""
    return KeyClaim(a_task(number=number).task_id, call_digest, START_OF_TIME, START_OF_TIME + timedelta(days=1))


def test_a_key_leads_to_its_task(store: TaskStore) -> None:
    claimed = store.claim_key(ALICE, "a key", a_claim())

    assert claimed is None
    assert store.load_key_claim(ALICE, "a key") == a_claim()
    assert store.load_key_claim(ALICE, "another") is None
    assert store.load_key_claim(BOB, "a key") is None


def test_a_claimed_key_returns_the_existing_claim(store: TaskStore) -> None:
    store.claim_key(ALICE, "a key", a_claim())

    other = store.claim_key(ALICE, "a key", a_claim(2, "another call"))

    assert other == a_claim()
    assert store.load_key_claim(ALICE, "a key") == a_claim()


def test_a_claim_whose_response_was_lost_can_be_retried(store: TaskStore) -> None:
    store.claim_key(ALICE, "a key", a_claim())

    assert store.claim_key(ALICE, "a key", a_claim()) is None


@pytest.mark.parametrize(("instead", "holder"), [(1, 3), (2, 1)])
def test_only_the_abandoned_claim_is_replaced(store: TaskStore, instead: int, holder: int) -> None:
    store.claim_key(ALICE, "a key", a_claim())

    other = store.claim_key(ALICE, "a key", a_claim(3), replacing=a_claim(instead).task_id)

    assert other == (None if holder == 3 else a_claim(holder))
    assert store.load_key_claim(ALICE, "a key") == a_claim(holder)


def test_a_batch_read_returns_only_existing_tasks(store: TaskStore) -> None:
    there, elsewhere = store.create(a_task(number=1)), store.create(a_task(BOB, number=2))
    missing = a_task(number=3)

    found = store.load_many(ALICE, frozenset({there.task_id, elsewhere.task_id, missing.task_id}))

    assert found == {there.task_id: there}


def test_a_batch_read_of_any_owners_returns_only_existing_tasks(store: TaskStore) -> None:
    tasks = [store.create(a_task(owner, number=number)) for owner in (ALICE, BOB) for number in range(60)]
    missing = a_task(number=61)

    found = store.load_all([tasks[0].key, missing.key, *(task.key for task in tasks)])

    assert found == {task.key: task for task in tasks}


def test_a_caller_with_no_slot_is_refused_although_none_is_taken(store: TaskStore) -> None:
    (key,) = keys(1)

    refused = refused_to(store, key, replace(GENEROUS, active=0), START_OF_TIME)

    assert isinstance(refused, SlotsTaken)


def test_concurrent_reservations_never_exceed_the_limit(aws: None) -> None:
    store = on_dynamodb(task_store)()
    limits = Limits(active=20, per_minute=60_000)

    def counted(key: TaskKey) -> bool:
        return isinstance(store.slots.reserve(key, limits, START_OF_TIME), int)

    with ThreadPoolExecutor(16) as pool:
        taken = sum(pool.map(counted, keys(100)))

    full = refused_to(store, a_task(number=1_000).key, limits, START_OF_TIME)
    assert isinstance(full, SlotsTaken)
    assert len(full.usage.active) == taken == limits.active
