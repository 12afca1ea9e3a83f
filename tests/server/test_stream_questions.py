"""Questions on a stream: `elicitation/create` is an event, and the client answers it with a separate POST."""

from collections.abc import Sequence
from typing import Any

import pytest

from stepwire.background.input_requests import INVALID
from stepwire.engine.upkeep import NOT_SUPPORTED
from tests.kits import BOB, FORM, OUTPUT, URL, World
from tests.server.clients import (
    ASKING_CAPABILITY,
    FORM_CAPABILITY,
    PLAIN_HEADERS,
    RELATED_TASK,
    URL_CAPABILITY,
    Answer,
    Door,
    Json,
    LegacyClient,
    ModernClient,
)
from tests.server.messages import answers_of, failures_of, only_task, questions

ACCEPT: Json = {"action": "accept", "content": {"amount": 7}}
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


# T30, T29, M47, K9
def test_a_question_travels_on_the_stream_of_the_result_and_its_answer_reaches_the_workflow(
    resuming: LegacyClient, world: World
) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)
    answered: list[Answer] = []

    def answer_and_end(messages: Sequence[Json]) -> None:
        shown = resuming.task("get", task_id).result
        assert (shown["status"], shown["statusMessage"]) == (
            "input_required",
            "Waiting for an answer: May it go on?",
        )
        answered.extend(resuming.respond(one, result=ACCEPT) for one in questions(messages))
        assert resuming.task("get", task_id).result["status"] == "working"
        world.succeed(task_id, OUTPUT)

    messages = resuming.follow(resuming.task("result", task_id), between=answer_and_end)

    (asked,) = questions(messages)
    assert asked["params"] == {"mode": "form", **FORM, "_meta": {RELATED_TASK: {"taskId": task_id}}}
    assert [(one.status, one.response.body) for one in answered] == [(202, "")]
    assert answers_of(world) == {token: ACCEPT}
    assert messages[-1]["result"]["structuredContent"] == OUTPUT


# L19, M49
def test_a_page_to_open_has_an_id_of_its_own_and_its_answer_no_content(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    token = world.ask(task_id, elicitation=URL)

    (asked,) = questions(resuming.task("result", task_id).messages)
    resuming.respond(asked, result={"action": "accept", "content": {"anything": "else"}})

    assert asked["params"] == {**URL, "elicitationId": asked["id"], "_meta": {RELATED_TASK: {"taskId": task_id}}}
    assert answers_of(world) == {token: {"action": "accept"}}


# T29: a plain call has no task that its client knows of
def test_a_question_of_a_plain_call_names_no_task(resuming: LegacyClient, world: World) -> None:
    world.clock.on_sleep = lambda: world.ask(only_task(world))

    first = resuming.call("optional")
    (asked,) = questions(first.messages)
    world.clock.on_sleep = lambda: None
    resuming.respond(asked, result=ACCEPT)
    task_id = asked["id"].partition(".")[0]
    (response,) = resuming.follow(first, between=lambda _: world.succeed(task_id, OUTPUT))[1:]

    assert asked["params"] == {"mode": "form", **FORM}
    assert len(world.clock.slept) == 1, "a question is told at once"
    assert response["result"]["structuredContent"] == OUTPUT


# M48, L19
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_user_who_does_not_accept_is_heard_too(resuming: LegacyClient, world: World, action: str) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)

    (asked,) = questions(resuming.task("result", task_id).messages)
    resuming.respond(asked, result={"action": action, "content": {"amount": 7}})

    assert answers_of(world) == {token: {"action": action}}


# M46: what nobody asked for is left out
def test_a_field_that_was_not_asked_for_does_not_reach_the_workflow(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)

    (asked,) = questions(resuming.task("result", task_id).messages)
    resuming.respond(asked, result={"action": "accept", "content": {"amount": 7, "admin": True}, "_meta": {"a": 1}})

    assert answers_of(world) == {token: ACCEPT}


# L8, T30
def test_a_question_is_asked_once_and_again_only_where_its_body_was_lost(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    first = resuming.task("result", task_id)
    world.ask(task_id)

    lost = resuming.resume(first.last_event_id, opened_by=first.request)
    again = resuming.resume(first.last_event_id, opened_by=first.request)
    further = resuming.resume(again.last_event_id, opened_by=first.request)

    assert len(questions(lost.messages)) == 1
    assert again.messages == lost.messages
    assert further.messages == []


# L8: on a stream of its own, a question that is open is asked anew
def test_a_client_that_asks_for_the_result_again_is_asked_again_what_is_open(
    resuming: LegacyClient, world: World
) -> None:
    task_id = resuming.start()
    world.ask(task_id)
    resuming.task("result", task_id)

    again = resuming.task("result", task_id)
    (asked,) = questions(again.messages)
    resuming.respond(asked, result=ACCEPT)
    last = resuming.task("result", task_id)

    assert questions(last.messages) == []


# T30
def test_several_questions_are_asked_in_their_order_and_answered_in_any(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    tokens = [world.ask(task_id, key) for key in ("first", "second", "third")]

    asked = questions(resuming.task("result", task_id).messages)
    statuses: list[str] = []
    for amount, one in reversed(list(enumerate(asked, 1))):
        resuming.respond(one, result={"action": "accept", "content": {"amount": amount}})
        statuses.append(resuming.task("get", task_id).result["status"])

    assert [answers_of(world)[token]["content"]["amount"] for token in tokens] == [1, 2, 3]
    assert statuses == ["input_required", "input_required", "working"]


# T30
def test_a_question_that_comes_later_is_asked_later(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    world.ask(task_id, "first")
    first = resuming.task("result", task_id)
    world.ask(task_id, "second")

    second = resuming.resume(first.last_event_id, opened_by=first.request)

    (early,), (late,) = questions(first.messages), questions(second.messages)
    assert early["id"] != late["id"]


# M48, M46
@pytest.mark.parametrize("wrong", WRONG_ANSWERS.values(), ids=list(WRONG_ANSWERS))
def test_a_wrong_answer_is_accepted_and_its_question_asked_again_under_another_id(
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
def test_a_wrong_answer_is_met_with_what_was_expected(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    world.ask(task_id)
    first = resuming.task("result", task_id)
    (asked,) = questions(first.messages)

    resuming.respond(asked, result={"action": "accept", "content": {"amount": 101}})

    (again,) = questions(resuming.resume(first.last_event_id, opened_by=first.request).messages)
    assert "/amount" in again["params"]["message"]
    assert "100" in again["params"]["message"]


# M46, M48: what the user typed is no reason to end the session
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

    taken = Door(world).send(body.encode(), {**PLAIN_HEADERS, "mcp-protocol-version": resuming.version})

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

    taken = Door(world).send(body, {**PLAIN_HEADERS, "mcp-protocol-version": resuming.version})

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
def test_an_answer_that_comes_after_the_end_is_taken_and_changes_nothing(
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


# T30: no state waits for it any more
def test_an_answer_that_comes_after_its_time_is_taken_and_changes_nothing(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    world.ask(task_id, seconds=60)
    (asked,) = questions(resuming.task("result", task_id).messages)
    world.clock.advance(seconds=60)

    status = resuming.task("get", task_id).result["status"]
    answer = resuming.respond(asked, result=ACCEPT)

    assert (status, answer.status) == ("working", 202)
    assert answers_of(world) == {}
    assert questions(resuming.task("result", task_id).messages) == []


# L19, T24: the id alone grants nothing
def test_no_caller_answers_for_another(resuming: LegacyClient, world: World) -> None:
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
def test_an_answer_to_what_was_never_asked_is_accepted_and_changes_nothing(
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


# L3: its capability was worth nothing
def test_a_client_that_answers_with_an_error_lets_the_state_fail_by_a_name_that_can_be_caught(
    resuming: LegacyClient, world: World
) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)
    (asked,) = questions(resuming.task("result", task_id).messages)

    answer = resuming.respond(asked, error={"code": -32601, "message": "Method not found"})

    assert answer.status == 202
    assert failures_of(world) == {token: NOT_SUPPORTED}
    assert resuming.task("get", task_id).result["status"] == "working"


# L3, M48
@pytest.mark.parametrize(
    ("capabilities", "elicitation"),
    [
        ({}, FORM),
        ({}, URL),
        (FORM_CAPABILITY, URL),
        ({"elicitation": {}}, URL),
        (URL_CAPABILITY, FORM),
        ({"sampling": {}}, FORM),
    ],
)
def test_what_a_client_cannot_be_asked_fails_the_state_that_asks(
    world: World, capabilities: Json, elicitation: Json
) -> None:
    client = LegacyClient.opened(world, capabilities=capabilities)
    task_id = client.start()

    token = world.ask(task_id, elicitation=elicitation)

    assert failures_of(world) == {token: NOT_SUPPORTED}
    assert client.task("result", task_id).messages == []


# K8: nobody could ever ask there
@pytest.mark.parametrize("kind", ["no session", "Visual Studio Code 1.99"])
def test_a_client_that_does_not_come_back_cannot_be_asked(world: World, kind: str) -> None:
    client = LegacyClient(world)
    if kind != "no session":
        client = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, name=kind)

    token = world.ask(client.start())

    assert failures_of(world) == {token: NOT_SUPPORTED}


# L3: a task that another client began is shown, with what this one can be asked
def test_a_client_is_asked_only_what_it_can_ask_its_user(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id, "a page", URL)
    world.ask(task_id, "a.form", FORM)
    world.ask(task_id, "a.page", URL)
    clients = [
        LegacyClient.opened(world, capabilities=capabilities)
        for capabilities in (FORM_CAPABILITY, URL_CAPABILITY, ASKING_CAPABILITY, {})
    ]

    seen = [
        [question["params"]["mode"] for question in questions(client.task("result", task_id).messages)]
        for client in clients
    ]

    assert seen == [["form"], ["url"], ["form", "url"], []]
    assert [one.error for one in world.workflows.resumptions] == [INVALID], "a key has no space"


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
