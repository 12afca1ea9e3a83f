"""No caller sees, changes or looks up another caller's tasks, whichever ids and tokens of the other it presents."""

from collections.abc import Callable
from datetime import timedelta
from itertools import cycle
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stepwire.engine.ports import TaskPage, WatchedTask
from stepwire.principal import Principal
from stepwire.protocol.tokens import Continuation, Kind, StreamPosition, Subject, TaskNews, state_of
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.task import Task
from tests.fakes import InMemoryTaskStore
from tests.kits import ALICE, ARGUMENTS, BOB, OPTIONAL, SECRET, World
from tests.server.answers import Answer
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import ACCEPT
from tests.server.two_callers import (
    ACTS,
    EVENTS,
    IMPATIENT,
    Turn,
    ask_for_result,
    asks,
    check_turn,
    cursor_of,
    modern_of,
    names,
    start_legacy_task,
    start_modern_task,
    two,
)

RESUMED: Final = {"jsonrpc": "2.0", "id": "r", "method": "tasks/result"}
"""The request whose stream is resumed."""


def legacy_of(world: World, owner: Principal) -> LegacyClient:
    return LegacyClient.opened(world, owner=owner, capabilities=ASKING_CAPABILITY)


def keyed_call(world: World, owner: Principal) -> Answer:
    params = {"name": "optional", "arguments": ARGUMENTS}
    return modern_of(world, owner).ask("tools/call", params, headers={"idempotency-key": "k"})


def call_again_with_state(world: World, task_id: str, kind: Kind) -> Answer:
    """Repeat a call with a requestState that is signed for ALICE, but names the given task."""
    subject = Subject(ALICE, "optional", ARGUMENTS)
    until = world.clock.now() + timedelta(hours=1)
    state = state_of(Continuation(kind, task_id, 1), subject, until, SECRET)
    return ModernClient(world, ALICE, ASKING_CAPABILITY).call("optional", more={"requestState": state})


def resumes(world: World, task_id: str, *, is_call: bool) -> Answer:
    event_id = StreamPosition("r", TaskNews(task_id, is_call, 0)).event_id()
    return legacy_of(world, ALICE).resume(event_id, opened_by=RESUMED)


def list_after(world: World, task_id: str) -> Answer:
    return legacy_of(world, ALICE).ask("tasks/list", {"cursor": cursor_of(task_id)})


def asked_for_events(world: World, method: str, task_id: str) -> Answer:
    delivery = {"mode": "webhook", "url": "https://hooks.example/", "secret": "whsec_" + "cw" * 16 + "cw=="}
    params = {"name": "task.finished", "arguments": {"taskId": task_id}, "delivery": delivery}
    return modern_of(world, ALICE).ask(method, params)


def without_tasks(world: World) -> ModernClient:
    """Return a client whose model reads its tasks by tools."""
    return ModernClient(world, ALICE, {})


OWN_TOOLS: Final[dict[str, dict[str, object]]] = {
    "task_result": {"wait_seconds": 0},
    "task_answer": {"question": "approval", "answer": {"amount": 7}},
    "task_cancel": {},
}
# ------------------------------------------------------------------------------ unknown, expired and foreign are alike

Asked = Callable[[World, str], Answer]
LOOKED_UP: Final[dict[str, Asked]] = {
    "legacy tasks/get": lambda world, one: legacy_of(world, ALICE).task("get", one),
    "legacy tasks/result": lambda world, one: legacy_of(world, ALICE).task("result", one),
    "legacy tasks/result, not resumed": lambda world, one: LegacyClient(world).task("result", one),
    "legacy tasks/cancel": lambda world, one: legacy_of(world, ALICE).task("cancel", one),
    "legacy tasks/list": list_after,
    "a posted answer": lambda world, one: legacy_of(world, ALICE).respond({"id": f"{one}.1"}, result=ACCEPT),
    "a posted refusal": lambda world, one: legacy_of(world, ALICE).respond(
        {"id": f"{one}.1"}, error={"code": -1, "message": "no"}
    ),
    "the stream of a result": lambda world, one: resumes(world, one, is_call=False),
    "the stream of a call": lambda world, one: resumes(world, one, is_call=True),
    "modern tasks/get": lambda world, one: modern_of(world, ALICE).task("get", one),
    "modern tasks/update": lambda world, one: modern_of(world, ALICE).update(one, {"approval": ACCEPT}),
    "modern tasks/cancel": lambda world, one: modern_of(world, ALICE).task("cancel", one),
    "subscriptions/listen": lambda world, one: modern_of(world, ALICE).listen({"taskIds": [one]}),
    "the next round": lambda world, one: call_again_with_state(world, one, Kind.FOLLOW),
    "an idempotency key, legacy": lambda world, _: legacy_of(world, ALICE).ask(
        "tools/call", {"name": "optional", "arguments": ARGUMENTS, "task": {}}, headers={"idempotency-key": "k"}
    ),
    "an idempotency key, modern": lambda world, _: keyed_call(world, ALICE),
    "events/poll": lambda world, one: asked_for_events(world, "events/poll", one),
    "events/subscribe": lambda world, one: asked_for_events(world, "events/subscribe", one),
    **{
        tool: lambda world, one, tool=tool: without_tasks(world).call(tool, {"task_id": one, **OWN_TOOLS[tool]})
        for tool in OWN_TOOLS
    },
    "a request that was cancelled": lambda world, _: legacy_of(world, ALICE).notify(
        "notifications/cancelled", {"requestId": 1}
    ),
}
"""Every way in which a caller can name a task."""


def world_with(owner: Principal | None, ttl: timedelta) -> tuple[World, str]:
    """Return a world whose task asked a question two hours ago; without an owner, the task is deleted."""
    world = World(patience=IMPATIENT)
    task_id = keyed_call(world, owner or ALICE).id_in()
    world.ask(task_id)
    (task,) = world.store.tasks.values()
    world.store.tasks[task.key] = replace(task, ttl=ttl)
    if owner is None:
        world.store.tasks.clear()
        world.store.keys.clear()
    world.clock.advance(hours=2)
    world.store.calls.clear()
    return world, task_id


def check_answered_alike(asked: Asked) -> None:
    """Compare the answers about tasks that the caller does not have: the same bytes, after the same AWS calls."""
    seen = {
        "unknown": world_with(None, timedelta(hours=1)),
        "expired": world_with(ALICE, timedelta(hours=1)),
        "foreign": world_with(BOB, timedelta(days=1)),
        "foreign and expired": world_with(BOB, timedelta(hours=1)),
    }

    answers = {name: asked(world, task_id).response for name, (world, task_id) in seen.items()}

    assert len({task_id for _, task_id in seen.values()}) == 1
    for name, (world, _) in seen.items():
        unknown, _ = seen["unknown"]
        assert answers[name] == answers["unknown"], name
        # A caller's own key of an expired task is claimed anew, which only that caller can notice.
        if not (name == "expired" and "claim_key" in unknown.store.calls):
            assert world.store.calls == unknown.store.calls, name
        assert len(world.workflows.starts) == len(unknown.workflows.starts), name
        assert world.workflows.described == world.workflows.stops == world.workflows.resumptions == [], name
        assert world.faults == world.troubles == []


# M48, T13, T17, T24, X21, X27, X28, G
@pytest.mark.parametrize("asked", LOOKED_UP.values(), ids=list(LOOKED_UP))
def test_unknown_expired_and_foreign_are_answered_alike(asked: Asked) -> None:
    check_answered_alike(asked)


# ---------------------------------------------------------------------------------------- the server checks for itself


class StoreThatIgnoresOwners(InMemoryTaskStore):
    """A broken store: it returns a task to any caller that knows the id, and lists the tasks of all callers."""

    def load(self, key: TaskKey) -> Task | None:
        super().load(key)
        return self._any(key.task_id)

    def load_watched(self, key: TaskKey, request: str) -> WatchedTask:
        return replace(super().load_watched(key, request), task=self._any(key.task_id))

    def load_many(self, owner: Principal, task_ids: frozenset[TaskId]) -> dict[TaskId, Task]:
        super().load_many(owner, task_ids)
        return {one: task for one in task_ids if (task := self._any(one)) is not None}

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        super().page(owner, after, limit)
        return TaskPage(tuple(self.tasks.values()), None)

    def _any(self, task_id: TaskId) -> Task | None:
        return next((task for key, task in self.tasks.items() if key.task_id == task_id), None)


# T24: the key contains the owner, and the server checks the owner again
@pytest.mark.parametrize("asked", LOOKED_UP.values(), ids=list(LOOKED_UP))
def test_the_server_shows_nothing_of_a_foreign_task_that_the_store_returns(asked: Asked) -> None:
    worlds = [World(patience=IMPATIENT, store=store) for store in (InMemoryTaskStore(), StoreThatIgnoresOwners())]
    ids = [modern_of(world, BOB).start() for world in worlds]
    for world, task_id in zip(worlds, ids, strict=True):
        world.ask(task_id)
    before = [dict(world.store.tasks) for world in worlds]

    careful, careless = (asked(world, task_id).response for world, task_id in zip(worlds, ids, strict=True))

    assert careless == careful
    assert all(known.items() <= world.store.tasks.items() for known, world in zip(before, worlds, strict=True))
    assert worlds[0].store.calls == worlds[1].store.calls


def test_the_list_leaves_out_a_foreign_task_that_the_store_returns() -> None:
    world = World(store=StoreThatIgnoresOwners())
    foreign, own = modern_of(world, BOB).start(), modern_of(world, ALICE).start()

    listed = legacy_of(world, ALICE).ask("tasks/list").result["tasks"]

    assert [one["taskId"] for one in listed] == [own]
    assert foreign not in str(listed)


def test_loading_several_tasks_leaves_out_a_foreign_task_that_the_store_returns() -> None:
    world = World(store=StoreThatIgnoresOwners())
    foreign, own = world.call(OPTIONAL, owner=BOB), world.call(OPTIONAL, owner=ALICE)

    several = world.recorder.load_many(ALICE, frozenset({foreign.task_id, own.task_id}))

    assert set(several) == {own.task_id}


steps = st.tuples(names, names, st.sampled_from([*ACTS, *ACTS, *EVENTS]), st.integers(0, 7))


# T24: random histories, in which each caller presents its own ids and tokens and those of the other
@settings(max_examples=3 * settings().max_examples // 2)
@given(history=st.lists(steps, min_size=5, max_size=40))
def test_no_caller_sees_or_changes_data_of_another_whatever_it_presents(
    history: list[tuple[str, str, str, int]],
) -> None:
    world, callers = two()

    for who, whose, what, pick in history:
        turn = Turn(world, callers[who], callers[whose], pick)
        other = callers["bob" if who == "alice" else "alice"]
        if what in ACTS:
            check_turn(turn, other, ACTS[what])
        else:
            EVENTS[what](turn)

    assert world.faults == []


BEGINNINGS: Final = ("tools/call, legacy", "tools/call, modern", "a plain call", "a call in rounds")


# T24: every method, after a history in which the other caller has ids and tokens of every kind
@pytest.mark.parametrize(("pick", "event"), list(zip(range(8), cycle(EVENTS), strict=False)))
@pytest.mark.parametrize("what", ACTS)
def test_no_method_uses_the_ids_and_tokens_of_another_caller(what: str, event: str, pick: int) -> None:
    world, callers = two()
    alice, bob = callers.values()
    for number in range(4):
        for beginning in BEGINNINGS:
            check_turn(Turn(world, bob, bob, number), alice, ACTS[beginning])
    asks(Turn(world, bob, bob, 0))
    ask_for_result(Turn(world, bob, bob, 0))
    start_modern_task(Turn(world, bob, bob, 4))
    EVENTS[event](Turn(world, bob, bob, pick))
    assert bob.resumable_events
    assert bob.states
    assert world.store.keys

    check_turn(Turn(world, alice, bob, pick), bob, ACTS[what])

    assert world.faults == []


# Equal texts of two callers are two idempotency keys
@pytest.mark.parametrize("begins", [start_legacy_task, start_modern_task])
def test_an_idempotency_key_of_one_caller_starts_a_new_task_for_another(begins: Callable[[Turn], Answer]) -> None:
    world, callers = two()
    alice, bob = callers.values()
    begins(Turn(world, bob, bob, 4))

    answers = [check_turn(Turn(world, alice, bob, 4), bob, begins) for _ in range(2)]

    assert len(alice.task_ids(world)) == len(bob.task_ids(world)) == 1
    assert all(answer and alice.task_ids(world)[0] in answer.response.body for answer in answers)


# Proves that the tests above can fail: the owner does see the data
@pytest.mark.parametrize(
    "what",
    [
        "tasks/get, legacy",
        "tasks/get, modern",
        "tasks/list",
        "tasks/result",
        "subscriptions/listen",
        "a resumed stream",
    ],
)
def test_the_owner_sees_the_data_that_others_do_not(what: str) -> None:
    world, callers = two()
    alice, bob = callers.values()
    turn = Turn(world, bob, bob, 0)
    task_id = start_legacy_task(turn).id_in("task")
    ask_for_result(turn)
    world.succeed(task_id, bob.output)

    answer = check_turn(turn, alice, ACTS[what])

    assert answer is not None
    assert task_id in answer.response.body or "the result of bob" in answer.response.body
