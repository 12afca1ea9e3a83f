"""Repeated calls, at the same time or later: they share one task and one slot, and count once for the rate."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from stepwire.errors import StartRefused
from stepwire.tasks.usage import Limits
from tests.fakes import nothing
from tests.kits import ALICE, OUTPUT, World
from tests.server.answers import Answer, Json
from tests.server.clients import FORM_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

KEY = "order-7"
ARGUMENTS: Json = {"text": "x"}
Client = LegacyClient | ModernClient
eras = pytest.mark.parametrize("era", ["legacy", "modern"])


def client_of(world: World, era: str) -> Client:
    """Make a client that can all."""
    if era == "legacy":
        return LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    return ModernClient(world, capabilities={**TASKS_CAPABILITY, **FORM_CAPABILITY})


def called(client: Client, key: str | None, arguments: Json = ARGUMENTS, tool: str = "optional") -> str:
    """Call a tool as a task, and return the task's id, or the error's code."""
    params: Json = {"name": tool, "arguments": arguments}
    headers = None if key is None else {"idempotency-key": key}
    as_task: Json = {"task": {}} if isinstance(client, LegacyClient) else {}
    answer = client.ask("tools/call", {**params, **as_task}, headers=headers)
    found = answer.body.get("result", {})
    return str(found.get("task", found).get("taskId") or answer.code)


def meanwhile(world: World, where: str, act: Callable[[], object]) -> None:
    """Do something in the midst of the next call: before it writes its task, or before its execution starts."""
    if where == "before its task is written":
        world.store.before_create = act
        return

    def once() -> None:
        world.workflows.on_start = nothing
        act()

    world.workflows.on_start = once


# X8: the others found no slot, though their task was being made in it.
@eras
@pytest.mark.parametrize("where", ["before its task is written", "before it starts"])
@pytest.mark.parametrize("most_active", [1, 2])
def test_calls_with_one_key_at_one_moment_all_get_one_task_in_one_slot(era: str, where: str, most_active: int) -> None:
    world = World(limits=Limits(active=most_active))
    client, given = client_of(world, era), list[str]()
    meanwhile(world, where, lambda: given.append(called(client, KEY)))

    given.append(called(client, KEY))

    assert len(set(given)) == 1
    assert world.store.usage[ALICE].active == set(given)
    assert len(world.workflows.running()) == 1


# T27: what another call with the same key reserved for nothing was no room for anybody else.
@eras
def test_calls_with_one_key_at_one_moment_take_no_slot_of_another_call(era: str) -> None:
    world = World(limits=Limits(active=2))
    client, given = client_of(world, era), list[str]()

    def meet() -> None:
        given.extend([called(client, KEY), called(client, "another", {"text": "y"})])

    meanwhile(world, "before its task is written", meet)

    given.append(called(client, KEY))

    assert given[0] == given[2] != given[1]
    assert world.store.usage[ALICE].active == set(given)


# T27
@eras
def test_calls_with_one_key_use_up_the_rate_of_one(era: str) -> None:
    world = World(limits=Limits(per_minute=10))
    client, given = client_of(world, era), list[str]()

    def meet() -> None:
        given.extend(called(client, KEY) for _ in range(11))

    meanwhile(world, "before its task is written", meet)
    given.append(called(client, KEY))

    others = [called(client, None) for _ in range(9)]

    assert len(set(given)) == 1
    assert "-31002" not in others
    assert called(client, None) == "-31002"


# T27: otherwise its owner would run out of slots.
@pytest.mark.parametrize("ended", [False, True])
def test_a_confirmation_that_is_repeated_uses_up_the_rate_of_one_and_leads_to_its_task(*, ended: bool) -> None:
    world = World(limits=Limits(per_minute=10))
    client = client_of(world, "modern")
    asked = client.ask("tools/call", {"name": "confirmed", "arguments": ARGUMENTS}).result

    def confirm() -> Answer:
        more = {"requestState": asked["requestState"], "inputResponses": {"confirm": {"action": "accept"}}}
        return client.ask("tools/call", {"name": "confirmed", "arguments": ARGUMENTS, **more})

    task_id = confirm().result["taskId"]
    if ended:
        world.succeed(task_id, OUTPUT)

    repeated = [confirm().result["taskId"] for _ in range(12)]

    assert set(repeated) == {task_id}
    assert "-31002" not in [called(client, None) for _ in range(9)]


# T27: whoever looked for the task before it was there, and reserves after it has ended, gives all back.
def test_a_call_that_comes_upon_its_task_when_that_has_ended_uses_up_nothing() -> None:
    world = World(limits=Limits(per_minute=2))
    client, given = client_of(world, "modern"), list[str]()

    def meet() -> None:
        given.append(called(client, KEY))
        world.succeed(given[0], OUTPUT)

    meanwhile(world, "before its task is written", meet)
    given.append(called(client, KEY))

    assert len(set(given)) == 1
    assert world.store.usage[ALICE].active == frozenset()
    assert called(client, None) != "-31002"


# T27
def test_a_call_whose_start_is_refused_uses_up_nothing() -> None:
    world = World(limits=Limits(active=1, per_minute=1))
    client = client_of(world, "modern")
    world.workflows.start_fault = StartRefused("it is not there")
    refused = called(client, KEY)
    world.workflows.start_fault = None

    again = called(client, KEY)

    assert refused == "-32603"
    assert [task.task_id for task in world.store.tasks.values()] == [again]


# X8: refused at the limit, because another with the same key had just made their task, and it has ended since.
@eras
def test_a_call_that_finds_no_slot_looks_for_its_task_before_it_is_refused(era: str) -> None:
    world = World(limits=Limits(active=1))
    client, given = client_of(world, era), list[str]()
    reserve = world.store.reserve

    def late(*args: object) -> None:
        world.store.reserve = reserve
        given.append(called(client, KEY))
        world.succeed(given[0], OUTPUT)
        called(client, None, {"text": "y"})
        reserve(*args)  # type: ignore[arg-type] - whatever it was called with

    world.store.reserve = late  # type: ignore[method-assign] - one call comes late

    given.append(called(client, KEY))

    assert len(set(given)) == 1


@eras
@pytest.mark.parametrize("tool", ["optional", "confirmed"])
def test_a_key_whose_call_died_before_its_task_was_written_makes_it_later(era: str, tool: str, world: World) -> None:
    if (era, tool) == ("modern", "confirmed"):
        pytest.skip("asks before there is a task")
    client = client_of(world, era)

    def die() -> None:
        raise SystemExit

    world.store.before_create = die
    with pytest.raises(SystemExit):
        called(client, KEY, tool=tool)

    world.clock.advance(seconds=1)
    soon = called(client, KEY, tool=tool)
    again = called(client, KEY, tool=tool)

    assert soon == again
    assert world.store.usage[ALICE].active == {soon}


# Whoever went on with the claim may still be making its task: a second one must not begin beside it.
@pytest.mark.parametrize(("seconds", "tasks"), [(30, 1), (31, 0), (60, 0), (61, 1)])
def test_a_key_whose_call_died_is_claimed_anew_when_nobody_can_be_making_its_task(
    seconds: int, tasks: int, world: World
) -> None:
    client = client_of(world, "modern")

    def die() -> None:
        raise SystemExit

    world.store.before_create = die
    with pytest.raises(SystemExit):
        called(client, KEY)
    world.clock.advance(seconds=seconds)

    called(client, KEY)

    assert len(world.store.tasks) == tasks


@eras
@pytest.mark.parametrize("arguments", [ARGUMENTS, {"text": "another"}])
def test_a_key_is_free_when_its_task_is_gone(era: str, arguments: Json, world: World) -> None:
    client = client_of(world, era)
    first = called(client, KEY)
    world.clock.advance(days=2)

    again = called(client, KEY, arguments)

    assert again not in {first, "-31003"}
    assert called(client, KEY, arguments) == again


# X8: the key was gone with the first ttl, and the confirmed task was there for another hour.
def test_a_key_is_kept_as_long_as_a_task_that_was_confirmed_late(world: World) -> None:
    client = client_of(world, "legacy")
    task_id = called(client, KEY, tool="confirmed")
    world.clock.advance(minutes=14)
    ModernClient(world, capabilities=TASKS_CAPABILITY).update(task_id, {"confirm": {"action": "accept"}})
    world.clock.advance(minutes=47)

    again = called(client, KEY, tool="confirmed")

    assert again == task_id
    claim = next(iter(world.store.keys.values()))
    assert claim.expires_at > next(iter(world.store.tasks.values())).expires_at + timedelta(days=1)


# The id of a confirmed task is given out with its question: its slot must not pass for one whose call died long ago.
def test_a_confirmed_call_keeps_its_slot_while_another_looks_for_one() -> None:
    world = World(limits=Limits(active=1))
    client = client_of(world, "modern")
    params: Json = {"name": "confirmed", "arguments": ARGUMENTS}
    asked = client.ask("tools/call", params).result
    world.clock.advance(minutes=14)
    others = list[str]()
    meanwhile(world, "before its task is written", lambda: others.append(called(client, None)))

    more = {"requestState": asked["requestState"], "inputResponses": {"confirm": {"action": "accept"}}}
    task_id = client.ask("tools/call", {**params, **more}).result["taskId"]

    assert others == ["-31002"]
    assert world.store.usage[ALICE].active == {task_id}
