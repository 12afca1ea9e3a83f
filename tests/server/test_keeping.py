"""How long results are kept: as long as the tool promises, even if the ttl ends sooner, and at most a month."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.tasks.task import LONGEST_KEPT, LONGEST_TTL, Task
from tests.kits import CONFIRMED, OPTIONAL, OUTPUT, World, catalog_of
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient

KEEP: Final = timedelta(days=1)
KEEPING: Final = replace(OPTIONAL, name="keeping", keep_result=KEEP)
BRIEF: Final = replace(OPTIONAL, name="brief", keep_result=timedelta(minutes=1))
PATIENT: Final = replace(OPTIONAL, name="patient", ttl=LONGEST_TTL)
CAREFUL: Final = replace(CONFIRMED, name="careful", keep_result=KEEP)
JUST_BEFORE: Final = OPTIONAL.ttl - timedelta(seconds=1)


@pytest.fixture
def world() -> World:
    """A world with tools that promise to keep results."""
    return World(catalog=catalog_of(KEEPING, BRIEF, PATIENT, CAREFUL))


ENDS: Final[dict[str, Callable[[World, str], object]]] = {
    "succeeds": lambda world, task_id: world.succeed(task_id, OUTPUT),
    "fails": lambda world, task_id: world.fail(task_id),
    "is cancelled": lambda world, task_id: ModernClient(world).task("cancel", task_id),
}


def only_task(world: World) -> Task:
    (task,) = world.store.tasks.values()
    return task


@pytest.mark.parametrize("how", ENDS)
def test_the_result_of_a_task_that_ends_just_before_its_ttl_is_kept_as_promised(world: World, how: str) -> None:
    client = ModernClient(world)
    task_id = client.start("keeping")
    world.clock.time += JUST_BEFORE
    ENDS[how](world, task_id)

    world.clock.time += KEEP - timedelta(seconds=1)
    at_the_end = client.task("get", task_id)
    world.clock.time += timedelta(seconds=1)
    after_it = client.task("get", task_id)

    assert at_the_end.result["ttlMs"] == (JUST_BEFORE + KEEP) / timedelta(milliseconds=1)
    assert after_it.code == -32602


def test_the_result_of_a_task_that_ends_early_is_kept_until_its_ttl(world: World) -> None:
    task_id = ModernClient(world).start("brief")
    world.succeed(task_id, OUTPUT)

    assert only_task(world).kept == BRIEF.ttl


@pytest.mark.parametrize(
    ("day", "kept"),
    [(1, timedelta(days=1) + LONGEST_KEPT), (300, timedelta(days=300) + LONGEST_KEPT), (360, LONGEST_TTL)],
)
def test_a_task_may_run_for_most_of_a_year_and_its_result_is_kept_for_a_month_at_most(
    world: World, day: int, kept: timedelta
) -> None:
    client = ModernClient(world)
    task_id = client.start("patient")
    world.clock.time += timedelta(days=day)
    running = client.task("get", task_id).result
    world.succeed(task_id, OUTPUT)

    world.clock.time += kept - timedelta(days=day, seconds=1)
    at_the_end = client.task("get", task_id).result
    world.clock.time += timedelta(seconds=1)

    assert (running["status"], running["ttlMs"]) == ("working", LONGEST_TTL // timedelta(milliseconds=1))
    assert (at_the_end["status"], at_the_end["ttlMs"]) == ("completed", kept // timedelta(milliseconds=1))
    assert client.task("get", task_id).code == -32602


def test_a_task_that_has_not_ended_expires_with_its_ttl(world: World) -> None:
    task_id = ModernClient(world).start("keeping")

    world.clock.time += KEEPING.ttl

    assert ModernClient(world).task("get", task_id).code == -32602


def test_legacy_clients_get_a_kept_result_too(world: World) -> None:
    client = LegacyClient(world)
    task_id = client.start("keeping")
    world.clock.time += JUST_BEFORE
    world.succeed(task_id, OUTPUT)
    world.clock.time += KEEP / 2

    assert client.task("result", task_id).result["structuredContent"] == OUTPUT
    assert [one["taskId"] for one in client.ask("tasks/list").result["tasks"]] == [task_id]


def test_a_declined_task_is_kept_too(world: World) -> None:
    client = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)
    task_id = client.call("careful", task={}).id_in("task")
    world.clock.time += timedelta(minutes=5)
    ModernClient(world, capabilities={"extensions": {"io.modelcontextprotocol/tasks": {}}}).update(
        task_id, {"confirm": {"action": "decline"}}
    )

    assert only_task(world).kept == timedelta(minutes=5) + KEEP


def test_a_later_event_does_not_extend_the_ttl_of_an_ended_task(world: World) -> None:
    task_id = ModernClient(world).start("keeping")
    world.succeed(task_id, OUTPUT)
    ended = only_task(world)
    world.clock.time += timedelta(minutes=30)

    world.progress(task_id, 50)
    ModernClient(world).task("cancel", task_id)

    assert only_task(world) == ended
