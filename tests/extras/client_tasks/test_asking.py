"""Tasks of the client (2025-11-25 is symmetrical): questions that a client answers with a task of its own.

The client resumes a stream, on which the server polls its task: `tasks/get`, then `tasks/result`. Two instances of the
server take turns.
"""

from datetime import timedelta
from typing import Any

import pytest

from stepwire.server.services import Patience
from tests.extras.client_tasks.hosts import (
    ACCEPT,
    ANSWERS,
    ASKED,
    CAPABILITIES,
    ITS_TASK,
    KINDS,
    REQUESTS,
    Host,
    asked,
    deferred,
    told,
)
from tests.kits import OUTPUT, SAMPLING, URL, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import CONFIRMED_INPUT, CONFIRMING, answers_of, inputs_of, only_task, questions

# -------------------------------------------------------------------------------------------------------- the whole way


# N2
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_task", [True, False])
def test_a_question_is_answered_by_the_result_of_the_clients_task(
    world: World, deferring: LegacyClient, kind: str, *, as_task: bool
) -> None:
    first = deferring.call("optional", task={} if as_task else None)
    task_id = first.id_in("task") if as_task else only_task(world)
    token = world.ask(task_id, "it", other=ASKED[kind])
    host = Host(deferring, deferring.task("result", task_id) if as_task else first)
    (question,) = questions(host.latest.messages) or [host.is_asked()]

    host.says(question, {"task": told("working")})
    looks = [host.is_asked() for _ in range(2)]
    host.says(looks[0], told("working"))
    host.says(looks[1], told("completed"))
    fetch = host.is_asked()
    host.says(fetch, ANSWERS[kind])
    world.succeed(task_id, OUTPUT)
    host.come_back()

    assert isinstance(question["params"]["task"]["ttl"], int)
    assert [(one["method"], one["params"]) for one in looks] == [("tasks/get", {"taskId": ITS_TASK})] * 2
    assert (fetch["method"], fetch["params"]) == ("tasks/result", {"taskId": ITS_TASK})
    assert answers_of(world) == {token: ANSWERS[kind]}
    assert host.latest.result["structuredContent"] == OUTPUT
    assert [one.get("method") for one in host.latest.messages] == [None], "an ended task must not be cancelled"
    assert world.faults == world.troubles == []


def test_a_confirmation_may_be_a_task_too(world: World, deferring: LegacyClient) -> None:
    host = Host(deferring, deferring.call("confirmed"))
    (question,) = questions(host.latest.messages)

    host.says(question, {"task": told("working")})
    host.says(host.is_asked(), told("completed"))
    host.says(host.is_asked(), CONFIRMING)

    assert inputs_of(world) == [CONFIRMED_INPUT]


def test_a_url_elicitation_may_be_a_task_too(world: World, deferring: LegacyClient) -> None:
    task_id = deferring.start()
    token = world.ask(task_id, "it", URL)
    host = Host(deferring, deferring.task("result", task_id))

    host.says(questions(host.latest.messages)[0], {"task": told("completed")})
    host.says(host.is_asked(), {"action": "accept"})

    assert answers_of(world) == {token: {"action": "accept"}}


def test_the_status_of_a_task_that_ended_at_once_is_not_polled(world: World, deferring: LegacyClient) -> None:
    scene = asked(world, deferring)
    scene.host.says(scene.question, {"task": told("completed")})

    assert scene.host.is_asked()["method"] == "tasks/result"


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_may_answer_without_a_task(world: World, deferring: LegacyClient, kind: str) -> None:
    scene = asked(world, deferring, kind)

    scene.host.says(scene.question, ANSWERS[kind])

    assert answers_of(world) == {scene.token: ANSWERS[kind]}
    assert not [one for one in scene.host.come_back() if "id" in one]


# ---------------------------------------------------------------------------------------------------- who is offered it


# N1
@pytest.mark.parametrize(
    ("tasks", "offered"),
    [
        (None, []),
        ({}, []),
        ({"cancel": {}}, []),
        ({"requests": {}}, []),
        ({"requests": {"elicitation": {}}}, []),
        ({"requests": {"elicitation": {"create": True}}}, []),
        ({"requests": {"elicitation": ["create"]}}, []),
        ({"requests": {"elicitation": {"create": {}}}}, ["elicitation/create"]),
        ({"requests": {"sampling": {"createMessage": {}}}}, ["sampling/createMessage"]),
        ({"requests": REQUESTS}, ["elicitation/create", "sampling/createMessage"]),
    ],
)
def test_a_task_is_offered_only_for_requests_that_the_client_declares(
    world: World, tasks: Json | None, offered: list[str]
) -> None:
    declared = {**CAPABILITIES, "tasks": tasks}
    client = LegacyClient.opened(world, capabilities={name: one for name, one in declared.items() if one is not None})
    task_id = client.start()
    world.ask(task_id, "user")
    world.ask(task_id, "model", other={"sampling": SAMPLING})
    world.ask(task_id, "folders", other={"roots": {}})

    found = questions(client.task("result", task_id).messages)

    assert len(found) == 3
    assert [one["method"] for one in found if "task" in one.get("params", {})] == offered


@pytest.mark.parametrize(("seconds", "milliseconds"), [(0, 3_600_000), (90, 90_000)])
def test_the_ttl_of_a_client_task_is_the_time_to_answer(
    world: World, deferring: LegacyClient, seconds: float, milliseconds: int
) -> None:
    assert asked(world, deferring, seconds=seconds).question["params"]["task"] == {"ttl": milliseconds}


def test_the_ttl_of_a_client_task_fits_into_a_javascript_timer(world: World) -> None:
    client = LegacyClient.opened(world, capabilities=CAPABILITIES)
    task_id = client.start(task={"ttl": timedelta(days=30) // timedelta(milliseconds=1)})
    world.ask(task_id)

    (question,) = questions(client.task("result", task_id).messages)

    assert question["params"]["task"]["ttl"] < 2**31


def test_a_task_from_a_client_that_declares_none_is_a_wrong_answer(world: World) -> None:
    client = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)
    scene = asked(world, client)

    scene.host.says(scene.question, {"task": told("working")})

    assert "was not accepted" in scene.host.is_asked()["params"]["message"]


# ------------------------------------------------------------------------------------------------------------- the pace


# N2
@pytest.mark.parametrize(
    ("interval", "retry_ms"),
    [
        (0, 1_000),
        (700, 1_000),
        (3_000, 3_000),
        (20_000, 20_000),
        (10**9, 20_000),
        (-1, 1_000),
        ("3000", 1_000),
        (None, 1_000),
        (True, 1_000),
        (2_500.5, 2_500),
    ],
)
def test_the_client_chooses_the_poll_interval(
    world: World, deferring: LegacyClient, interval: Any, retry_ms: int
) -> None:
    scene = deferred(world, deferring, pollInterval=interval)

    scene.host.come_back()

    expected = 700 if interval == 700 else retry_ms
    assert scene.host.latest.retry_ms == expected


def test_a_client_with_a_long_poll_interval_is_not_polled_in_every_body(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring, pollInterval=60_000)

    bodies = [len([one for one in scene.host.come_back() if "id" in one]) for _ in range(9)]

    assert bodies == [0, 0, 1] * 3
    assert scene.host.latest.retry_ms == 20_000


def test_a_client_with_no_open_question_resumes_at_the_normal_pace(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring, pollInterval=20_000)
    scene.host.come_back()
    slow = scene.host.latest.retry_ms
    ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}).update(scene.task_id, {"it": ACCEPT})

    scene.host.come_back()

    assert slow == 20_000
    assert scene.host.latest.retry_ms is not None
    assert scene.host.latest.retry_ms < 1_000


def test_a_poll_without_news_writes_nothing(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)
    look = scene.host.is_asked()
    world.store.calls.clear()

    scene.host.says(look, told("working"))
    scene.host.come_back()

    assert "save" not in world.store.calls


def test_a_body_is_not_held_while_a_poll_of_the_client_task_is_due(world: World) -> None:
    world = World(patience=Patience(resuming_request=timedelta(seconds=10)))
    client = LegacyClient.opened(world, capabilities=CAPABILITIES)
    scene = deferred(world, client)
    before = world.clock.now()

    scene.host.come_back()

    assert world.clock.now() == before
