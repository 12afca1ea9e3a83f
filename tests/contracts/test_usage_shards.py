"""The contract of TaskStore for callers with more than a thousand slots, which several items count."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest

from stepwire.aws.storage.limiter import CallerUsage, usage_key
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import DynamoDbTaskStore, task_store
from stepwire.engine.ports import TaskStore
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.limiter import Limits, Refused, SlotsTaken, home_of
from tests.contracts.task_stores import a_task
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table, write_units

GATEWAY = Limits(active=10_000, per_minute=60_000)
FIVE_SHARDS = Limits(active=1_250, per_minute=60_000)
"""Of 250 slots each."""


def on_store() -> DynamoDbTaskStore:
    return task_store(Table(new_table(), quick_dynamodb_client))


def keys_of(shard: int, limits: Limits, count: int) -> list[TaskKey]:
    """Return tasks whose home is this shard."""
    keys = (a_task(number=number).key for number in range(1, 1_000_000))
    return list(islice((key for key in keys if home_of(key.task_id, limits) == shard), count))


def put_ids(store: DynamoDbTaskStore, shard: int, ids: list[str]) -> dict[str, Any]:
    """Write the item of a shard, and return it."""
    item = {**usage_key(ALICE, shard), "active": {"SS": ids}}
    quick_dynamodb_client().put_item(TableName=store.table.name, Item=item)
    return item


def fill(store: DynamoDbTaskStore, limits: Limits, free: int) -> None:
    """Take all slots, but leave one in each of the last shards."""
    for shard in range(limits.shards):
        most = limits.share(shard).active - (shard >= limits.shards - free)
        put_ids(store, shard, [a_task(BOB, number=1_000_000 + 1_000 * shard + one).task_id for one in range(most)])


def fill_home(store: TaskStore, shard: int) -> list[TaskKey]:
    """Take the slots of one of the five shards, and return the tasks."""
    keys = keys_of(shard, FIVE_SHARDS, FIVE_SHARDS.share(shard).active)
    for key in keys:
        assert store.slots.reserve(key, FIVE_SHARDS, START_OF_TIME) == shard
    return keys


@contextmanager
def counted(store: DynamoDbTaskStore) -> Generator[list[str]]:
    """Yield the names of the calls that the store makes."""
    made = list[str]()

    def note(model: Any, **_: object) -> None:
        made.append(model.name)

    events: Any = store.table.client.meta.events  # pyright: ignore[reportPrivateUsage] - the client that it has built
    events.register("before-call.dynamodb", note, unique_id="counted")
    yield made
    events.unregister("before-call.dynamodb", unique_id="counted")


def reserved(store: TaskStore, key: TaskKey, limits: Limits) -> int:
    """Reserve a slot, which must be there, and return its shard."""
    shard = store.slots.reserve(key, limits, START_OF_TIME)
    assert isinstance(shard, int)
    return shard


def test_a_slot_at_home_is_one_write_and_freed_by_one(aws: None) -> None:
    store = on_store()
    (key,) = keys_of(7, GATEWAY, 1)

    with counted(store) as made:
        shard = reserved(store, key, GATEWAY)
        store.slots.release(ALICE, frozenset({key.task_id}), shard)

    assert (shard, made) == (7, ["UpdateItem", "UpdateItem"])


# S12
def test_ten_thousand_slots_keep_the_items_of_a_creation_below_ten_write_units(aws: None) -> None:
    most = GATEWAY.share(7).active

    item = put_ids(on_store(), 7, [a_task(number=one).task_id for one in range(most)])

    assert most == 250
    assert write_units(item) <= 10


# S11
def test_a_task_whose_home_is_full_gets_a_slot_elsewhere_and_keeps_it_when_it_is_retried(store: TaskStore) -> None:
    home = fill_home(store, 1)
    other = keys_of(1, FIVE_SHARDS, len(home) + 1)[-1]

    shard = store.slots.reserve(other, FIVE_SHARDS, START_OF_TIME)

    assert shard != 1
    assert store.slots.reserve(other, FIVE_SHARDS, START_OF_TIME) == shard


# T27, S10
@pytest.mark.parametrize("free", [0, 1, 3])
def test_of_concurrent_reservations_exactly_the_free_slots_are_given(aws: None, free: int) -> None:
    store, limits = on_store(), Limits(active=1_009, per_minute=60_000)
    fill(store, limits, free)

    def refusal_of(key: TaskKey) -> Refused | None:
        refused = store.slots.reserve(key, limits, START_OF_TIME)
        return refused if isinstance(refused, Refused) else None

    with ThreadPoolExecutor(4) as pool:
        refusals = list(pool.map(refusal_of, (a_task(number=number).key for number in range(1, 9))))

    assert refusals.count(None) == free
    assert {len(list(one.slots())) for one in refusals if isinstance(one, SlotsTaken)} == {limits.active}


# S11
def test_a_slot_is_freed_in_the_shard_that_counts_it(store: TaskStore) -> None:
    home = fill_home(store, 1)
    second, third = keys_of(1, FIVE_SHARDS, len(home) + 2)[-2:]

    for _ in range(3):
        store.slots.release(ALICE, frozenset({home[0].task_id}), 1)

    assert store.slots.reserve(second, FIVE_SHARDS, START_OF_TIME) == 1
    assert store.slots.reserve(third, FIVE_SHARDS, START_OF_TIME) in {0, 2, 3, 4}


def test_an_undone_reservation_uses_nothing_of_its_shard(store: TaskStore) -> None:
    limits = Limits(active=FIVE_SHARDS.active, per_minute=5)  # one task a minute in each shard
    first, second, third = keys_of(1, limits, 3)
    shard = reserved(store, first, limits)

    for _ in range(3):
        store.slots.unreserve(first, limits, shard)

    assert store.slots.reserve(second, limits, START_OF_TIME) == 1
    assert store.slots.reserve(third, limits, START_OF_TIME) in {0, 2, 3, 4}


def test_the_rate_is_divided_and_whoever_is_over_it_learns_when_to_return(store: TaskStore) -> None:
    limits = Limits(active=FIVE_SHARDS.active, per_minute=10)
    keys = [a_task(number=number).key for number in range(1, 13)]

    found = [store.slots.reserve(key, limits, START_OF_TIME) for key in keys]

    refused = found[-1]
    assert sum(isinstance(one, int) for one in found) == 10
    assert isinstance(refused, Refused)
    assert not isinstance(refused, SlotsTaken)
    assert timedelta() < refused.retry_after <= timedelta(seconds=30)


def test_calls_without_a_slot_count_against_the_rate_of_all_shards(aws: None) -> None:
    store = on_store()
    rate, limits = (
        CallerUsage(Table(store.table.name, quick_dynamodb_client)),
        Limits(FIVE_SHARDS.active, per_minute=10),
    )

    for _ in range(10):
        assert rate.count(ALICE, limits, START_OF_TIME) is None

    assert isinstance(rate.count(ALICE, limits, START_OF_TIME), Refused)
