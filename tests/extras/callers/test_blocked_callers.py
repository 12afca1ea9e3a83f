"""A caller whom an operator has blocked gets nothing, whatever it presents; nobody else notices."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.catalog.live import LiveCatalog, Published
from stepwire.errors import StoreBusy
from stepwire.extras.callers.blocks import REREAD_AFTER, Blocks
from stepwire.principal import principal_of
from tests.kits import ALICE, BOB, OUTPUT
from tests.kits import World as Served
from tests.server.answers import Answer
from tests.server.clients import LegacyClient, ModernClient, SignedIn
from tests.server.test_isolation import LOOKED_UP, legacy_of, list_after, modern_of, world_with

CODE: Final = -31004
WORDS: Final = "You may not use this endpoint at present. Ask whoever runs it."
PERSON: Final = principal_of(("jwt", "iss", "https://issuer.example", "sub", "alice"), "a stack")
OF_TASKS: Final = {"legacy tasks/list": list_after, **LOOKED_UP}


@dataclass
class World(Served):
    """A server that reads the list of blocked callers for itself, as every process does."""

    block_reads: int = 0
    """How often the list was read."""
    blocked_fault: Exception | None = None
    """What the next reads of it meet."""

    def __post_init__(self) -> None:
        super().__post_init__()
        services = replace(self.services, refuses=Blocks(self._read_blocked, self.troubles.append))
        self.server = replace(self.server, services=services)

    def _read_blocked(self) -> frozenset[str]:
        self.block_reads += 1
        if self.blocked_fault is not None:
            raise self.blocked_fault
        return frozenset(self.blocked)


class NothingPublished:
    """A table in which nothing is registered."""

    def read(self, known: str | None) -> Published | None:
        return None


def blocked(world: Served, *hashes: str) -> None:
    """Block callers; some seconds later, every process knows it."""
    world.blocked.update(hashes)
    world.clock.advance(seconds=REREAD_AFTER.total_seconds())


Client = ModernClient | LegacyClient


def is_refused(answer: Answer) -> bool:
    return answer.status == 403 and (answer.error["code"], answer.error["message"]) == (CODE, WORDS)


# ------------------------------------------------------------------------------------------------------- every request


@pytest.mark.parametrize("asked", OF_TASKS.values(), ids=list(OF_TASKS))
def test_no_request_about_a_task_gets_through(asked: Callable[[Served, str], Answer]) -> None:
    world, task_id = world_with(ALICE, timedelta(days=1))
    before = dict(world.store.tasks)
    blocked(world, ALICE)

    answer = asked(world, task_id)

    assert answer.status == 403
    assert "result" not in answer.body
    assert world.store.calls == []
    assert world.store.tasks == before


@pytest.mark.parametrize("method", ["resources/list", "events/list", "tools/call", "nonsense"])
@pytest.mark.parametrize("client_of", [legacy_of, modern_of])
def test_no_other_method_gets_through(client_of: Callable[..., Client], method: str) -> None:
    world = World()
    client = client_of(world, ALICE)
    blocked(world, ALICE)

    assert is_refused(client.ask(method, {}))


def test_what_a_release_answers_by_itself_is_refused_by_a_process_that_knows_the_list() -> None:
    world = World()
    modern, legacy = modern_of(world, ALICE), LegacyClient(world)
    blocked(world, ALICE)

    def asked() -> list[Answer]:
        return [legacy.initialize(), legacy.ask("ping"), modern.ask("server/discover"), modern.ask("tools/list")]

    first, reads = [one.status for one in asked()], world.block_reads
    modern.call("optional")
    then = asked()

    assert (first, reads) == ([200] * 4, 0)
    assert all(map(is_refused, then))


def test_a_list_of_tools_that_others_register_is_refused_by_each_process() -> None:
    world = World()
    catalog = LiveCatalog(world.catalog, NothingPublished(), world.clock.now, world.troubles.append)
    world.server = replace(world.server, services=replace(world.server.services, catalog=catalog))
    blocked(world, ALICE)

    assert is_refused(modern_of(world, ALICE).ask("tools/list"))


def test_an_open_stream_ends_at_its_next_resumption() -> None:
    world = World()
    client = LegacyClient.opened(world)
    task_id = client.start()
    stream = client.task("result", task_id)
    assert stream.is_stream
    world.succeed(task_id, OUTPUT)
    blocked(world, ALICE)

    answer = client.resume(stream.last_event_id, opened_by=stream.request)

    assert answer.status == 403
    assert "42" not in answer.response.body


def test_a_session_that_was_opened_before_the_block_is_of_no_use() -> None:
    world = World()
    client = LegacyClient.opened(world)
    blocked(world, ALICE)

    assert is_refused(client.ask("tasks/list"))
    assert client.notify("notifications/cancelled", {"requestId": 1}).status == 403


# ----------------------------------------------------------------------------------------------------- whom it is about


def test_a_block_holds_for_each_client_and_token_of_the_caller() -> None:
    world = World()
    blocked(world, ALICE)
    tokens = [
        SignedIn(world, frozenset({scope}), claims={"client_id": client, "jti": client})
        for scope, client in (("a", "one"), ("b", "two"))
    ]

    assert all(is_refused(ModernClient(token).call("optional")) for token in tokens)


def test_a_person_is_blocked_as_each_of_their_principals() -> None:
    world = World()
    blocked(world, PERSON)

    for principal in (ALICE, BOB):
        assert is_refused(ModernClient(SignedIn(world, person=PERSON), principal).call("optional"))
    assert ModernClient(world).call("optional").status == 200


def test_a_subject_that_is_spelled_otherwise_is_somebody_else() -> None:
    world = World()
    blocked(world, principal_of(("jwt", "https://issuer.example", "Alice"), "a stack"), ALICE.upper(), "")

    assert ModernClient(world).call("optional").status == 200


def test_nobody_else_is_refused_and_nobody_is_after_the_block() -> None:
    world = World()
    task_id = modern_of(world, ALICE).start()
    blocked(world, ALICE)

    refused, other = modern_of(world, ALICE).task("get", task_id), modern_of(world, BOB).call("optional")
    world.blocked.clear()
    world.clock.advance(seconds=REREAD_AFTER.total_seconds())
    again = modern_of(world, ALICE).task("get", task_id)

    assert is_refused(refused)
    assert other.status == 200
    assert again.result["status"] == "working"


# ---------------------------------------------------------------------------------------------------- when it is known


def test_a_process_that_begins_knows_it_at_once_and_another_within_half_a_minute() -> None:
    old, new = World(), World()
    old_client = modern_of(old, ALICE)
    task_id = old_client.start()
    for world in (old, new):
        world.blocked.add(ALICE)

    assert is_refused(modern_of(new, ALICE).call("optional"))
    old.clock.advance(seconds=29)
    assert old_client.task("get", task_id).status == 200
    old.clock.advance(seconds=1)
    assert is_refused(old_client.task("get", task_id))


def test_polls_between_two_reads_of_the_list_read_it_not() -> None:
    world = World()
    client = modern_of(world, BOB)
    task_id = client.start()

    for _ in range(29):
        world.clock.advance(seconds=1)
        client.task("get", task_id)

    assert world.block_reads == 1


def test_a_list_that_cannot_be_read_anew_holds_for_a_minute_and_then_nobody_gets_in() -> None:
    world = World()
    client = modern_of(world, BOB)
    client.call("optional")
    world.blocked_fault = StoreBusy()

    world.clock.advance(seconds=59)
    within = client.call("optional")
    world.clock.advance(seconds=1)
    after = client.call("optional")

    assert within.status == 200
    assert [type(one) for one in world.troubles] == [StoreBusy]
    assert (after.error["code"], after.status) == (-32603, 429)


# ----------------------------------------------------------------------------------------------------- what is written


def test_a_caller_who_goes_on_fills_no_log() -> None:
    world = World()
    blocked(world, ALICE, BOB)

    for _ in range(5):
        modern_of(world, ALICE).call("optional")
    modern_of(world, BOB).call("optional")
    world.clock.advance(seconds=REREAD_AFTER.total_seconds())
    modern_of(world, ALICE).call("optional")

    assert [(entry.owner, entry.outcome) for entry in world.audit] == [
        (ALICE, "CallerBlocked"),
        (BOB, "CallerBlocked"),
        (ALICE, "CallerBlocked"),
    ]
