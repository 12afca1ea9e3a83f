"""Races as clients and operators meet them: keys, expiry, fetching of results, refused follow-ups, the audit trail."""

import json

import pytest

from stepwire.audit import AuditAction, AuditEntry, EndSource
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.errors import NotFollowedUp
from stepwire.tasks.outcomes import Running
from stepwire.tasks.runs import META_RACE, Pending
from stepwire.tasks.task import Task
from tests.kits import ALICE, ARGUMENTS, OUTPUT, TOOLS, World, catalog_of
from tests.races import BROKEN, WON, racing
from tests.server.clients import ModernClient
from tests.server.fetching import Client, without_tasks

TOOL = racing(3, 0, 0, 60)


@pytest.fixture
def world() -> World:
    return World(catalog=catalog_of(*TOOLS, TOOL))


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """A client of each era that has no tasks and cannot be asked."""
    return without_tasks(world, request.param)


def lost(world: World, task: Task) -> Task:
    for letter in "abc":
        world.end_arm(task, letter, BROKEN)
    return world.stored(task)


# R17, T27
def test_calls_with_one_key_are_one_race_also_at_once(world: World) -> None:
    client = ModernClient(world)
    params = {"name": TOOL.name, "arguments": ARGUMENTS}
    headers = {"idempotency-key": "a-key"}

    def meet() -> None:
        given.append(client.ask("tools/call", params, headers=headers).id_in())

    given = list[str]()
    world.store.before_create = meet
    given.append(client.ask("tools/call", params, headers=headers).id_in())
    given.append(client.ask("tools/call", params, headers=headers).id_in())

    assert len(set(given)) == 1
    assert sorted(one.name[-2:] for one in world.workflows.running()) == ["-a", "-b"]
    assert len(world.store.tasks) == 1


# R21
def test_the_expiry_of_a_race_stops_every_arm_and_starts_none(world: World) -> None:
    task = world.call(TOOL)
    world.clock.time += task.ttl

    world.expirations.record(world.stored(task))
    world.engine.runs.wake(task.key, 2)

    assert world.workflows.running() == ()
    assert len(world.workflows.starts) == 2
    assert world.store.usage[ALICE].active == frozenset()
    assert world.audit[-1].action is AuditAction.EXPIRED


def test_the_tool_that_fetches_gives_the_result_and_who_won(world: World, client: Client) -> None:
    task = world.call(TOOL)
    world.end_arm(task, "a", BROKEN)
    meanwhile = client.call("task_result", {"task_id": task.task_id, "wait_seconds": 0})
    world.end_arm(task, "b", WON)

    fetched = client.call("task_result", {"task_id": task.task_id}).result

    assert "fast failed with Busy; left: slow, spare." in meanwhile.text
    assert fetched["structuredContent"] == OUTPUT
    assert fetched["_meta"][META_RACE]["winner"] == "slow"


def test_the_tool_that_fetches_gives_the_errors_of_all_arms(world: World, client: Client) -> None:
    task = lost(world, world.call(TOOL))

    fetched = client.call("task_result", {"task_id": task.task_id}).result

    assert fetched["isError"]
    assert json.dumps(fetched["content"]).count("failed with Busy") == 3


def test_the_tool_that_cancels_stops_every_arm(world: World, client: Client) -> None:
    task = world.call(TOOL)

    client.call("task_cancel", {"task_id": task.task_id})

    assert world.workflows.running() == ()
    assert not world.stored(task).runs_pending(Pending.STOP)


# R15
def test_an_operator_cannot_continue_a_race(world: World) -> None:
    task = lost(world, world.call(TOOL))
    starts = len(world.workflows.starts)

    with pytest.raises(NotFollowedUp, match="raced, and the others were stopped: its caller calls the tool again"):
        world.engine.follow_ups.redrive(task.key)

    assert world.stored(task) == task
    assert len(world.workflows.starts) == starts


def test_a_redrive_of_an_arm_in_the_console_changes_nothing(world: World) -> None:
    task = lost(world, world.call(TOOL))

    world.events.record(ExecutionStatusChange(task.execution_of(0), Running(redrives=1)))

    assert world.store.tasks == {task.key: task}


def test_the_audit_trail_names_the_winner(world: World) -> None:
    won, none = world.call(TOOL), world.call(TOOL)
    world.end_arm(won, "b", WON)
    lost(world, none)

    first, second = (entry for entry in world.audit if entry.action is AuditAction.ENDED)
    assert first == AuditEntry(
        AuditAction.ENDED,
        ALICE,
        TOOL.name,
        won.task_id,
        "completed",
        first.duration,
        EndSource.EVENT,
        winner="slow",
    )
    assert (second.outcome, second.winner) == ("completed_with_error", None)
