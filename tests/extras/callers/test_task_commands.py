"""An operator counts and cancels the tasks of one caller, in bounded parts, of which any may be repeated."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from stepwire.background.commands import TASKS, obeyed
from stepwire.errors import RoleDenied, StopRefused, StopThrottled, StoreBusy
from stepwire.extras.callers.tasks import BUDGET, COMMANDS, MOST_CANCELLED, MOST_COUNTED
from stepwire.tasks.limiter import Limits
from stepwire.tasks.task import Cancelled
from tests.kits import ALICE, BOB, CONFIRMED, OUTPUT, World

ADMIN = "arn:aws:sts::123456789012:assumed-role/operators/olga"


def commanded(world: World, command: str, after: str | None = None) -> dict[str, Any]:
    event = {"command": command, "owner": ALICE, "operator": ADMIN, **({"after": after} if after else {})}
    return obeyed(event, TASKS, COMMANDS, world.engine)["done"]


def all_cancelled(world: World) -> list[dict[str, Any]]:
    """Command until nothing is left."""
    answers = [commanded(world, "cancel_tasks")]
    while answers[-1]["after"] is not None:
        answers.append(commanded(world, "cancel_tasks", answers[-1]["after"]))
    return answers


def raising(*faults: Exception | None) -> Callable[[], None]:
    """Return what raises these, one at each call, and then nothing."""
    left = iter(faults)

    def act() -> None:
        fault = next(left, None)
        if fault is not None:
            raise fault

    return act


def test_what_runs_is_cancelled_and_what_has_ended_is_passed_over() -> None:
    world = World()
    ended, other, *running = [world.call(owner=owner) for owner in (ALICE, BOB, ALICE, ALICE)]
    running.append(world.call(CONFIRMED))
    world.succeed(ended.task_id, OUTPUT)

    counted, (answer,) = commanded(world, "count_tasks"), all_cancelled(world)

    assert counted == {"running": 3, "ended": 1, "after": None}
    assert answer == {"cancelled": 3, "ended": 1, "failed": [], "after": None, "is_busy": False}
    assert {world.stored(task).status for task in running} == {
        Cancelled("The task was cancelled by the operator of this endpoint.")
    }
    assert not world.stored(other).has_ended
    noted = [entry for entry in world.audit if entry.action.word == "cancelled"]
    assert [(entry.owner, entry.operator) for entry in noted] == [(ALICE, ADMIN)] * 3
    assert {stop.cause for stop in world.workflows.stops} == {"Cancelled by the operator."}


def test_many_are_counted_and_cancelled_in_parts() -> None:
    world = World(limits=Limits(active=500, per_minute=500))
    for _ in range(MOST_COUNTED + 20):
        world.call()

    first = commanded(world, "count_tasks")
    second = commanded(world, "count_tasks", first["after"])
    answers = all_cancelled(world)

    assert (first["running"], second["running"], second["after"]) == (MOST_COUNTED, 20, None)
    assert [one["cancelled"] for one in answers] == [MOST_CANCELLED, MOST_CANCELLED, 20]
    assert not world.workflows.running()


def test_a_command_ends_in_time_and_the_next_goes_on() -> None:
    world = World()
    for _ in range(5):
        world.call()
    world.workflows.before_stop = lambda: world.clock.advance(seconds=BUDGET.total_seconds() / 2)

    answers = all_cancelled(world)

    assert [one["cancelled"] for one in answers] == [2, 2, 1]


@pytest.mark.parametrize("fault", [StopThrottled(), StoreBusy()])
def test_weather_is_said_and_the_same_command_goes_on_afterwards(fault: Exception) -> None:
    world = World()
    tasks = [world.call() for _ in range(3)]
    world.workflows.before_stop = raising(None, fault)

    first = commanded(world, "cancel_tasks")
    second = commanded(world, "cancel_tasks", first["after"])

    assert (first["cancelled"], first["is_busy"], first["after"]) == (1, True, tasks[-1].task_id)
    assert (second["cancelled"], second["is_busy"], second["after"]) == (2, False, None)
    assert world.troubles == [fault]


@pytest.mark.parametrize("fault", [StopRefused("it may not be stopped"), RoleDenied()])
def test_what_cannot_be_cancelled_is_named_and_the_others_are_cancelled(fault: Exception) -> None:
    world = World()
    tasks = [world.call() for _ in range(3)]
    world.workflows.before_stop = raising(None, fault)

    (answer,) = all_cancelled(world)

    assert (answer["cancelled"], [one["task_id"] for one in answer["failed"]]) == (2, [tasks[1].task_id])
    assert "stop" in answer["failed"][0]["reason"] or "goes on" in answer["failed"][0]["reason"]


def test_a_task_that_ends_meanwhile_has_ended() -> None:
    world = World()
    task = world.call()
    world.workflows.before_stop = lambda: world.succeed(task.task_id, OUTPUT)

    (answer,) = all_cancelled(world)

    assert (answer["cancelled"], answer["ended"]) == (0, 1)


def test_expired_tasks_count_as_nothing() -> None:
    world = World()
    world.call()
    world.clock.time += timedelta(days=30)

    assert commanded(world, "count_tasks") == {"running": 0, "ended": 0, "after": None}
