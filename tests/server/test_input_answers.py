"""Answers to questions of a task (`tasks/update`): wrong, repeated, late, foreign and concurrent ones."""

from typing import Any

import pytest

from stepwire.engine.answers import LARGEST_ANSWERS
from tests.kits import World
from tests.server.clients import (
    LegacyClient,
    ModernClient,
)
from tests.server.messages import ACCEPT, DECLINE, answers_of, own, shown


# M48, M46
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({}, '"action"'),
        (None, '"action"'),
        ("accept", '"action"'),
        ({"action": "yes"}, '"action"'),
        ({"action": "accept"}, "/amount"),
        ({"action": "accept", "content": {}}, "amount"),
        ({"action": "accept", "content": {"amount": 0}}, "/amount"),
        ({"action": "accept", "content": {"amount": 7, "note": 7}}, "/note"),
        ({"action": "accept", "content": [1]}, "content"),
    ],
)
def test_after_a_wrong_answer_the_question_is_asked_again_under_another_key_with_the_reason(
    asking: ModernClient, world: World, wrong: Any, expected: str
) -> None:
    task_id = asking.start()
    token = world.ask(task_id)
    before = shown(asking, task_id)["inputRequests"]["approval"]

    acknowledged = asking.update(task_id, {"approval": wrong})
    between = shown(asking, task_id)["inputRequests"]
    asking.update(task_id, {"approval#2": ACCEPT})

    assert own(acknowledged.result) == {}
    assert list(between) == ["approval#2"]
    message = between["approval#2"]["params"]["message"]
    assert message.startswith(f"{before['params']['message']} (The answer before was not accepted: ")
    assert expected.strip("/") in message
    assert between["approval#2"]["params"]["requestedSchema"] == before["params"]["requestedSchema"]
    assert answers_of(world) == {token: ACCEPT}


# X16: `ext-tasks` answers each key once
def test_later_answers_to_the_key_of_a_wrong_answer_change_nothing(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id)
    asking.update(task_id, {"approval": {}})
    before = shown(asking, task_id)

    answers = [asking.update(task_id, {"approval": one}) for one in ({}, ACCEPT)]

    assert [own(answer.result) for answer in answers] == [{}, {}]
    assert shown(asking, task_id) == before


# X17
def test_a_valid_answer_beside_a_wrong_one_counts(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    token = world.ask(task_id, "first")
    world.ask(task_id, "second")

    acknowledged = asking.update(task_id, {"first": ACCEPT, "second": {"action": "accept", "content": {}}})

    assert own(acknowledged.result) == {}
    assert list(shown(asking, task_id)["inputRequests"]) == ["second#3"]
    assert answers_of(world) == {token: ACCEPT}


# M38: undelivered answers must fit into the item of the task
def test_questions_whose_answers_are_too_large_together_are_asked_again(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    keys = [f"key{number}" for number in range(7)]
    for key in keys:
        world.ask(task_id, key)
    large = {"action": "accept", "content": {"amount": 7, "note": "x" * 15_000}}

    acknowledged = asking.update(task_id, dict.fromkeys(keys, large))
    between = shown(asking, task_id)["inputRequests"]
    for key in between:
        asking.update(task_id, {key: large})

    assert own(acknowledged.result) == {}
    assert str(LARGEST_ANSWERS) in between["key0#8"]["params"]["message"]
    assert len(answers_of(world)) == 7


# X16: its state no longer waits
def test_an_expired_question_is_no_longer_shown(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id, "short", seconds=60)
    world.ask(task_id, "long", seconds=120)
    world.clock.advance(seconds=60)

    found = shown(asking, task_id)
    late = asking.update(task_id, {"short": ACCEPT})

    assert list(found["inputRequests"]) == ["long"]
    assert own(late.result) == {}
    assert answers_of(world) == {}


# X16: the state has failed or its execution has ended, and the task does not show it yet
def test_an_answer_for_which_no_state_waits_is_acknowledged(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id)
    world.workflows.waiting.clear()

    answer = asking.update(task_id, {"approval": ACCEPT})

    assert own(answer.result) == {}
    assert answers_of(world) == {}
    assert shown(asking, task_id)["status"] == "working"


# X15: an answer that was acknowledged is not lost
@pytest.mark.parametrize("reader", ["get", "update", "result"])
def test_an_answer_that_was_recorded_and_not_delivered_is_delivered_by_the_next_reader(
    asking: ModernClient, world: World, reader: str
) -> None:
    task_id = asking.start()
    token = world.ask(task_id)
    world.ask(task_id, "another")
    world.workflows.is_available = False

    acknowledged = asking.update(task_id, {"approval": ACCEPT})
    seen = shown(asking, task_id)
    world.workflows.is_available = True
    readers: dict[str, Any] = {
        "get": lambda: asking.task("get", task_id),
        "update": lambda: asking.update(task_id, {"another": DECLINE}),
        "result": lambda: LegacyClient.opened(world).task("result", task_id),
    }
    readers[reader]()

    assert own(acknowledged.result) == {}
    assert list(seen["inputRequests"]) == ["another"], "an answered question must not be shown"
    assert answers_of(world)[token] == ACCEPT


# X15: two answers at the same time are both taken
def test_two_concurrent_answers_to_two_questions_both_count(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    tokens = [world.ask(task_id, "first"), world.ask(task_id, "second")]
    world.store.before_save = lambda: asking.update(task_id, {"second": DECLINE})

    asking.update(task_id, {"first": ACCEPT})

    assert answers_of(world) == {tokens[0]: ACCEPT, tokens[1]: DECLINE}
    assert shown(asking, task_id)["status"] == "working"


# X16: the first recorded answer counts
def test_of_two_answers_to_the_same_question_the_workflow_gets_one(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    token = world.ask(task_id)
    world.store.before_save = lambda: asking.update(task_id, {"approval": DECLINE})

    answer = asking.update(task_id, {"approval": ACCEPT})

    assert own(answer.result) == {}
    assert answers_of(world) == {token: DECLINE}
