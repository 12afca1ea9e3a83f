"""A client's task is cancelled when its answer is no longer needed; several clients and streams for one question."""

from tests.extras.client_tasks.hosts import (
    ACCEPT,
    CAPABILITIES,
    ITS_TASK,
    REQUESTS,
    UNKNOWN,
    Host,
    asked,
    deferred,
    ended,
    told,
)
from tests.kits import OUTPUT, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.instances import RoundRobinEndpoint
from tests.server.messages import answers_of, only_task, questions

# ----------------------------------------------------------------------------------------------- what is not wanted now


def cancels_in(messages: list[Json]) -> list[Json]:
    return [one for one in messages if one.get("method") == "tasks/cancel"]


# T23, N3
def test_cancelling_a_task_cancels_the_clients_task(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)

    deferring.task("cancel", scene.task_id)
    scene.host.come_back()

    *before, response = scene.host.latest.messages
    assert [one["params"] for one in cancels_in(before)] == [{"taskId": ITS_TASK}]
    assert response["result"]["isError"]


def test_cancelling_a_call_cancels_the_clients_task(world: World, deferring: LegacyClient) -> None:
    first = deferring.call("optional", message_id="r")
    world.ask(only_task(world))
    host = Host(deferring, first)
    host.says(host.is_asked(), {"task": told("working")})

    deferring.notify("notifications/cancelled", {"requestId": "r"})
    host.come_back()

    assert [one["params"] for one in cancels_in(host.latest.messages)] == [{"taskId": ITS_TASK}]
    assert host.latest.is_answered


def test_the_end_of_a_workflow_cancels_the_clients_task(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)

    world.succeed(scene.task_id, OUTPUT)
    scene.host.come_back()

    assert len(cancels_in(scene.host.latest.messages)) == 1
    assert scene.host.latest.result["structuredContent"] == OUTPUT


# Many clients fetch the result only after the end of the workflow
def test_after_the_end_of_a_workflow_a_later_stream_cancels_the_clients_task(
    world: World, deferring: LegacyClient
) -> None:
    scene = deferred(world, deferring)
    world.succeed(scene.task_id, OUTPUT)

    answer = deferring.task("result", scene.task_id)

    assert len(cancels_in(answer.messages)) == 1
    assert answer.result["structuredContent"] == OUTPUT


def test_another_answer_cancels_the_clients_task(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)

    ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}).update(scene.task_id, {"it": ACCEPT})
    cancel = scene.host.is_asked()
    again = scene.host.is_asked()
    scene.host.says(again, told("cancelled"))

    assert cancel["method"] == again["method"] == "tasks/cancel", (
        "the cancellation must be repeated until it is acknowledged"
    )
    assert answers_of(world) == {scene.token: ACCEPT}
    assert not [one for one in scene.host.come_back() if "id" in one]


def test_the_expiry_of_a_question_cancels_the_clients_task(world: World, deferring: LegacyClient) -> None:
    scene = asked(world, deferring, seconds=30)
    scene.host.says(scene.question, {"task": told("working")})
    world.clock.advance(seconds=31)

    cancel = scene.host.is_asked()
    scene.host.fails(cancel, UNKNOWN)

    assert cancel["method"] == "tasks/cancel"
    assert not [one for one in scene.host.come_back() if "id" in one]


def test_a_task_for_a_closed_question_is_cancelled(world: World, deferring: LegacyClient) -> None:
    scene = asked(world, deferring)
    ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}).update(scene.task_id, {"it": ACCEPT})

    scene.host.says(scene.question, {"task": told("working")})

    assert scene.host.is_asked()["method"] == "tasks/cancel"


# N3
def test_a_client_that_does_not_support_it_is_not_asked_to_cancel(world: World) -> None:
    client = LegacyClient.opened(world, capabilities={**CAPABILITIES, "tasks": {"requests": REQUESTS}})
    scene = deferred(world, client)

    world.succeed(scene.task_id, OUTPUT)

    assert [one.get("method") for one in scene.host.come_back()] == [None]


def test_a_result_after_another_answer_is_ignored(world: World, deferring: LegacyClient) -> None:
    scene = ended(world, deferring)
    fetch = scene.host.is_asked()
    ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}).update(
        scene.task_id, {"it": {"action": "decline"}}
    )

    scene.host.says(fetch, ACCEPT)

    assert answers_of(world) == {scene.token: {"action": "decline"}}
    assert not [one for one in scene.host.come_back() if "id" in one], "an ended task must not be cancelled"


# ------------------------------------------------------------------------------------------ several streams and clients


def test_another_stream_of_the_same_client_repeats_no_request(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)

    second = deferring.task("result", scene.task_id, message_id=2)
    call = deferring.call("task_result", {"task_id": scene.task_id, "wait_seconds": 0}, message_id=3)

    for stream in (second, call):
        assert questions(stream.messages) == []
        assert [one["method"] for one in stream.messages if "id" in one] == ["tasks/get"]


def test_another_client_is_asked_too_and_the_first_answer_counts(
    world: World, turns: RoundRobinEndpoint, deferring: LegacyClient
) -> None:
    first = deferred(world, deferring)
    other = LegacyClient.opened(turns, capabilities=CAPABILITIES)
    second = Host(other, other.task("result", first.task_id))
    (question,) = questions(second.latest.messages)

    second.says(question, {"task": told("completed", "of the other client")})
    assert second.is_asked()["method"] == "elicitation/create", (
        "an id with spaces is invalid, so the question must be asked again"
    )
    second.says({"id": second.latest.messages[-1]["id"]}, ACCEPT)

    assert first.host.is_asked()["method"] == "tasks/cancel"
    assert answers_of(world) == {first.token: ACCEPT}


def test_each_of_two_clients_is_asked_about_its_own_task(
    world: World, turns: RoundRobinEndpoint, deferring: LegacyClient
) -> None:
    first = deferred(world, deferring)
    other = LegacyClient.opened(turns, capabilities=CAPABILITIES)
    second = Host(other, other.task("result", first.task_id))
    second.says(questions(second.latest.messages)[0], {"task": told("working", "theirs")})

    looks = (first.host.is_asked(), second.is_asked())
    second.says(looks[0], told("completed"))  # about a task for which it was not asked
    second.says(looks[1], told("completed", "theirs"))
    second.says(second.is_asked(), ACCEPT)

    assert [one["params"]["taskId"] for one in looks] == [ITS_TASK, "theirs"]
    assert first.host.is_asked()["method"] == "tasks/cancel"
    assert answers_of(world) == {first.token: ACCEPT}


def test_a_client_with_two_tasks_for_one_question_is_polled_for_both(world: World, deferring: LegacyClient) -> None:
    scene = deferred(world, deferring)
    scene.host.says(scene.question, {"task": told("working", "second")})

    looks = [one for one in scene.host.come_back() if one["method"] == "tasks/get"]
    scene.host.says(looks[1], told("completed", "second"))
    fetch = next(one for one in scene.host.come_back() if one["method"] == "tasks/result")
    scene.host.says(fetch, ACCEPT)

    assert answers_of(world) == {scene.token: ACCEPT}
    assert scene.host.is_asked()["params"] == {"taskId": ITS_TASK}
