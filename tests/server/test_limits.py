"""The limits of one caller, and that they affect no other caller."""

import pytest

from stepwire.tasks.limiter import Limits
from tests.kits import ALICE, BOB, OUTPUT, World
from tests.server.clients import LegacyClient, ModernClient

Client = LegacyClient | ModernClient
LIMIT_REACHED = -31002


def client_of(world: World, era: str, owner: str = "alice") -> Client:
    who = ALICE if owner == "alice" else BOB
    return LegacyClient(world, owner=who) if era == "legacy" else ModernClient(world, who)


eras = pytest.mark.parametrize("era", ["legacy", "modern"])


def code_of(client: Client) -> int | None:
    """Call a tool with a task; return the error's code, or None if the task was created."""
    answer = client.call("optional", task={}) if isinstance(client, LegacyClient) else client.call("optional")
    return answer.body.get("error", {}).get("code")


# T27
@eras
def test_more_active_tasks_than_a_caller_may_have_are_refused_and_start_nothing(era: str) -> None:
    world = World(limits=Limits(active=3))
    client = client_of(world, era)

    codes = [code_of(client) for _ in range(5)]

    assert codes == [None, None, None, LIMIT_REACHED, LIMIT_REACHED]
    assert len(world.workflows.starts) == len(world.store.tasks) == 3


# T27
def test_the_refusal_names_the_limit_and_when_to_try_again() -> None:
    world = World(limits=Limits(active=1))
    modern = ModernClient(world)
    modern.start()

    answer = modern.call("optional")

    assert answer.status == 429
    assert answer.response.headers["retry-after"] == "10"
    assert answer.error["data"] == {"limit": "active tasks", "retryAfterMs": 10_000}
    assert "At most 1 tasks" in answer.error["message"]


# T27, M37
@eras
def test_arguments_above_the_limit_are_refused_with_the_name_of_the_limit(era: str) -> None:
    world = World(limits=Limits(argument_bytes=1_024))
    client = client_of(world, era)
    fits = "x" * (1_024 - len('{"text":""}'))

    answers = [client.call("optional", {"text": text}) for text in (fits + "x", fits)]

    assert "larger than 1024 bytes" in answers[0].text
    assert len(world.workflows.starts) == 1


# T27
@eras
def test_one_callers_tasks_are_not_counted_for_another(era: str) -> None:
    world = World(limits=Limits(active=1))

    codes = [code_of(client_of(world, era, owner)) for owner in ("alice", "bob", "alice")]

    assert codes == [None, None, LIMIT_REACHED]


# T27
@pytest.mark.parametrize("how", ["success", "failure", "cancel", "repair", "expiry"])
def test_the_end_of_a_task_makes_room_for_another(how: str) -> None:
    world = World(limits=Limits(active=1))
    modern = ModernClient(world)
    task_id = modern.start()

    match how:
        case "success":
            world.succeed(task_id, OUTPUT)
        case "failure":
            world.fail(task_id)
        case "cancel":
            modern.task("cancel", task_id)
        case "repair":
            world.workflows.succeed(world.workflows.execution_of(task_id), OUTPUT)
            world.clock.time += world.intervals.repair
            modern.task("get", task_id)
        case _:
            world.clock.advance(hours=2)

    assert [code_of(modern), code_of(modern)] == [None, LIMIT_REACHED]


# T27
def test_a_slot_whose_release_was_lost_is_reclaimed_when_the_caller_reaches_the_limit() -> None:
    world = World(limits=Limits(active=1))
    modern = ModernClient(world)
    task_id = modern.start()
    world.store.before_save = lambda: setattr(world.store, "is_available", False)
    world.succeed(task_id, OUTPUT)
    world.store.is_available = True

    assert code_of(modern) is None


# T27
@eras
def test_the_creation_rate_of_tasks_is_limited(era: str) -> None:
    world = World(limits=Limits(per_minute=2))
    client = client_of(world, era)

    at_once = [code_of(client) for _ in range(3)]
    world.clock.advance(seconds=30)
    later = [code_of(client) for _ in range(2)]

    assert at_once == [None, None, LIMIT_REACHED]
    assert later == [None, LIMIT_REACHED]


# X26, T26
@eras
def test_polls_above_the_rate_limit_are_refused(era: str) -> None:
    world = World(polls_per_second=10)
    client = client_of(world, era)
    task_id = client.start()
    world.store.calls.clear()

    answers = [client.task("get", task_id) for _ in range(25)]

    refused = (200 if era == "legacy" else 429, LIMIT_REACHED)
    assert [(answer.status, answer.body.get("error", {}).get("code")) for answer in answers] == [
        *[(200, None)] * 20,
        *[refused] * 5,
    ]
    assert len(world.store.calls) == 20


# X26, T26
@eras
def test_a_client_that_polls_every_200_milliseconds_is_served(era: str) -> None:
    world = World(polls_per_second=10)
    client = client_of(world, era)
    task_id = client.start()

    for _ in range(200):
        assert client.task("get", task_id).status == 200
        world.clock.advance(seconds=0.2)


# X26
def test_polling_one_task_too_fast_does_not_block_another(modern: ModernClient) -> None:
    world = World(polls_per_second=1)
    modern, bob = ModernClient(world), ModernClient(world, BOB)
    first, second, other = modern.start(), modern.start(), bob.start()
    for _ in range(5):
        modern.task("get", first)

    assert modern.task("get", first).status == 429
    assert modern.task("get", second).status == 200
    assert bob.task("get", other).status == 200


# X7
def test_the_poll_hint_grows_with_the_age_of_a_task(modern: ModernClient, world: World) -> None:
    task_id = modern.start()

    hints: list[int] = []
    for seconds in (0, 30, 60, 600, 6000):
        world.clock.time = world.store.tasks[next(iter(world.store.tasks))].created_at
        world.clock.advance(seconds=min(seconds, 3500))
        hints.append(modern.task("get", task_id).result["pollIntervalMs"])

    assert hints == [2000, 3000, 6000, 60_000, 60_000]
