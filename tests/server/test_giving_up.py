"""Requests that a client of 2025-11-25 gives up: before they arrive, as they begin, later; and what that costs."""

import pytest

from stepwire.tasks.task import Cancelled
from stepwire.tasks.usage import Limits
from tests.fakes import nothing
from tests.kits import ALICE, FORM, OUTPUT, World
from tests.server.answers import Answer
from tests.server.clients import FORM_CAPABILITY, LegacyClient

REQUEST = "the request"


@pytest.fixture
def client(world: World) -> LegacyClient:
    return LegacyClient.opened(world, capabilities=FORM_CAPABILITY)


def give_up(client: LegacyClient) -> Answer:
    """Cancel the request."""
    return client.notify("notifications/cancelled", {"requestId": REQUEST})


# L15
@pytest.mark.parametrize("tool", ["optional", "confirmed"])
def test_a_call_that_is_given_up_before_it_arrives_does_not_begin(
    tool: str, client: LegacyClient, world: World
) -> None:
    give_up(client)

    answer = client.call(tool, message_id=REQUEST)

    assert answer.result["isError"]
    assert "was cancelled" in answer.text
    assert world.workflows.running() == ()
    assert world.store.usage[ALICE].active == frozenset()


# L15
def test_calls_that_are_given_up_before_they_arrive_hold_no_slot() -> None:
    world = World(limits=Limits(active=1))
    client = LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    for number in range(5):
        client.notify("notifications/cancelled", {"requestId": number})
        client.call("optional", message_id=number)

    assert client.call("optional", message_id="another").is_stream


# L15: in a slow start, which a client is likely to give up; a quick one is left to the sweep.
def test_a_call_that_is_cancelled_during_a_slow_start_is_stopped_at_once(client: LegacyClient, world: World) -> None:
    def meanwhile() -> None:
        world.workflows.on_start = nothing
        world.clock.advance(seconds=2)
        give_up(client)

    world.workflows.on_start = meanwhile

    client.call("optional", message_id=REQUEST)

    assert len(world.workflows.starts) == 1
    assert world.workflows.running() == ()


# L15, X12
def test_a_call_that_died_and_was_given_up_is_not_begun_by_its_readers(client: LegacyClient, world: World) -> None:
    begin = world.store.begin_request

    def die(*_: object) -> bool:
        raise SystemExit

    world.store.begin_request = die  # type: ignore[method-assign] - the process dies there
    with pytest.raises(SystemExit):
        client.call("optional", message_id=REQUEST)
    world.store.begin_request = begin  # type: ignore[method-assign] - and another goes on
    give_up(client)
    world.clock.time += world.intervals.repair
    (task,) = world.store.tasks.values()

    after = world.operations.get(ALICE, task.task_id)

    assert isinstance(after.status, Cancelled)
    assert world.workflows.starts == []


def test_a_request_whose_id_is_used_again_has_a_response(client: LegacyClient, world: World) -> None:
    client.call("optional", message_id=REQUEST)
    give_up(client)

    again = client.call("optional", message_id=REQUEST)
    world.succeed(next(reversed(world.store.tasks)).task_id, OUTPUT)

    assert client.resume(again.last_event_id, opened_by=again.request).result["structuredContent"] == OUTPUT


# Reading the caller's tasks to find one took up to ten queries of a megabyte, for an id that nobody had used.
@pytest.mark.parametrize("tasks", [0, 60])
def test_cancelling_an_unknown_request_is_one_call_however_many_tasks_there_are(
    tasks: int, client: LegacyClient, world: World
) -> None:
    for _ in range(tasks):
        world.call()
    world.store.calls.clear()

    told = give_up(client)

    assert told.status == 202
    assert world.store.calls == ["cancel_request"]


def test_giving_up_a_call_is_a_note_and_a_cancellation(client: LegacyClient, world: World) -> None:
    client.call("optional", message_id=REQUEST)
    world.ask(next(iter(world.store.tasks)).task_id, elicitation=FORM)
    world.store.calls.clear()

    give_up(client)

    assert world.store.calls == ["cancel_request", "load", "save", "release"]
    assert world.workflows.running() == ()
