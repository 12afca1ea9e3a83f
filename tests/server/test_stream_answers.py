"""Answers to questions on a stream: wrong, repeated, late and foreign ones."""

from typing import Any

import pytest

from stepwire.engine.upkeep import NOT_SUPPORTED
from tests.kits import BOB, OUTPUT, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, PLAIN_HEADERS, LegacyClient, RawSender
from tests.server.messages import ACCEPT, answers_of, failures_of, questions

WRONG_ANSWERS: dict[str, Json] = {
    "nothing": {},
    "no action": {"content": {"amount": 7}},
    "an action that there is not": {"action": "ACCEPT", "content": {"amount": 7}},
    "no content": {"action": "accept"},
    "content that is no object": {"action": "accept", "content": [7]},
    "a field that is missing": {"action": "accept", "content": {"note": "hello"}},
    "a field of another type": {"action": "accept", "content": {"amount": "7"}},
    "a field out of its range": {"action": "accept", "content": {"amount": 101}},
    "content of 20,000 characters": {"action": "accept", "content": {"amount": 7, "note": "x" * 20_000}},
}


# M48, M46
@pytest.mark.parametrize("wrong", WRONG_ANSWERS.values(), ids=list(WRONG_ANSWERS))
def test_after_a_wrong_answer_the_question_is_asked_again_under_another_id(
    resuming: LegacyClient, world: World, wrong: Json
) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)
    first = resuming.task("result", task_id)
    (asked,) = questions(first.messages)

    taken = resuming.respond(asked, result=wrong)
    second = resuming.resume(first.last_event_id, opened_by=first.request)
    (again,) = questions(second.messages)
    kept = dict(answers_of(world))
    accepted = resuming.respond(again, result=ACCEPT)

    assert taken.status == 202
    assert again["id"] != asked["id"]
    assert again["params"]["message"].startswith("May it go on? (The answer before was not accepted: ")
    assert len(again["params"]["message"]) < 500
    assert again["params"]["requestedSchema"] == asked["params"]["requestedSchema"]
    assert kept == {}
    assert (accepted.status, answers_of(world)) == (202, {token: ACCEPT})


# M46
def test_the_repeated_question_says_what_was_wrong_with_the_answer(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    world.ask(task_id)
    first = resuming.task("result", task_id)
    (asked,) = questions(first.messages)

    resuming.respond(asked, result={"action": "accept", "content": {"amount": 101}})

    (again,) = questions(resuming.resume(first.last_event_id, opened_by=first.request).messages)
    assert "/amount" in again["params"]["message"]
    assert "100" in again["params"]["message"]


# M46, M48: a user's input must not end the session
@pytest.mark.parametrize("number", [2**53, -(10**30), float("1e308") * 10])
def test_a_number_that_cannot_be_read_exactly_is_a_wrong_answer(
    resuming: LegacyClient, world: World, number: float
) -> None:
    task_id = resuming.start()
    world.ask(task_id)
    first = resuming.task("result", task_id)
    (asked,) = questions(first.messages)
    content = f'{{"amount": {"1e999" if number == float("inf") else number}}}'
    body = f'{{"jsonrpc": "2.0", "id": "{asked["id"]}", "result": {{"action": "accept", "content": {content}}}}}'

    taken = RawSender(world).send(body.encode(), {**PLAIN_HEADERS, "mcp-protocol-version": resuming.version})

    (again,) = questions(resuming.resume(first.last_event_id, opened_by=first.request).messages)
    assert taken.status == 202
    assert "a number that is too large to be read exactly" in again["params"]["message"]
    assert answers_of(world) == {}


# L6: an error may name no request
@pytest.mark.parametrize("named", [{}, {"id": None}])
def test_an_error_that_names_no_request_is_accepted(resuming: LegacyClient, world: World, named: Json) -> None:
    task_id = resuming.start()
    world.ask(task_id)
    body = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, **named}

    taken = RawSender(world).send(body, {**PLAIN_HEADERS, "mcp-protocol-version": resuming.version})

    assert taken.status == 202
    assert resuming.task("get", task_id).result["status"] == "input_required"


# L6
def test_a_repeated_answer_counts_once(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)
    (asked,) = questions(resuming.task("result", task_id).messages)

    answers = [resuming.respond(asked, result=one) for one in (ACCEPT, ACCEPT, {"action": "decline"}, {})]

    assert [answer.status for answer in answers] == [202] * 4
    assert answers_of(world) == {token: ACCEPT}


# L6, T10
@pytest.mark.parametrize("how", ["well", "badly", "cancelled"])
def test_an_answer_after_the_end_of_its_task_is_accepted_and_changes_nothing(
    resuming: LegacyClient, world: World, how: str
) -> None:
    task_id = resuming.start()
    world.ask(task_id)
    (asked,) = questions(resuming.task("result", task_id).messages)
    ways: dict[str, Any] = {
        "well": lambda: world.succeed(task_id, OUTPUT),
        "badly": lambda: world.fail(task_id),
        "cancelled": lambda: resuming.task("cancel", task_id),
    }
    ways[how]()
    before = resuming.task("get", task_id).result

    answer = resuming.respond(asked, result=ACCEPT)

    assert answer.status == 202
    assert resuming.task("get", task_id).result == before
    assert answers_of(world) == {}


# T30: no state waits for the answer any more
def test_an_answer_to_an_expired_question_is_accepted_and_changes_nothing(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    world.ask(task_id, seconds=60)
    (asked,) = questions(resuming.task("result", task_id).messages)
    world.clock.advance(seconds=60)

    status = resuming.task("get", task_id).result["status"]
    answer = resuming.respond(asked, result=ACCEPT)

    assert (status, answer.status) == ("working", 202)
    assert answers_of(world) == {}
    assert questions(resuming.task("result", task_id).messages) == []


# L19, T24: knowing the id grants nothing
def test_a_caller_cannot_answer_for_another(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    world.ask(task_id)
    (asked,) = questions(resuming.task("result", task_id).messages)
    stranger = LegacyClient.opened(world, owner=BOB, capabilities=ASKING_CAPABILITY)

    taken = stranger.respond(asked, result=ACCEPT)

    assert taken.status == 202
    assert [one.outcome for one in world.audit if one.owner == BOB] == ["UnknownTask"]
    assert resuming.task("get", task_id).result["status"] == "input_required"
    assert answers_of(world) == {}


# L6
@pytest.mark.parametrize("forged", ["{task}.2", "{task}.0", "{task}.-1", "{task}.01", "{task}", "{task}.", "1", ".1"])
def test_an_answer_to_an_unknown_question_is_accepted_and_changes_nothing(
    resuming: LegacyClient, world: World, forged: str
) -> None:
    task_id = resuming.start()
    world.ask(task_id)

    taken = resuming.respond({"id": forged.format(task=task_id)}, result=ACCEPT)

    assert taken.status == 202
    assert answers_of(world) == {}


# L10, L11: any instance can take an answer, from whatever session
@pytest.mark.parametrize("session", ["none", "another"])
def test_an_answer_needs_no_session(resuming: LegacyClient, world: World, session: str) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)
    (asked,) = questions(resuming.task("result", task_id).messages)
    other = LegacyClient(world) if session == "none" else LegacyClient.opened(world)

    answer = other.respond(asked, result=ACCEPT)

    assert answer.status == 202
    assert answers_of(world) == {token: ACCEPT}


# L3: the client declared the capability, but does not support it
def test_an_error_of_the_client_fails_the_state_with_an_error_name_that_it_can_catch(
    resuming: LegacyClient, world: World
) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)
    (asked,) = questions(resuming.task("result", task_id).messages)

    answer = resuming.respond(asked, error={"code": -32601, "message": "Method not found"})

    assert answer.status == 202
    assert failures_of(world) == {token: NOT_SUPPORTED}
    assert resuming.task("get", task_id).result["status"] == "working"


# T30: recorded, then delivered
def test_an_answer_that_cannot_be_delivered_now_is_delivered_by_the_next_reader(
    resuming: LegacyClient, world: World
) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)
    first = resuming.task("result", task_id)
    (asked,) = questions(first.messages)
    world.workflows.is_available = False

    answer = resuming.respond(asked, result=ACCEPT)
    world.workflows.is_available = True
    resuming.resume(first.last_event_id, opened_by=first.request)

    assert answer.status == 202
    assert answers_of(world) == {token: ACCEPT}
    assert len(world.workflows.resumptions) == 1
