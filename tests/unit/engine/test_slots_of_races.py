"""A race takes one slot of its caller's limit, as any task, until it ends."""

from collections.abc import Callable

import pytest

from stepwire.errors import LimitReached
from stepwire.tasks.limiter import Limits
from stepwire.tasks.task import Task
from tests.kits import ALICE, World
from tests.races import BROKEN, WON, racing


def won(world: World, task: Task) -> None:
    world.end_arm(task, "b", WON)


def lost(world: World, task: Task) -> None:
    for letter in "abc":
        world.end_arm(task, letter, BROKEN)


def cancelled(world: World, task: Task) -> None:
    world.operations.cancel(ALICE, task.task_id)


def expired(world: World, task: Task) -> None:
    world.expirations.record(world.stored(task))


# R24
@pytest.mark.parametrize("ends", [won, lost, cancelled, expired])
def test_a_race_holds_one_slot_and_every_end_frees_it(ends: Callable[[World, Task], None]) -> None:
    world = World(limits=Limits(active=2))
    task = world.call(racing(3))
    assert world.store.usage[ALICE].active == {task.task_id}

    ends(world, task)

    assert world.store.usage[ALICE].active == frozenset()
    assert world.workflows.running() == ()


def test_an_arm_that_has_ended_leaves_the_slot_to_the_race() -> None:
    world = World(limits=Limits(active=1))
    task = world.call(racing(3))

    world.end_arm(task, "a", BROKEN)

    with pytest.raises(LimitReached):
        world.call(racing(3))


def test_a_race_is_one_call_of_the_rate() -> None:
    world = World(limits=Limits(per_minute=2))

    world.call(racing(3))
    world.call(racing(3))

    with pytest.raises(LimitReached, match="created per minute"):
        world.call(racing(3))
