"""What a client may say about its task; invalid, late or lost messages do no harm."""

from typing import Final

import pytest

from stepwire.engine.upkeep import NOT_SUPPORTED
from stepwire.extras.client_tasks.notes import MOST_CLIENT_TASKS, made_of
from tests.extras.client_tasks.hosts import (
    ACCEPT,
    ANSWERS,
    ITS_TASK,
    KINDS,
    UNKNOWN,
    Host,
    asked,
    deferred,
    ended,
    told,
)
from tests.kits import SAMPLED, World
from tests.server.answers import Json
from tests.server.clients import LegacyClient
from tests.server.messages import answers_of, failures_of, questions

# ------------------------------------------------------------------------------------------------ what a client may say


# A client task that requires input gets none from the server, which polls it until its user has given the input.
def test_a_task_that_requires_input_is_polled_again(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)

    scene.host.says(scene.host.is_asked(), told("input_required"))

    assert scene.host.is_asked()["method"] == "tasks/get"


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_task_fails_the_state_with_its_error(world: World, deferring: LegacyClient, kind: str) -> None:
    scene = ended(world, deferring, kind, "failed")

    scene.host.fails(scene.host.is_asked(), {"code": -1, "message": "The user rejected it."})

    assert failures_of(world) == {scene.token: NOT_SUPPORTED}


def test_a_cancelled_task_cancels_its_question(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)

    scene.host.says(scene.host.is_asked(), told("cancelled"))

    assert answers_of(world) == {scene.token: {"action": "cancel"}}
    assert not [one for one in scene.host.come_back() if "id" in one]


def test_a_cancelled_task_of_a_model_fails_the_state(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring, "sampling")

    scene.host.says(scene.host.is_asked(), told("cancelled"))

    assert failures_of(world) == {scene.token: NOT_SUPPORTED}
    assert not [one for one in scene.host.come_back() if "id" in one]


NONSENSE: Final[list[Json]] = [
    {},
    told("WORKING"),
    told("working", "another task"),
    {"taskId": ITS_TASK},
    {"task": told("working")},
    {"status": "completed"},
    ACCEPT,
]


# -32602 if the task has expired or its client has restarted; -32601 if the client does not support polls
@pytest.mark.parametrize("error", [UNKNOWN, {"code": -32601, "message": "tasks/get not supported"}])
def test_a_question_whose_task_is_lost_is_asked_again_without_a_task(
    world: World, deferring: LegacyClient, error: Json
) -> None:
    scene = deferred(world, deferring)

    scene.host.fails(scene.host.is_asked(), error)
    again = scene.host.is_asked()
    scene.host.says(again, ACCEPT)

    assert again["method"] == "elicitation/create"
    assert "task" not in again["params"]
    assert "the client has lost the task" in again["params"]["message"]
    assert answers_of(world) == {scene.token: ACCEPT}
    assert not [one for one in scene.host.come_back() if "id" in one]


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_a_task_with_an_invalid_status_is_lost(world: World, deferring: LegacyClient, nonsense: Json) -> None:
    scene = deferred(world, deferring)

    scene.host.says(scene.host.is_asked(), nonsense)

    assert "task" not in scene.host.is_asked()["params"]


@pytest.mark.parametrize(
    "created",
    [
        {"task": {}},
        {"task": None},
        {"task": told("working", "")},
        {"task": told("working", "x" * 129)},
        {"task": told("working", "grüße")},
        {"task": told("working", "a b")},
        {"task": {**told("working"), "taskId": 7}},
        {"task": told("begun")},
        told("working"),
        {"task": [told("working")]},
    ],
)
def test_an_invalid_task_is_a_wrong_answer(world: World, deferring: LegacyClient, created: Json) -> None:
    scene = asked(world, deferring)

    scene.host.says(scene.question, created)
    again = scene.host.is_asked()
    scene.host.says(again, ACCEPT)

    assert "task" not in again["params"]
    assert answers_of(world) == {scene.token: ACCEPT}


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("elicitation", {}),
        ("elicitation", {"action": "accept", "content": {"amount": 0}}),
        ("elicitation", {"task": told("completed")}),
        ("sampling", {**SAMPLED, "role": "user"}),
        ("sampling", {**SAMPLED, "content": {"type": "text", "text": "x" * 20_000}}),
        ("sampling", {**SAMPLED, "content": {"type": "tool_use", "id": "1", "name": "a", "input": {}}}),
    ],
)
def test_the_result_of_a_task_is_validated_as_any_answer(
    world: World, deferring: LegacyClient, kind: str, wrong: Json
) -> None:
    scene = ended(world, deferring, kind)

    scene.host.says(scene.host.is_asked(), wrong)
    again = scene.host.is_asked()
    scene.host.says(again, ANSWERS[kind])

    assert "task" not in again["params"]
    assert answers_of(world) == {scene.token: ANSWERS[kind]}


def test_a_client_that_does_not_respond_is_polled_again(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)

    methods = [scene.host.is_asked()["method"] for _ in range(3)]

    assert methods == ["tasks/get"] * 3
    assert answers_of(world) == {}


@pytest.mark.parametrize("tail", ["get", "get.1", "nothing.1.x", f"get.1.{ITS_TASK}x", f"result.1.{ITS_TASK}x", "..."])
def test_a_response_without_a_request_changes_nothing(world: World, deferring: LegacyClient, tail: str) -> None:
    scene = deferred(world, deferring)

    scene.host.says({"id": f"{scene.task_id}.1.{tail}"}, told("completed"))

    assert scene.host.is_asked()["method"] == "tasks/get"
    assert answers_of(world) == {}


@pytest.mark.parametrize("number", ["0", "2", "-1", "x", "", "9" * 200, "²"])
def test_a_task_for_an_unknown_question_is_ignored(world: World, deferring: LegacyClient, number: str) -> None:
    scene = asked(world, deferring)

    scene.host.says({"id": f"{scene.task_id}.{number}"}, {"task": told("working")})

    assert not [one for one in scene.host.come_back() if "id" in one]


def test_questions_above_the_limit_of_client_tasks_are_asked_without_tasks(
    world: World, deferring: LegacyClient
) -> None:
    task_id = deferring.start()
    for number in range(MOST_CLIENT_TASKS + 2):
        world.ask(task_id, f"q{number}")
    host = Host(deferring, deferring.task("result", task_id))

    for question in questions(host.latest.messages):
        host.says(question, {"task": told("working", f"task {question['id']}".replace(" ", "-"))})
    later = host.come_back()

    again = questions(later)
    assert len(again) == 2
    assert not any("task" in one["params"] for one in again)
    assert len([one for one in later if one["method"] == "tasks/get"]) == MOST_CLIENT_TASKS
    (key,) = world.store.tasks
    assert len(made_of(world.store.tasks[key])) == MOST_CLIENT_TASKS


# ----------------------------------------------------------------------------------------------------- lost and doubled


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_duplicate_response_counts_once(world: World, deferring: LegacyClient, times: int) -> None:
    scene = asked(world, deferring)

    for _ in range(times):
        scene.host.says(scene.question, {"task": told("working")})
    look = scene.host.is_asked()
    for _ in range(times):
        scene.host.says(look, told("completed"))
    fetch = scene.host.is_asked()
    for _ in range(times):
        scene.host.says(fetch, ACCEPT)

    assert [one.token for one in world.workflows.resumptions] == [scene.token]


@pytest.mark.parametrize("step", ["get", "result"])
def test_a_response_that_could_not_be_recorded_is_requested_again(
    world: World, deferring: LegacyClient, step: str
) -> None:
    scene = (deferred if step == "get" else ended)(world, deferring)
    request, said = scene.host.is_asked(), told("completed") if step == "get" else ACCEPT
    world.store.is_available = False
    refused = deferring.respond(request, result=said)
    world.store.is_available = True
    world.faults.clear()

    again = scene.host.is_asked()
    scene.host.says(again, said)

    assert refused.status == 503
    assert again["method"] == request["method"] == f"tasks/{step}"
    assert len(answers_of(world)) == (step == "result")


def test_a_lost_body_loses_no_message(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)
    before = scene.host.latest

    scene.host.come_back()  # this body is lost
    scene.host.latest = before
    scene.host.says(scene.host.is_asked(), told("completed"))
    before = scene.host.latest
    scene.host.come_back()  # and so is this one
    scene.host.latest = before
    scene.host.says(scene.host.is_asked(), ACCEPT)

    assert answers_of(world) == {scene.token: ACCEPT}
