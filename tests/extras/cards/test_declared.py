"""A host that declares cards and shows none, such as Qwen Code in print mode, gets each result by its words alone."""

import itertools

import pytest

from stepwire.json_text import write
from tests.clients.replayed.behaviours import QWEN_CODE
from tests.clients.replayed.raw_client import ANSWER, RawClient, Returned
from tests.clients.replayed.timeline import FakeTimeline
from tests.kits import OUTPUT, TOOLS, World, catalog_of
from tests.server.fetching import ASKING
from tests.server.messages import only_task


@pytest.fixture
def world() -> World:
    """Stepwire with a tool whose questions a model may answer."""
    return World(catalog=catalog_of(*TOOLS, ASKING))


@pytest.fixture
def client(world: World) -> RawClient:
    """A client that declares cards, and nothing that it can be asked."""
    client = RawClient(QWEN_CODE, FakeTimeline(world.clock), itertools.repeat(world.server))
    client.connect()
    return client


def text_of(outcome: object) -> str:
    assert isinstance(outcome, Returned), outcome
    return outcome.result["content"][0]["text"]


def test_the_result_of_35_seconds_arrives_and_nothing_is_started_twice(world: World, client: RawClient) -> None:
    client.timeline.after(35, lambda: world.succeed(only_task(world), OUTPUT))

    outcome = client.go_on(client.call("structured"))

    assert isinstance(outcome, Returned)
    assert outcome.result["structuredContent"] == OUTPUT
    assert len(world.workflows.starts) == 1


def test_a_model_that_may_answer_does(world: World, client: RawClient) -> None:
    client.timeline.after(5, lambda: world.ask(only_task(world)))
    client.timeline.after(30, lambda: world.succeed(only_task(world), OUTPUT))

    client.go_on(client.call("asking"))

    assert [one.output for one in world.workflows.resumptions] == [write(ANSWER)]


def test_a_question_for_a_person_is_one_to_tell_the_user_about(world: World, client: RawClient) -> None:
    client.timeline.after(1, lambda: world.ask(only_task(world)))

    said = text_of(client.call("optional"))

    assert "on the card of the task, if this client shows one" in said
    assert "can be answered from a client that supports MCP elicitation" in said
    assert "Next: call task_result with" in said


def test_a_call_that_needs_a_confirmation_says_who_gives_it(client: RawClient) -> None:
    said = text_of(client.call("confirmed"))

    assert "an answer that a person gives" in said
    assert "Next: call task_result with" in said
