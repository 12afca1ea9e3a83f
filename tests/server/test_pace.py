"""Every request about tasks counts for the limit of polls."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from stepwire.server.services import Patience
from stepwire.tasks.inputs import MOST_QUESTIONS
from tests.kits import World
from tests.server.answers import Answer
from tests.server.clients import FORM_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

IMPATIENT = Patience(timedelta(), timedelta(), timedelta())
Ask = Callable[[], Answer]


def modern(world: World) -> ModernClient:
    return ModernClient(world, capabilities=TASKS_CAPABILITY)


def listening(world: World) -> Ask:
    client = modern(world)
    task_id = client.start("optional")
    return lambda: client.listen({"taskIds": [task_id]})


def answering(world: World) -> Ask:
    client = modern(world)
    task_id = client.start("optional")
    return lambda: client.update(task_id, {})


def cancelling(world: World) -> Ask:
    client = modern(world)
    task_id = client.start("optional")
    return lambda: client.task("cancel", task_id)


def listing(world: World) -> Ask:
    client = LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    return lambda: client.ask("tasks/list")


def in_rounds(world: World) -> Ask:
    client = ModernClient(world, capabilities=FORM_CAPABILITY)
    state = client.call("optional").result["requestState"]
    return lambda: client.call("optional", more={"requestState": state})


def coming_back(world: World) -> Ask:
    client = LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    first = client.call("optional")
    return lambda: client.resume(first.last_event_id, opened_by=first.request)


# T26
@pytest.mark.parametrize("asking", [listening, answering, cancelling, listing, in_rounds, coming_back])
def test_a_request_above_the_limit_makes_no_aws_call(asking: Callable[[World], Ask]) -> None:
    world = World(polls_per_second=1, patience=IMPATIENT)
    ask = asking(world)
    for _ in range(3):
        ask()
    world.store.calls.clear()

    late = [ask() for _ in range(10)]

    assert set(world.store.calls) <= {"secret"}  # which an instance reads only once
    # A stream always continues; every other request is refused.
    assert {answer.is_stream for answer in late} == {asking is coming_back}
    world.clock.advance(seconds=1)
    ask()
    assert world.store.calls != []


# Each result in Step Functions may have 256 KB, and no response can hold twenty of them.
def test_a_subscription_leaves_out_results_that_are_too_large(world: World) -> None:
    client = modern(world)
    small, large = client.start("optional"), client.start("optional")
    world.succeed(small, {"text": "x"})
    world.succeed(large, {"text": "x" * 120_000})
    world.workflows.described.clear()

    heard = client.listen({"taskIds": [small, large]})

    assert heard.messages[0]["params"]["notifications"] == {"taskIds": [small]}
    assert len(heard.response.body) < 10_000
    assert world.workflows.described == []


# Every wrong answer writes the whole task.
def test_a_question_is_asked_at_most_a_hundred_times(world: World) -> None:
    client = LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    task_id = client.start("optional")
    world.ask(task_id)

    for number in range(1, 131):
        client.respond({"id": f"{task_id}.{number}"}, result={"action": "accept", "content": {"amount": 0}})

    (task,) = world.store.tasks.values()
    assert task.inputs.asked == MOST_QUESTIONS
    assert len(task.input_requests) == 1
