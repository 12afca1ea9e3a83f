"""Two callers of one server, with every id and token that each got, so that one can present those of the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from stepwire.principal import Principal
from stepwire.protocol.tokens import next_cursor
from stepwire.server.services import Patience
from tests.fakes import InMemoryTaskStore
from tests.kits import ALICE, BOB, FORM, OUTPUT, World
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, Endpoint, LegacyClient, ModernClient
from tests.server.messages import ACCEPT, CONFIRMING

T = TypeVar("T")

IMPATIENT: Final = Patience(unresumable_request=timedelta(), first_request=timedelta(), resuming_request=timedelta())
UNKNOWN_TASK_ID: Final = "01kyyk41g" + "z" * 26
"""An id that no task has."""
INVALID_PARAMS: Final = -32602


def modern_of(world: Endpoint, owner: Principal) -> ModernClient:
    return ModernClient(world, owner, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def cursor_of(task_id: str) -> str:
    """Return the cursor of a list that continues after a task."""
    return str(next_cursor(task_id)["nextCursor"])


# ------------------------------------------------------------------------ two callers, and what they have of each other


_ASKED_OF_AN_OWNER: Final = frozenset(
    {
        *("create", "load", "load_many", "load_watched", "save", "delete", "page", "begin_request", "cancel_request"),
        *("claim_key", "load_key_claim", "reserve", "unreserve", "release", "begin_reclaim"),
    }
)
"""The methods of the store whose first argument is an owner, or what has one."""


class WatchedStore(InMemoryTaskStore):
    """A store that records whose partitions it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[Principal] = set()

    def __getattribute__(self, name: str) -> Any:
        """Return a method that records whom it is about; all else as it is."""
        found = super().__getattribute__(name)
        if name not in _ASKED_OF_AN_OWNER:
            return found

        def watched(first: Any, *more: Any, **named: Any) -> Any:
            self.asked.add(getattr(first, "owner", first))
            return found(first, *more, **named)

        return watched


@dataclass(frozen=True)
class ResumableEvent:
    """An event id, and the request that opened its stream."""

    event_id: str
    opened_by: Json


@dataclass
class Caller:
    """One of the two callers, with everything that the server has given to it."""

    name: str
    owner: Principal
    legacy: LegacyClient
    modern: ModernClient
    rounds: ModernClient
    """A client without tasks: its calls are answered in rounds."""
    resumable_events: list[ResumableEvent] = field(default_factory=list[ResumableEvent])
    states: list[Json] = field(default_factory=list[Json])
    """The tool and the requestState of each call that can be repeated."""

    @property
    def arguments(self) -> Json:
        """Return the arguments of the caller's calls."""
        return {"text": f"the argument of {self.name}"}

    @property
    def question(self) -> Json:
        """Return the question of the caller's workflows."""
        return {**FORM, "message": f"The question of {self.name}?"}

    @property
    def output(self) -> Json:
        """Return the output of the caller's workflows."""
        return {**OUTPUT, "words": f"the result of {self.name}"}

    def task_ids(self, world: World) -> list[str]:
        """Return the ids of the caller's tasks, or an id that no task has."""
        found: list[str] = sorted(key.task_id for key in world.store.tasks if key.owner == self.owner)
        return found or [UNKNOWN_TASK_ID]

    def keep(self, answer: Answer, tool: str = "optional") -> None:
        """Keep the event ids and the requestState of an answer, to present them later."""
        if answer.status != 200:
            return
        if answer.is_stream:
            self.resumable_events.extend(ResumableEvent(one, answer.request) for one in answer.event_ids)
        elif "requestState" in answer.body.get("result", {}):
            self.states.append({"name": tool, "requestState": answer.result["requestState"]})


def caller(world: World, name: str, owner: Principal) -> Caller:
    session = LegacyClient.opened(world, owner=owner, capabilities=ASKING_CAPABILITY, name=f"a client of {name}")
    return Caller(name, owner, session, modern_of(world, owner), ModernClient(world, owner, ASKING_CAPABILITY))


@dataclass(frozen=True)
class Turn:
    """One step: the caller that takes it, and the caller whose ids and tokens it uses."""

    world: World
    me: Caller
    of: Caller
    pick: int

    @property
    def task_id(self) -> str:
        """The task id that is presented."""
        return self.among(self.of.task_ids(self.world))

    @property
    def tool(self) -> str:
        """The tool that is called."""
        return ("optional", "confirmed")[self.pick % 2]

    @property
    def keyed(self) -> dict[str, str]:
        """The header with the idempotency key that is presented."""
        return {"idempotency-key": f"key-{self.pick % 2}-of-{self.of.name}"}

    @property
    def responses(self) -> Json:
        """Answers to every question that may be asked."""
        return {"confirm": CONFIRMING, **{f"question {number}": ACCEPT for number in range(3)}}

    def among(self, things: Sequence[T]) -> T:
        """Pick one."""
        return things[self.pick % len(things)]


def start_legacy_task(turn: Turn) -> Answer:
    params: Json = {"name": turn.tool, "arguments": turn.me.arguments, "task": {}}
    return turn.me.legacy.ask("tools/call", params, headers=turn.keyed if turn.pick > 3 else None)


def start_modern_task(turn: Turn) -> Answer:
    params: Json = {"name": turn.tool, "arguments": turn.me.arguments}
    answer = turn.me.modern.ask("tools/call", params, headers=turn.keyed if turn.pick > 3 else None)
    turn.me.keep(answer, turn.tool)
    return answer


def call_without_task(turn: Turn) -> Answer:
    answer = turn.me.legacy.call("optional", turn.me.arguments, message_id=turn.pick)
    turn.me.keep(answer)
    return answer


def begin_rounds(turn: Turn) -> Answer:
    answer = turn.me.rounds.call(turn.tool, turn.me.arguments)
    turn.me.keep(answer, turn.tool)
    return answer


def continue_rounds(turn: Turn) -> Answer | None:
    if not turn.of.states:
        return None
    state = turn.among(turn.of.states)
    more = {"requestState": state["requestState"], **({"inputResponses": turn.responses} if turn.pick > 2 else {})}
    # A caller that has a requestState of the other caller may also have its arguments.
    answer = turn.me.rounds.call(state["name"], turn.of.arguments, more=more)
    assert turn.me is turn.of or answer.code == INVALID_PARAMS
    turn.me.keep(answer, state["name"])
    return answer


def ask_for_result(turn: Turn) -> Answer:
    answer = turn.me.legacy.task("result", turn.task_id, message_id=turn.pick)
    turn.me.keep(answer)
    return answer


def resume_stream(turn: Turn) -> Answer | None:
    if not turn.of.resumable_events:
        return None
    stopover = turn.of.resumable_events[-1 - turn.pick % len(turn.of.resumable_events)]
    client = replace(turn.me.legacy, session=turn.of.legacy.session)
    answer = client.resume(stopover.event_id, opened_by=stopover.opened_by)
    if turn.me is turn.of:
        turn.me.keep(answer)
    return answer


def post_answer(turn: Turn) -> Answer:
    request = {"id": f"{turn.task_id}.{1 + turn.pick % 2}"}
    if turn.pick > 5:
        return turn.me.legacy.respond(request, error={"code": -1, "message": "no"})
    return turn.me.legacy.respond(request, result=CONFIRMING if turn.pick % 3 == 0 else ACCEPT)


def cancel_request_of_call(turn: Turn) -> Answer:
    client = replace(turn.me.legacy, session=turn.of.legacy.session)
    return client.notify("notifications/cancelled", {"requestId": turn.pick})


ACTS: Final[dict[str, Callable[[Turn], Answer | None]]] = {
    "tools/call, legacy": start_legacy_task,
    "tools/call, modern": start_modern_task,
    "a plain call": call_without_task,
    "a call in rounds": begin_rounds,
    "a round": continue_rounds,
    "tasks/get, legacy": lambda turn: turn.me.legacy.task("get", turn.task_id),
    "tasks/get, modern": lambda turn: turn.me.modern.task("get", turn.task_id),
    "tasks/result": ask_for_result,
    "tasks/list": lambda turn: turn.me.legacy.ask("tasks/list"),
    "tasks/list with a cursor": lambda turn: turn.me.legacy.ask("tasks/list", {"cursor": cursor_of(turn.task_id)}),
    "tasks/cancel, legacy": lambda turn: turn.me.legacy.task("cancel", turn.task_id),
    "tasks/cancel, modern": lambda turn: turn.me.modern.task("cancel", turn.task_id),
    "tasks/update": lambda turn: turn.me.modern.update(turn.task_id, turn.responses),
    "subscriptions/listen": lambda turn: turn.me.modern.listen({"taskIds": turn.of.task_ids(turn.world)[:20]}),
    "a posted answer": post_answer,
    "a resumed stream": resume_stream,
    "notifications/cancelled": cancel_request_of_call,
}


def running(turn: Turn) -> list[str]:
    """Return the ids of the caller's tasks whose workflows run."""
    names = [one.name.split("-", 1) for one in turn.world.workflows.running()]
    return [task_id for owner, task_id in names if owner == turn.of.owner]


def asks(turn: Turn) -> None:
    for task_id in running(turn):
        key = f"question {turn.pick % 3}"
        turn.world.ask(task_id, key, turn.of.question, token=f"{task_id} {key}")


def progresses(turn: Turn) -> None:
    for task_id in running(turn):
        turn.world.progress(task_id, turn.pick, message=f"the progress of {turn.of.name}")


def succeeds(turn: Turn) -> None:
    for task_id in running(turn)[:1]:
        turn.world.succeed(task_id, turn.of.output)


def fails(turn: Turn) -> None:
    for task_id in running(turn)[:1]:
        turn.world.fail(task_id, cause=f"the cause of {turn.of.name}")


def let_time_pass(turn: Turn) -> None:
    turn.world.clock.advance(minutes=(0.1, 2, 20, 61)[turn.pick % 4])


EVENTS: Final[dict[str, Callable[[Turn], None]]] = {
    "a workflow asks": asks,
    "a workflow tells": progresses,
    "a workflow succeeds": succeeds,
    "a workflow fails": fails,
    "time passes": let_time_pass,
}


def stored_state(world: World, one: Caller) -> list[object]:
    """Return everything that the server stores for a caller, and what its workflows received."""
    store, workflows = world.store, world.workflows
    return [
        {key: task for key, task in store.tasks.items() if key.owner == one.owner},
        {key: value for key, value in store.keys.items() if key[0] == one.owner},
        {key: value for key, value in store.cancelled.items() if key[0] == one.owner},
        store.usage.get(one.owner),
        [start for start in workflows.starts if start.execution.name.startswith(one.owner)],
        [stop for stop in workflows.stops if stop.execution.name.startswith(one.owner)],
        [execution for execution in workflows.described if execution.name.startswith(one.owner)],
        [told for told in workflows.resumptions if told.token.split()[0] in one.task_ids(world)],
    ]


def check_turn(turn: Turn, other: Caller, act: Callable[[Turn], Answer | None]) -> Answer | None:
    """Let one caller take a step, and check that the step does not depend on the other caller."""
    store = turn.world.store
    assert isinstance(store, WatchedStore)
    before = stored_state(turn.world, other)
    store.asked.clear()

    answer = act(turn)

    assert store.asked <= {turn.me.owner}
    assert stored_state(turn.world, other) == before
    if answer is not None:
        shown = f"{answer.response.headers} {answer.response.body}"
        assert f"of {other.name}" not in shown
        assert other.owner not in shown
        assert not [one for one in other.task_ids(turn.world) if one in shown]
    return answer


def two() -> tuple[World, dict[str, Caller]]:
    world = World(patience=IMPATIENT, store=WatchedStore())
    return world, {"alice": caller(world, "alice", ALICE), "bob": caller(world, "bob", BOB)}


names = st.sampled_from(["alice", "bob"])
