"""A race with `slots: each` takes a slot of its caller's limit for each arm: all or none, until the task ends."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.engine.calls import ToolCall
from stepwire.errors import LimitReached, StartRefused, StoreBusy, WorkflowNotStarted
from stepwire.principal import Principal
from stepwire.tasks.ids import slot_names
from stepwire.tasks.task import Task
from stepwire.tasks.usage import Limits, Usage
from tests.fakes import InMemoryTaskStore
from tests.kits import ALICE, ARGUMENTS, OPTIONAL, World
from tests.races import BROKEN, WON, racing

EACH: Final = racing(3, has_slot_each=True)


def taken(world: World) -> int:
    """Return how many of a caller's slots are taken."""
    return len(world.store.usage.get(ALICE, Usage()).active)


def with_most(active: int) -> World:
    return World(limits=Limits(active=active))


# R24
def test_a_race_takes_a_slot_for_each_arm_and_its_end_frees_them() -> None:
    world = with_most(4)
    task = world.call(EACH)
    assert world.store.calls == ["reserve", "create", "load"]

    with pytest.raises(LimitReached) as refused:
        world.call(EACH)
    world.call(OPTIONAL)
    world.end_arm(task, "b", WON)

    assert str(refused.value) == (
        "This call counts as 3 tasks, one for each arm of its race. At most 4 tasks may be active at once: wait for "
        "one to end, or cancel one."
    )
    assert taken(world) == 1
    world.call(EACH)
    assert taken(world) == 4


def test_an_arm_that_has_ended_keeps_its_slot_while_the_race_goes_on() -> None:
    world = with_most(3)
    task = world.call(EACH)

    world.end_arm(task, "a", BROKEN)

    assert taken(world) == 3


def lost(world: World, task: Task) -> None:
    for letter in "abc":
        world.end_arm(task, letter, BROKEN)


def cancelled(world: World, task: Task) -> None:
    world.operations.cancel(ALICE, task.task_id)


def expired(world: World, task: Task) -> None:
    world.expirations.record(world.stored(task))


# R24
@pytest.mark.parametrize("ends", [lost, cancelled, expired])
def test_every_end_frees_all_slots(ends: Callable[[World, Task], None]) -> None:
    world = with_most(3)
    task = world.call(EACH)

    ends(world, task)

    assert taken(world) == 0
    assert world.workflows.running() == ()


def test_a_race_that_cannot_start_gives_all_slots_and_the_rate_back() -> None:
    world = with_most(3)
    world.workflows.start_fault = StartRefused("its state machine no longer exists")

    with pytest.raises(WorkflowNotStarted):
        world.call(EACH)

    assert world.store.usage[ALICE] == Usage(frozenset(), world.clock.now())


def test_a_race_is_one_call_of_the_rate() -> None:
    world = World(limits=Limits(per_minute=2))

    world.call(EACH)
    world.call(EACH)

    with pytest.raises(LimitReached, match="created per minute"):
        world.call(EACH)


# R24
def test_a_race_with_more_arms_than_a_caller_has_slots_says_that_it_can_never_begin() -> None:
    world = with_most(2)

    with pytest.raises(WorkflowNotStarted) as refused:
        world.call(EACH)

    assert str(refused.value) == (
        "The workflow of racing cannot run here: it counts as 3 active tasks, one for each arm of its race, of at most "
        "2 (MostActiveTasks). Its operator can change either."
    )
    assert world.store.calls == []


class _DiesAfterReserving(InMemoryTaskStore):
    is_dying = True

    def create(self, task: Task) -> Task:
        if self.is_dying:
            raise ConnectionError
        return super().create(task)


@pytest.mark.parametrize(("seconds", "is_admitted"), [(60, False), (61, True)])
def test_the_slots_of_a_call_that_died_are_reclaimed_after_a_minute(seconds: int, is_admitted: bool) -> None:
    store = _DiesAfterReserving()
    world = World(limits=Limits(active=3), store=store)
    with pytest.raises(ConnectionError):
        world.call(EACH)
    assert taken(world) == 3
    store.is_dying = False
    world.clock.advance(seconds=seconds)

    if is_admitted:
        world.call(EACH)
    else:
        with pytest.raises(LimitReached):
            world.call(EACH)

    assert taken(world) == 3


class _KeepsSlots(InMemoryTaskStore):
    """A store that frees nothing when a task ends."""

    may_release = False

    def release(self, owner: Principal, slots: frozenset[str], shard: int = 0) -> None:
        if not self.may_release:
            raise StoreBusy
        super().release(owner, slots, shard)


def test_slots_that_an_end_could_not_free_are_reclaimed_at_the_limit() -> None:
    store = _KeepsSlots()
    world = World(limits=Limits(active=5), store=store)
    ended, running = world.call(EACH), world.call(OPTIONAL)
    world.end_arm(ended, "a", WON)
    assert taken(world) == 4
    store.may_release = True

    task = world.call(EACH)

    assert store.usage[ALICE].active == slot_names(task.task_id, 3) | {running.task_id}


def test_all_slots_are_in_one_shard_with_room_for_all() -> None:
    limits = Limits(active=1_250, per_minute=60_000)
    world = World(limits=limits)
    nearly_full = Usage(frozenset(str(one) for one in range(248)))
    world.store.usage[ALICE] = nearly_full
    world.store.usage_shards[ALICE] = dict.fromkeys((1, 2, 4), nearly_full)

    task = world.call(EACH)

    assert task.usage_shard == 3
    assert world.store.usage_shards[ALICE][3].active == slot_names(task.task_id, 3)
    assert {one.active for shard, one in world.store.usage_shards[ALICE].items() if shard != 3} == {nearly_full.active}


def test_a_confirmed_call_holds_its_slots_while_it_asks() -> None:
    world = with_most(3)
    call = ToolCall(ALICE, replace(EACH, confirmation=world.catalog.find("confirmed").confirmation), ARGUMENTS, None)
    assert call.tool.confirmation is not None

    task = world.calls.begin(call, call.tool.confirmation).task

    assert taken(world) == 3
    world.operations.cancel(ALICE, task.task_id)
    assert taken(world) == 0


def test_slots_of_a_race_that_has_expired_unseen_are_reclaimed() -> None:
    world = with_most(3)
    task = world.call(EACH)
    world.clock.time += task.ttl + timedelta(seconds=1)

    world.call(EACH)

    assert taken(world) == 3
