"""Requests that a client of 2025-11-25 cancels: before they arrive, while they start, and later."""

import pytest

from stepwire.tasks.limiter import Limits
from stepwire.tasks.task import Cancelled
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
def test_a_call_that_is_cancelled_before_it_arrives_does_not_start(
    tool: str, client: LegacyClient, world: World
) -> None:
    give_up(client)

    answer = client.call(tool, message_id=REQUEST)

    assert answer.result["isError"]
    assert "was cancelled" in answer.text
    assert world.workflows.running() == ()
    assert world.store.usage[ALICE].active == frozenset()


# L15
def test_calls_that_are_cancelled_before_they_arrive_hold_no_slot() -> None:
    world = World(limits=Limits(active=1))
    client = LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    for number in range(5):
        client.notify("notifications/cancelled", {"requestId": number})
        client.call("optional", message_id=number)

    assert client.call("optional", message_id="another").is_stream


# L15: only during a slow start, which clients are likely to cancel; otherwise the sweep stops the execution.
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
def test_a_cancelled_call_whose_process_died_is_not_started_by_its_readers(client: LegacyClient, world: World) -> None:
    begin = world.store.begin_request

    def die(*_: object) -> bool:
        raise SystemExit

    world.store.begin_request = die  # type: ignore[method-assign] - the process dies at this call
    with pytest.raises(SystemExit):
        client.call("optional", message_id=REQUEST)
    world.store.begin_request = begin  # type: ignore[method-assign] - another process continues
    give_up(client)
    world.clock.time += world.intervals.repair
    (task,) = world.store.tasks.values()

    after = world.operations.get(ALICE, task.task_id)

    assert isinstance(after.status, Cancelled)
    assert world.workflows.starts == []


def test_a_request_that_reuses_a_cancelled_id_gets_a_response(client: LegacyClient, world: World) -> None:
    client.call("optional", message_id=REQUEST)
    give_up(client)

    again = client.call("optional", message_id=REQUEST)
    world.succeed(next(reversed(world.store.tasks)).task_id, OUTPUT)

    assert client.resume(again.last_event_id, opened_by=again.request).result["structuredContent"] == OUTPUT


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


def test_cancelling_a_call_records_the_request_and_cancels_the_task(client: LegacyClient, world: World) -> None:
    client.call("optional", message_id=REQUEST)
    world.ask(next(iter(world.store.tasks)).task_id, elicitation=FORM)
    world.store.calls.clear()

    give_up(client)

    assert world.store.calls == ["cancel_request", "load", "save", "release"]
    assert world.workflows.running() == ()
