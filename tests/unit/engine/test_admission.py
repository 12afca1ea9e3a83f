"""Admitting a caller's next task: the cost of a refused call, and how slots are freed again."""

from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any, cast

import pytest
from msgspec.structs import replace

from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import task_store
from stepwire.engine.limiter import Admission
from stepwire.errors import LimitReached, StoreBusy
from stepwire.principal import Principal
from stepwire.tasks.events import WorkStopped
from stepwire.tasks.ids import TaskId, TaskKey, new_task_id
from stepwire.tasks.limiter import MOST_IN_ONE, Limits, Usage, home_of
from stepwire.tasks.task import Cancelled, Task
from tests.fakes import START_OF_TIME, InMemoryTaskStore
from tests.kits import ALICE, World

MANY = 100


class Watched(InMemoryTaskStore):
    """A store that records how many tasks are read at once, and may be busy."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[int] = []
        self.is_busy = False

    def load_many(self, owner: Principal, task_ids: frozenset[TaskId]) -> dict[TaskId, Task]:
        self.read.append(len(task_ids))
        if self.is_busy:
            raise StoreBusy
        return super().load_many(owner, task_ids)


def full(store: InMemoryTaskStore) -> World:
    """Give a caller as many active tasks as are allowed."""
    world = World(limits=Limits(active=MANY, per_minute=60_000), store=store)
    for _ in range(MANY):
        world.call()
    return world


def test_a_refused_call_reads_a_quarter_of_a_hundred_tasks() -> None:
    store = Watched()
    world = full(store)

    with pytest.raises(LimitReached):
        world.call()

    assert store.read == [25]


@pytest.mark.parametrize(("seconds", "reads"), [(0, 1), (9.9, 1), (10, 2)])
def test_refused_calls_read_tasks_at_most_once_in_10_seconds(seconds: float, reads: int) -> None:
    store = Watched()
    world = full(store)

    for _ in range(3):
        with pytest.raises(LimitReached):
            world.call()
    world.clock.advance(seconds=seconds)
    store.calls.clear()
    with pytest.raises(LimitReached):
        world.call()

    assert len(store.read) == reads
    assert store.calls == (["reserve"] if reads == 1 else ["reserve", "begin_reclaim", "load_many"])


# Every active task must be checked, even if a caller has more than a hundred.
@pytest.mark.parametrize("ended", [0, 40, MANY - 1])
def test_every_active_task_is_checked_in_turn(ended: int) -> None:
    world = full(Watched())
    key = sorted(world.store.tasks, key=lambda one: one.task_id)[ended]
    world.store.tasks[key] = replace(world.store.tasks[key], status=Cancelled())
    admitted = 0

    for _ in range(4):
        world.clock.advance(seconds=10)
        try:
            world.call()
        except LimitReached:
            continue
        admitted += 1

    assert admitted == 1


def test_a_call_at_the_limit_is_refused_with_the_limit_while_the_store_is_busy() -> None:
    store = Watched()
    world = full(store)
    store.is_busy = True

    with pytest.raises(LimitReached):
        world.call()


class Crowded:
    """A DynamoDB whose tasks are so large that one response has no room for all."""

    def __init__(self, answers: int) -> None:
        self.calls = 0
        self._answers = answers

    def batch_get_item(self, RequestItems: dict[str, dict[str, list[object]]]) -> dict[str, object]:  # noqa: N803 - boto3's
        self.calls += 1
        left = {} if self.calls == self._answers else RequestItems
        return {"Responses": {}, "UnprocessedKeys": left}


@pytest.mark.parametrize(("answers", "calls"), [(1, 1), (3, 3), (9, 5)])
def test_unprocessed_keys_of_a_batch_read_are_requested_again(answers: int, calls: int) -> None:
    client = Crowded(answers)
    store = task_store(Table("a table", lambda: cast(Any, client)))

    try:
        store.load_many(ALICE, frozenset({new_task_id(START_OF_TIME, bytes(16))}))
    except StoreBusy:
        assert answers > calls

    assert client.calls == calls


def test_undoing_a_reservation_restores_the_rate() -> None:
    world = World(limits=Limits(per_minute=60))
    world.call()
    before = world.store.usage[ALICE]
    key = TaskKey(ALICE, new_task_id(world.clock.now(), bytes(16)))
    world.store.slots.reserve(key, world.limits, world.clock.now())

    world.store.slots.unreserve(key, world.limits)

    assert world.store.usage[ALICE] == before == Usage(before.active, START_OF_TIME + timedelta(seconds=1))


GATEWAY = Limits(active=MOST_IN_ONE + 1, per_minute=600_000)
"""With five shards."""


def call_of_a_gateway(world: World) -> Task:
    return world.recorder.require(ALICE, world.call().task_id)


def taken(world: World, shard: int) -> frozenset[str]:
    """Return the slots of a shard that are taken."""
    return (world.store.usage_shards[ALICE][shard] if shard else world.store.usage[ALICE]).active


def fill(world: World, twice: Task) -> int:
    """Take all slots for calls that have just begun, with a second one for this task, and return the shard of that."""
    soon, numbers = world.clock.now() + timedelta(hours=1), count()
    second = (twice.usage_shard + 1) % GATEWAY.shards
    for shard in range(GATEWAY.shards):
        own = {twice.usage_shard: [twice.task_id], second: [twice.task_id]}.get(shard, [])
        free = GATEWAY.share(shard).active - len(own)
        ids = [new_task_id(soon, next(numbers).to_bytes(16, "big")) for _ in range(free)]
        usage = Usage(frozenset([*ids, *own]), world.clock.now())
        if shard:
            world.store.usage_shards.setdefault(ALICE, {})[shard] = usage
        else:
            world.store.usage[ALICE] = usage
    return second


def calls_until_each_slot_had_its_turn(world: World) -> int:
    """Call again and again, and return how many calls were admitted."""
    admitted = 0
    for _ in range(-(-GATEWAY.active // 25)):
        world.clock.advance(seconds=10)
        with suppress(LimitReached):
            world.call()
            admitted += 1
    return admitted


# S11
def test_a_task_knows_which_shard_counts_it_and_its_end_frees_that() -> None:
    world = World(limits=GATEWAY)
    first, second = call_of_a_gateway(world), call_of_a_gateway(world)

    for task in (first, second):
        world.recorder.record(task, WorkStopped("stopped"))

    assert [one.usage_shard for one in (first, second)] == [home_of(one.task_id, GATEWAY) for one in (first, second)]
    assert [taken(world, one.usage_shard) for one in (first, second)] == [frozenset(), frozenset()]


def test_a_second_slot_of_a_task_is_reclaimed_and_its_own_is_not() -> None:
    """A request died after it had reserved one; its retry found room in another shard."""
    world = World(limits=GATEWAY)
    task = call_of_a_gateway(world)
    second = fill(world, task)

    admitted = calls_until_each_slot_had_its_turn(world)

    assert admitted == 1
    assert task.task_id in taken(world, task.usage_shard)
    assert task.task_id not in taken(world, second)


def test_a_request_whose_task_another_has_created_gives_back_only_a_slot_of_its_own() -> None:
    world = World(limits=GATEWAY)
    task = call_of_a_gateway(world)
    second = fill(world, task)
    admission = Admission(world.recorder, GATEWAY)

    admission.give_back_unless_active(task)
    admission.give_back_unless_active(replace(task, usage_shard=second))

    assert task.task_id in taken(world, task.usage_shard)
    assert task.task_id not in taken(world, second)


@pytest.mark.parametrize("active", [1, 1_000, 1_001, 1_250, 1_251, 2_500, 9_999, 10_000])
def test_the_shares_of_all_shards_are_the_limits(active: int) -> None:
    limits = Limits(active=active, per_minute=600)

    shares = [limits.share(shard) for shard in range(limits.shards)]

    assert sum(share.active for share in shares) == active
    assert sum(share.per_minute for share in shares) == pytest.approx(600)
    assert max(share.active for share in shares) - min(share.active for share in shares) <= 1
    assert {home_of(new_task_id(START_OF_TIME, bytes([n] * 16)), limits) for n in range(256)} <= set(range(len(shares)))
