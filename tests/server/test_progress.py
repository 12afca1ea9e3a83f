"""The status message of a running task: its state or its reported progress, in the same words in both eras."""

import pytest

from tests.kits import OUTPUT, TELLING, World
from tests.server.answers import Json
from tests.server.clients import LegacyClient, ModernClient

Client = LegacyClient | ModernClient


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """A client of either era."""
    return LegacyClient(world) if request.param == "legacy" else ModernClient(world)


def seen(client: Client, task_id: str) -> Json:
    """Look at a task."""
    return client.task("get", task_id).result


# X22, T13: without the workflow's doing anything for it
def test_a_task_says_which_state_its_workflow_is_in(client: Client, world: World) -> None:
    task_id = client.start(TELLING.name)
    world.workflows.current_states[world.workflows.execution_of(task_id)] = "ReadTheFile"

    early = seen(client, task_id)
    world.clock.time += world.intervals.state
    late = seen(client, task_id)

    assert "statusMessage" not in early
    assert late["statusMessage"] == "The workflow is in its state ReadTheFile."


# X10: however often any caller polls
def test_the_state_is_asked_for_once_an_interval(client: Client, world: World) -> None:
    task_id = client.start(TELLING.name)
    world.workflows.current_states[world.workflows.execution_of(task_id)] = "ReadTheFile"

    for _ in range(4 * 3):
        world.clock.time += world.intervals.state / 3
        seen(client, task_id)

    assert len(world.workflows.looked_at) == 4


# X22: off, unless the tool says so
def test_a_tool_that_does_not_tell_its_states_is_not_looked_at(client: Client, world: World) -> None:
    task_id = client.start()
    world.workflows.current_states[world.workflows.execution_of(task_id)] = "ReadTheFile"
    world.clock.advance(seconds=59)

    found = seen(client, task_id)

    assert "statusMessage" not in found
    assert world.workflows.looked_at == []


# X22
@pytest.mark.parametrize(
    ("done", "total", "message", "words"),
    [
        (30, 80, "reading", "38%: reading"),
        (0, 80, None, "0%"),
        (80, 80, "nearly there", "100%: nearly there"),
        (30, None, "rows", "30 done: rows"),
        (2.5, None, None, "2.5 done"),
        (0, 0, None, "0 done"),
    ],
)
def test_a_task_says_how_far_it_is(
    client: Client, world: World, done: float, total: float | None, message: str | None, words: str
) -> None:
    task_id = client.start()

    world.progress(task_id, done, total, message)

    assert seen(client, task_id)["statusMessage"] == words


# T32: events come in any order
def test_progress_never_goes_back(client: Client, world: World) -> None:
    task_id = client.start()

    for done in (10, 40, 20, 40, 30):
        world.progress(task_id, done, 100, f"step {done}")

    assert seen(client, task_id)["statusMessage"] == "40%: step 40"


# T10, X30, T32
@pytest.mark.parametrize("how", ["well", "badly", "cancelled"])
def test_progress_changes_nothing_of_a_task_that_has_ended(client: Client, world: World, how: str) -> None:
    task_id = client.start()
    if how == "well":
        world.succeed(task_id, OUTPUT)
    elif how == "badly":
        world.fail(task_id)
    else:
        client.task("cancel", task_id)
    before = seen(client, task_id)

    world.progress(task_id, 99)

    assert seen(client, task_id) == before


# X22: if a workflow reports its progress, its history is not read
def test_a_task_that_tells_its_progress_is_not_looked_at_for_its_state(client: Client, world: World) -> None:
    task_id = client.start(TELLING.name)
    world.workflows.current_states[world.workflows.execution_of(task_id)] = "ReadTheFile"
    world.progress(task_id, 10, message="a tenth")
    world.clock.advance(seconds=30)

    found = seen(client, task_id)

    assert found["statusMessage"] == "10%: a tenth"
    assert world.workflows.looked_at == []
