"""A state that is retried after its question was recorded asks nobody twice, and gets the answer to it.

The write of a question succeeded, its response was lost, and Step Functions retries the state with another token.
"""

from datetime import timedelta

import pytest

from stepwire.errors import StoreBusy
from stepwire.tasks.inputs import LONGEST_RETRYING
from tests.fake_workflows import Resumption
from tests.kits import ALICE, FORM, World

ANSWER = {"action": "accept", "content": {"amount": 7}}
ANSWERED = '{"action":"accept","content":{"amount":7}}'
ENTERED = "2026-08-01T12:00:00.000Z"
LATER = "2026-08-01T12:05:00.000Z"
KNOWN = pytest.mark.parametrize("entered", [ENTERED, None], ids=["with the time of entry", "without"])


def asked(entered: str | None) -> tuple[World, str]:
    """Return a task whose state has asked with the token "first", and the task's id."""
    world = World()
    task_id = world.call().task_id
    world.ask(task_id, token="first", entered=entered)
    return world, task_id


def fail(world: World, token: str) -> None:
    """Let Step Functions fail a state whose function did not answer; its token is good for nothing now."""
    world.workflows.waiting.discard(token)


def keys(world: World, task_id: str) -> list[str]:
    """Return the keys of the open questions."""
    return [one.key for one in world.recorder.require(ALICE, task_id).input_requests]


@KNOWN
def test_an_open_question_is_that_of_the_retry(entered: str | None) -> None:
    world, task_id = asked(entered)
    fail(world, "first")

    world.ask(task_id, token="retry", entered=entered)
    asked_of_the_user = keys(world, task_id)
    world.answers.respond(ALICE, task_id, {"approval": ANSWER})

    assert asked_of_the_user == ["approval"]
    assert world.workflows.resumptions == [Resumption("retry", ANSWERED)]


def test_a_question_waits_as_long_as_the_retry_that_asks_it() -> None:
    world = World()
    task_id = world.call().task_id
    world.ask(task_id, token="first", seconds=60, entered=ENTERED)
    fail(world, "first")
    world.clock.advance(seconds=50)

    world.ask(task_id, token="retry", seconds=60, entered=ENTERED)
    world.clock.advance(seconds=50)

    assert keys(world, task_id) == ["approval"]


def test_without_the_time_of_entry_retries_of_retries_are_retries_for_as_long_as_the_first_one_may_be() -> None:
    world, task_id = asked(None)
    open_after = list[list[str]]()
    for before, token in (("first", "second"), ("second", "third"), ("third", "fourth")):
        fail(world, before)
        world.clock.time += LONGEST_RETRYING * 0.4
        world.ask(task_id, token=token)
        open_after.append(keys(world, task_id))

    assert open_after == [["approval"], ["approval"], ["approval", "approval-2"]]


@KNOWN
def test_an_answer_that_came_between_is_given_to_the_retry(entered: str | None) -> None:
    world, task_id = asked(entered)
    fail(world, "first")
    world.answers.respond(ALICE, task_id, {"approval": ANSWER})

    world.ask(task_id, token="retry", entered=entered)

    assert keys(world, task_id) == []
    assert world.workflows.resumptions == [Resumption("retry", ANSWERED)]
    assert world.recorder.require(ALICE, task_id).inputs.undelivered == ()


@KNOWN
def test_an_answer_that_could_not_be_delivered_is_given_to_the_retry(entered: str | None) -> None:
    world, task_id = asked(entered)
    world.workflows.is_available = False
    world.answers.respond(ALICE, task_id, {"approval": ANSWER})
    world.workflows.is_available = True
    fail(world, "first")

    world.ask(task_id, token="retry", entered=entered)

    assert keys(world, task_id) == []
    assert world.workflows.resumptions == [Resumption("retry", ANSWERED)]


def test_a_retry_whose_answer_was_delivered_is_not_asked_again_after_a_fault() -> None:
    world, task_id = asked(ENTERED)
    fail(world, "first")
    world.answers.respond(ALICE, task_id, {"approval": ANSWER})

    def no_answer() -> None:
        raise StoreBusy

    def save_the_claim() -> None:
        world.store.before_save = no_answer

    world.store.before_save = save_the_claim
    world.ask(task_id, token="retry", entered=ENTERED)  # a fault of the function would bring the request again

    assert keys(world, task_id) == []
    assert world.workflows.resumptions == [Resumption("retry", ANSWERED)]


def test_a_question_that_was_asked_again_after_a_wrong_answer_is_that_of_the_retry() -> None:
    world, task_id = asked(ENTERED)
    world.answers.respond(ALICE, task_id, {"approval": {"action": "accept", "content": {"amount": "much"}}})
    fail(world, "first")

    world.ask(task_id, token="retry", entered=ENTERED)

    assert keys(world, task_id) == ["approval#2"]


@KNOWN
def test_two_branches_that_ask_the_same_at_the_same_time_are_two_questions(entered: str | None) -> None:
    world, task_id = asked(entered)

    world.ask(task_id, token="another branch", entered=entered)

    assert keys(world, task_id) == ["approval", "approval-2"]


@KNOWN
def test_a_loop_that_asks_again_after_its_answer_asks_again(entered: str | None) -> None:
    world, task_id = asked(entered)
    world.answers.respond(ALICE, task_id, {"approval": ANSWER})

    world.ask(task_id, token="second", entered=entered and LATER)

    assert keys(world, task_id) == ["approval-2"]


def test_a_loop_whose_question_nobody_answered_in_time_asks_again() -> None:
    world, task_id = asked(ENTERED)
    fail(world, "first")
    world.answers.respond(ALICE, task_id, {"approval": ANSWER})

    world.ask(task_id, token="second", entered=LATER)

    assert keys(world, task_id) == ["approval-2"]


def test_without_the_time_of_entry_an_old_answer_is_not_that_of_a_loop() -> None:
    world, task_id = asked(None)
    fail(world, "first")
    world.answers.respond(ALICE, task_id, {"approval": ANSWER})
    world.clock.time += LONGEST_RETRYING + timedelta(seconds=1)

    world.ask(task_id, token="second")

    assert keys(world, task_id) == ["approval-2"]
    assert world.workflows.resumptions == []


def test_another_question_of_the_same_state_is_asked() -> None:
    world, task_id = asked(ENTERED)
    fail(world, "first")

    world.ask(task_id, "approval", {**FORM, "message": "Another one?"}, token="retry", entered=ENTERED)

    assert keys(world, task_id) == ["approval", "approval-2"]


def test_a_question_costs_no_more_calls_than_before_where_nothing_was_asked() -> None:
    world = World()
    task_id = world.call().task_id
    world.store.calls.clear()
    world.workflows.is_available = False  # so any call of Step Functions would raise

    world.ask(task_id)

    assert world.store.calls == ["load", "save"]
