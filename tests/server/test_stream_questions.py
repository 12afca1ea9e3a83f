"""Questions on a stream: `elicitation/create` is an event, and the client answers it with a separate POST."""

from collections.abc import Sequence

import pytest

from stepwire.background.input_requests import INVALID
from stepwire.engine.upkeep import NOT_SUPPORTED
from tests.kits import FORM, OUTPUT, URL, World
from tests.server.answers import Answer, Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    FORM_CAPABILITY,
    RELATED_TASK,
    URL_CAPABILITY,
    LegacyClient,
    ModernClient,
)
from tests.server.messages import ACCEPT, answers_of, failures_of, only_task, questions


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
def test_a_url_elicitation_has_its_own_id_and_its_answer_has_no_content(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    token = world.ask(task_id, elicitation=URL)

    (asked,) = questions(resuming.task("result", task_id).messages)
    resuming.respond(asked, result={"action": "accept", "content": {"anything": "else"}})

    assert asked["params"] == {**URL, "elicitationId": asked["id"], "_meta": {RELATED_TASK: {"taskId": task_id}}}
    assert answers_of(world) == {token: {"action": "accept"}}


# T29: the client of a plain call does not know its task
def test_a_question_of_a_plain_call_names_no_task(resuming: LegacyClient, world: World) -> None:
    world.clock.on_sleep = lambda: world.ask(only_task(world))

    first = resuming.call("optional")
    (asked,) = questions(first.messages)
    world.clock.on_sleep = lambda: None
    resuming.respond(asked, result=ACCEPT)
    task_id = asked["id"].partition(".")[0]
    (response,) = resuming.follow(first, between=lambda _: world.succeed(task_id, OUTPUT))[1:]

    assert asked["params"] == {"mode": "form", **FORM}
    assert len(world.clock.slept) == 1, "a question must end the first body"
    assert response["result"]["structuredContent"] == OUTPUT


# M48, L19
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_declined_or_cancelled_question_reaches_the_workflow(
    resuming: LegacyClient, world: World, action: str
) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)

    (asked,) = questions(resuming.task("result", task_id).messages)
    resuming.respond(asked, result={"action": action, "content": {"amount": 7}})

    assert answers_of(world) == {token: {"action": action}}


# M46: fields that are not in the schema are removed
def test_a_field_that_is_not_in_the_schema_does_not_reach_the_workflow(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    token = world.ask(task_id)

    (asked,) = questions(resuming.task("result", task_id).messages)
    resuming.respond(asked, result={"action": "accept", "content": {"amount": 7, "admin": True}, "_meta": {"a": 1}})

    assert answers_of(world) == {token: ACCEPT}


# L8, T30
def test_a_question_is_asked_once_unless_its_body_was_lost(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    first = resuming.task("result", task_id)
    world.ask(task_id)

    lost = resuming.resume(first.last_event_id, opened_by=first.request)
    again = resuming.resume(first.last_event_id, opened_by=first.request)
    further = resuming.resume(again.last_event_id, opened_by=first.request)

    assert len(questions(lost.messages)) == 1
    assert again.messages == lost.messages
    assert further.messages == []


# L8: on another stream, an open question is asked again
def test_another_tasks_result_asks_the_open_questions_again(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    world.ask(task_id)
    resuming.task("result", task_id)

    again = resuming.task("result", task_id)
    (asked,) = questions(again.messages)
    resuming.respond(asked, result=ACCEPT)
    last = resuming.task("result", task_id)

    assert questions(last.messages) == []


# T30
def test_several_questions_are_asked_in_order_and_answered_in_any_order(resuming: LegacyClient, world: World) -> None:
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
def test_a_later_question_is_asked_in_a_later_body(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    world.ask(task_id, "first")
    first = resuming.task("result", task_id)
    world.ask(task_id, "second")

    second = resuming.resume(first.last_event_id, opened_by=first.request)

    (early,), (late,) = questions(first.messages), questions(second.messages)
    assert early["id"] != late["id"]


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
def test_a_question_that_a_client_cannot_ask_fails_the_state(
    world: World, capabilities: Json, elicitation: Json
) -> None:
    client = LegacyClient.opened(world, capabilities=capabilities)
    task_id = client.start()

    token = world.ask(task_id, elicitation=elicitation)

    assert failures_of(world) == {token: NOT_SUPPORTED}
    assert client.task("result", task_id).messages == []


# K8: such a client can never be asked
@pytest.mark.parametrize("kind", ["no session", "Visual Studio Code 1.99"])
def test_a_client_that_does_not_resume_cannot_be_asked(world: World, kind: str) -> None:
    client = LegacyClient(world)
    if kind != "no session":
        client = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, name=kind)

    token = world.ask(client.start())

    assert failures_of(world) == {token: NOT_SUPPORTED}


# L3: a client sees the tasks of the caller's other clients, but only the questions that it can ask
def test_a_client_gets_only_the_questions_that_it_can_ask_its_user(asking: ModernClient, world: World) -> None:
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
    assert [one.error for one in world.workflows.resumptions] == [INVALID], "a key must not contain a space"
