"""Repeated calls, at the same time or later: they share one task and one slot, and count once for the rate."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from stepwire.changes import BusEvent, Removal, status_event
from stepwire.errors import StartRefused, StartRefusedForNow
from stepwire.tasks.ids import TaskId
from stepwire.tasks.inputs import LONGEST_CONFIRMATION
from stepwire.tasks.limiter import Limits
from stepwire.tasks.task import Task
from tests.changes import removed, saved
from tests.fakes import nothing
from tests.faults.boundary import ProcessDied
from tests.kits import ALICE, CONFIRMED, OUTPUT, World
from tests.server.answers import Answer, Json
from tests.server.clients import FORM_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

KEY = "order-7"
ARGUMENTS: Json = {"text": "x"}
Client = LegacyClient | ModernClient
eras = pytest.mark.parametrize("era", ["legacy", "modern"])


def client_of(world: World, era: str) -> Client:
    """Return a client of this era with all capabilities."""
    if era == "legacy":
        return LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    return ModernClient(world, capabilities={**TASKS_CAPABILITY, **FORM_CAPABILITY})


def called(
    client: Client, key: str | None, arguments: Json = ARGUMENTS, tool: str = "optional", *, in_meta: bool = False
) -> str:
    """Call a tool with a task; return the task's id, or the error's code."""
    params: Json = {"name": tool, "arguments": arguments}
    headers = None if key is None or in_meta else {"idempotency-key": key}
    meta: Json = {"stepwire/idempotencyKey": key} if in_meta else {}
    if isinstance(client, LegacyClient):
        answer = client.ask("tools/call", {**params, "task": {}, "_meta": meta}, headers=headers)
    else:
        answer = client.ask("tools/call", params, headers=headers, meta=meta)
    found = answer.body.get("result", {})
    return str(found.get("task", found).get("taskId") or answer.code)


def meanwhile(world: World, where: str, act: Callable[[], object]) -> None:
    """Do something during the next call: before it writes its task, or before its execution starts."""
    if where == "before its task is written":
        world.store.before_create = act
        return

    def once() -> None:
        world.workflows.on_start = nothing
        act()

    world.workflows.on_start = once


# X8: one slot is enough, because the calls share their task.
@eras
@pytest.mark.parametrize("where", ["before its task is written", "before it starts"])
@pytest.mark.parametrize("most_active", [1, 2])
def test_concurrent_calls_with_one_key_share_one_task_and_one_slot(era: str, where: str, most_active: int) -> None:
    world = World(limits=Limits(active=most_active))
    client, given = client_of(world, era), list[str]()
    meanwhile(world, where, lambda: given.append(called(client, KEY)))

    given.append(called(client, KEY))

    assert len(set(given)) == 1
    assert world.store.usage[ALICE].active == set(given)
    assert len(world.workflows.running()) == 1


# T27: a concurrent call with the same key reserves no second slot.
@eras
def test_concurrent_calls_with_one_key_leave_the_other_slots_free(era: str) -> None:
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
def test_calls_with_one_key_count_once_for_the_rate_limit(era: str) -> None:
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


# T27: otherwise the owner would run out of slots.
@pytest.mark.parametrize("ended", [False, True])
def test_a_repeated_confirmation_counts_once_for_the_rate_limit_and_gets_the_task(*, ended: bool) -> None:
    world = World(limits=Limits(per_minute=10))
    client = client_of(world, "modern")
    asked = client.ask("tools/call", {"name": "confirmed", "arguments": ARGUMENTS}).result

    def confirm() -> Answer:
        more = {"requestState": asked["requestState"], "inputResponses": {"confirm": {"action": "accept"}}}
        return client.ask("tools/call", {"name": "confirmed", "arguments": ARGUMENTS, **more})

    task_id = confirm().result["taskId"]
    if ended:
        world.succeed(task_id, OUTPUT)

    repeated = [confirm().result for _ in range(12)]

    assert {one["taskId"] for one in repeated} == {task_id}
    assert all(one["_meta"]["stepwire/repeated"] for one in repeated)
    assert "-31002" not in [called(client, None) for _ in range(9)]


# T27: a call that reserves a slot after its task has ended releases the slot.
def test_a_call_that_finds_its_task_ended_uses_no_slot_and_no_rate() -> None:
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
def test_a_call_whose_start_is_refused_uses_no_slot_and_no_rate() -> None:
    world = World(limits=Limits(active=1, per_minute=1))
    client = client_of(world, "modern")
    world.workflows.start_fault = StartRefused("it is not there")
    refused = called(client, KEY)
    world.workflows.start_fault = None

    again = called(client, KEY)

    assert refused == "-32603"
    assert [task.task_id for task in world.store.tasks.values()] == [again]


# T27
def test_the_events_of_a_task_that_was_taken_back_and_made_anew_have_ids_of_their_own(world: World) -> None:
    client, changes, stored = client_of(world, "modern"), list[BusEvent | None](), list[Task]()
    world.store.written = lambda before, after: changes.append(status_event(saved(before, after)))
    world.workflows.on_start = lambda: stored.extend(world.store.tasks.values())
    world.workflows.start_fault = StartRefusedForNow("too many run")
    called(client, KEY)
    changes.append(status_event(removed(stored[0], Removal.REMOVED, world.clock.now())))
    world.workflows.start_fault = None
    world.clock.advance(seconds=5)

    task_id = called(client, KEY)
    world.succeed(TaskId(task_id), OUTPUT)

    told = [one.detail for one in changes if one]
    assert [one["status"] for one in told] == ["working", "removed", "working", "completed"]
    assert {one["task_id"] for one in told} == {task_id}
    assert len({one["event_id"] for one in told}) == len(told)


# X8: the slot was taken by a call with the same key, whose task has ended since.
@eras
def test_a_call_without_a_slot_looks_for_its_task_before_it_is_refused(era: str) -> None:
    world = World(limits=Limits(active=1))
    client, given = client_of(world, era), list[str]()
    reserve = world.store.reserve

    def late(*args: object) -> int:
        world.store.reserve = reserve
        given.append(called(client, KEY))
        world.succeed(given[0], OUTPUT)
        called(client, None, {"text": "y"})
        return reserve(*args)  # type: ignore[arg-type] - the arguments are passed on unchanged

    world.store.reserve = late  # type: ignore[method-assign] - one call comes late

    given.append(called(client, KEY))

    assert len(set(given)) == 1


@eras
@pytest.mark.parametrize("tool", ["optional", "confirmed"])
def test_a_repeated_call_creates_the_task_if_the_first_process_died_before_it_did(
    era: str, tool: str, world: World
) -> None:
    if (era, tool) == ("modern", "confirmed"):
        pytest.skip("a modern call asks before there is a task")
    client = client_of(world, era)

    world.store.before_create = die
    with pytest.raises(ProcessDied):
        called(client, KEY, tool=tool)

    world.clock.advance(seconds=1)
    soon = called(client, KEY, tool=tool)
    again = called(client, KEY, tool=tool)

    assert soon == again
    assert world.store.usage[ALICE].active == {soon}


# Another process may still be creating the task of the claim, so a second task must not start beside it.
@pytest.mark.parametrize(("seconds", "tasks"), [(30, 1), (31, 0), (60, 0), (61, 1)])
def test_a_claim_without_a_task_is_replaced_when_no_process_can_still_be_creating_it(
    seconds: int, tasks: int, world: World
) -> None:
    client = client_of(world, "modern")

    world.store.before_create = die
    with pytest.raises(ProcessDied):
        called(client, KEY)
    world.clock.advance(seconds=seconds)

    called(client, KEY)

    assert len(world.store.tasks) == tasks


# Its process may still be writing the task until then.
@pytest.mark.parametrize(("seconds", "tasks"), [(60, 0), (60.001, 1)])
def test_the_slot_of_a_call_that_died_is_free_when_no_process_can_still_be_creating_its_task(
    seconds: float, tasks: int
) -> None:
    world = World(limits=Limits(active=1))
    client = client_of(world, "modern")
    world.store.before_create = die
    with pytest.raises(ProcessDied):
        called(client, None)
    world.clock.advance(seconds=seconds)

    called(client, None)

    assert len(world.store.tasks) == tasks


@eras
@pytest.mark.parametrize("arguments", [ARGUMENTS, {"text": "another"}])
def test_a_key_is_free_after_its_task_has_expired(era: str, arguments: Json, world: World) -> None:
    client = client_of(world, era)
    first = called(client, KEY)
    world.clock.advance(days=2)

    again = called(client, KEY, arguments)

    assert again not in {first, "-31003"}
    assert called(client, KEY, arguments) == again


# X8: the ttl of the key must grow with that of the confirmed task.
def test_a_key_lives_as_long_as_its_task_even_if_that_was_confirmed_late(world: World) -> None:
    client = client_of(world, "legacy")
    task_id = called(client, KEY, tool="confirmed")
    world.clock.advance(minutes=14)
    ModernClient(world, capabilities=TASKS_CAPABILITY).update(task_id, {"confirm": {"action": "accept"}})
    world.clock.advance(minutes=47)

    again = called(client, KEY, tool="confirmed")

    assert again == task_id
    claim = next(iter(world.store.keys.values()))
    assert claim.expires_at > next(iter(world.store.tasks.values())).expires_at + timedelta(days=1)


# The id of a confirmed task is as old as its question, but its slot must not be reclaimed as that of a dead call.
def test_a_confirmed_call_keeps_its_slot_while_another_call_reclaims_slots() -> None:
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


# -------------------------------------------------------------------------------------------------- the keys of clients


@eras
@pytest.mark.parametrize("in_meta", [False, True])
def test_a_repeated_call_gets_the_same_task_and_starts_nothing_new(era: str, in_meta: bool, world: World) -> None:
    client = client_of(world, era)

    ids = {called(client, KEY, in_meta=in_meta) for _ in range(3)}

    assert len(ids) == 1
    assert len(world.workflows.starts) == 1


@eras
@pytest.mark.parametrize("throttled", [set[str](), {"describe"}])
def test_a_repeated_call_starts_what_a_call_that_died_has_not(era: str, throttled: set[str], world: World) -> None:
    client = client_of(world, era)
    world.workflows.on_start = die
    with pytest.raises(ProcessDied):
        called(client, KEY)
    world.workflows.on_start = nothing

    world.workflows.throttled |= throttled
    task_id = called(client, KEY)
    world.workflows.throttled -= throttled
    client.task("get", task_id)

    assert len(world.workflows.running()) == 1


def die() -> None:
    raise ProcessDied


def test_a_repeated_call_that_nobody_confirmed_in_time_starts_nothing(world: World) -> None:
    client = LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    params = {"name": CONFIRMED.name, "arguments": {"text": "x"}, "task": {}}
    first = client.ask("tools/call", params, headers={"idempotency-key": KEY}).result["task"]["taskId"]
    world.clock.time += LONGEST_CONFIRMATION

    again = client.ask("tools/call", params, headers={"idempotency-key": KEY}).result["task"]

    assert (again["taskId"], again["status"]) == (first, "failed")
    assert world.workflows.starts == []


def test_a_repeated_call_from_either_era_gets_the_task_in_any_status(world: World) -> None:
    task_id = called(LegacyClient(world), KEY)
    world.succeed(task_id, OUTPUT)

    answer = ModernClient(world).ask(
        "tools/call", {"name": "optional", "arguments": {"text": "x"}}, headers={"idempotency-key": KEY}
    )

    assert (answer.result["taskId"], answer.result["status"]) == (task_id, "completed")


@eras
def test_a_task_is_not_removed_after_a_repeated_call_got_its_handle(era: str, world: World) -> None:
    client = client_of(world, era)
    given: list[str] = []

    def repeat() -> None:
        world.workflows.on_start = nothing
        given.append(called(client, KEY))
        world.workflows.start_fault = StartRefusedForNow("too many are running")

    world.workflows.on_start = repeat
    given.append(called(client, KEY))
    world.workflows.start_fault = None
    world.clock.time += world.intervals.repair

    status = client.task("get", given[0]).result["status"]

    assert given == given[:1] * 2
    assert status == "working"
    assert len(world.workflows.running()) == 1
    assert world.store.usage[ALICE].active == frozenset(given)


@eras
def test_a_key_with_other_arguments_is_refused(era: str, world: World) -> None:
    client = client_of(world, era)
    called(client, KEY)

    refused = client.ask(
        "tools/call", {"name": "optional", "arguments": {"text": "y"}}, headers={"idempotency-key": KEY}
    )

    assert (refused.code, refused.error["message"]) == (
        -31003,
        "The idempotency key was used for another tool or with other arguments: use another key.",
    )
    assert len(world.workflows.starts) == 1


@pytest.mark.parametrize(
    "equal", [{"text": "x", "count": 1.0}, {"count": 1, "text": "x"}], ids=["another notation", "another order"]
)
def test_equal_arguments_make_equal_calls(equal: Json, modern: ModernClient, world: World) -> None:
    first, again = (called(modern, KEY, arguments) for arguments in ({"text": "x", "count": 1}, equal))

    assert again == first
    assert len(world.workflows.starts) == 1


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256])
def test_an_invalid_key_is_refused(key: str, world: World) -> None:
    assert called(LegacyClient(world), key, in_meta=True) == "-32602"
    assert world.workflows.starts == []


def test_a_repeated_call_at_the_limit_still_gets_its_task() -> None:
    world = World(limits=Limits(active=1))
    client = ModernClient(world)

    first, again = called(client, KEY), called(client, KEY)

    assert first == again
