"""When an idempotency key made of arguments ends: its window, a failed task, and calls at the same moment."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest

from stepwire.json_text import write
from stepwire.tasks.usage import Limits
from tests.kits import World
from tests.server.answers import Answer
from tests.server.settling import ARGUMENTS, WINDOW, begun, client_of, eras, id_of, is_marked, world, world_with

__all__ = ["world"]  # the fixture


# DynamoDB deletes expired items late: the claim is still there when its window is over.
@eras
@pytest.mark.parametrize(("after", "is_repeat"), [(WINDOW, True), (WINDOW + timedelta(milliseconds=1), False)])
def test_a_window_ends_by_the_clock_though_the_claim_is_still_there(
    era: str, after: timedelta, is_repeat: bool, world: World
) -> None:
    client = client_of(world, era)
    first = begun(client)
    world.clock.time += after

    second = begun(client)
    third = begun(client)

    assert is_marked(second) is is_repeat
    assert (id_of(second) == id_of(first)) is is_repeat
    assert (id_of(third), is_marked(third)) == (id_of(second), True)
    assert client.task("get", id_of(first)).result["status"] == "working"


def test_a_claim_may_be_deleted_when_its_window_is_over_and_not_before(world: World) -> None:
    begun(client_of(world, "modern"))

    (claim,) = world.store.keys.values()
    assert claim.expires_at == world.clock.now() + WINDOW


ENDS: Final[dict[str, Callable[[World, str], object]]] = {
    "failed": lambda world, task_id: world.fail(task_id),
    "a JSON-RPC error": lambda world, task_id: world.fail(
        task_id, "Stepwire.ProtocolError", write({"code": 1001, "message": "No."})
    ),
    "a result that is an error": lambda world, task_id: world.succeed(
        task_id, {"content": [{"type": "text", "text": "no"}], "isError": True}
    ),
    "cancelled": lambda world, task_id: client_of(world, "modern").task("cancel", task_id),
}


@eras
@pytest.mark.parametrize("end", ENDS)
def test_a_task_that_ended_without_success_can_be_begun_again_at_once(era: str, end: str, world: World) -> None:
    client = client_of(world, era)
    first = begun(client)
    ENDS[end](world, id_of(first))

    second, third = begun(client), begun(client)

    assert id_of(first) != id_of(second) == id_of(third)
    assert (is_marked(second), is_marked(third)) == (False, True)
    assert len(world.workflows.running()) == 1


# X8: with a key of their own, clients repeat a request whose response was lost, and a failure is its response.
@eras
def test_a_clients_own_key_keeps_its_task_though_it_failed(era: str, world: World) -> None:
    client = client_of(world, era)
    first = begun(client, key="my-own")
    world.fail(id_of(first))

    assert id_of(begun(client, key="my-own")) == id_of(first)


@eras
@pytest.mark.parametrize("before", ["nothing", "a failure", "a window that is over"])
def test_equal_calls_at_one_moment_get_one_task_in_one_slot(era: str, before: str) -> None:
    world = world_with(limits=Limits(active=1))
    client, others = client_of(world, era), list[Answer]()
    if before != "nothing":
        world.fail(id_of(begun(client)))
    if before == "a window that is over":
        world.clock.time += 2 * WINDOW
    world.store.before_create = lambda: others.append(begun(client, note="the other"))

    mine = begun(client, note="mine")

    assert id_of(mine) == id_of(others[0])
    assert [is_marked(mine), is_marked(others[0])] == [True, False]
    assert len(world.workflows.running()) == 1


@pytest.mark.parametrize("end", ["failed", "window"])
def test_a_modern_call_is_asked_again_when_its_key_has_ended(end: str, world: World) -> None:
    client = client_of(world, "modern")
    asked = begun(client, "settle_confirmed").result
    more = {"requestState": asked["requestState"], "inputResponses": {"confirm": {"action": "accept"}}}
    first = client.ask("tools/call", {"name": "settle_confirmed", "arguments": ARGUMENTS, **more})
    if end == "failed":
        world.fail(id_of(first))
    else:
        world.clock.time += 2 * WINDOW

    again = begun(client, "settle_confirmed")

    assert again.result["inputRequests"].keys() == {"confirm"}


def test_a_call_after_the_window_reads_nothing_of_the_former_task(world: World) -> None:
    client = client_of(world, "modern")
    begun(client)
    world.clock.time += 2 * WINDOW
    world.store.calls.clear()

    begun(client)

    assert world.store.calls == ["claim_key", "claim_key", "reserve", "create"]
