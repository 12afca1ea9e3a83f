"""Admitting a caller's next task: the cost of a refused call, and how slots are freed again."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from stepwire.aws.storage.task_store import DynamoDbTaskStore
from stepwire.errors import LimitReached, StoreBusy
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey, new_task_id
from stepwire.tasks.task import Cancelled, Task
from stepwire.tasks.usage import Limits, Usage
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
    store = DynamoDbTaskStore("a table", lambda: cast(Any, client))

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
    world.store.reserve(key, world.limits, world.clock.now())

    world.store.unreserve(key, world.limits)

    assert world.store.usage[ALICE] == before == Usage(before.active, START_OF_TIME + timedelta(seconds=1))
