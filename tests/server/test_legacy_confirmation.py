"""Confirmation in legacy: the task exists at once, waits for the user, and starts its workflow after the answer."""

import pytest

from stepwire.tasks.limiter import Limits
from tests.kits import OUTPUT, World
from tests.server.answers import Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    FORM_CAPABILITY,
    RELATED_TASK,
    TASKS_CAPABILITY,
    URL_CAPABILITY,
    LegacyClient,
    ModernClient,
    nothing_happened,
)
from tests.server.messages import CONFIRMATION, CONFIRMED_INPUT, CONFIRMING, inputs_of, questions


# T9, T30, T10
def test_a_legacy_task_waits_for_its_confirmation_and_then_starts(resuming: LegacyClient, world: World) -> None:
    created = resuming.call("confirmed", task={}).result["task"]
    task_id = created["taskId"]
    waiting = resuming.task("get", task_id).result
    (asked,) = questions(resuming.task("result", task_id).messages)
    before = inputs_of(world)

    answer = resuming.respond(asked, result=CONFIRMING)
    working = resuming.task("get", task_id).result

    assert [one["status"] for one in (created, waiting, working)] == ["working", "input_required", "working"]
    assert asked["params"] == {**CONFIRMATION["params"], "_meta": {RELATED_TASK: {"taskId": task_id}}}
    assert (before, answer.status) == ([], 202)
    assert inputs_of(world) == [CONFIRMED_INPUT]
    world.succeed(task_id, OUTPUT)
    assert resuming.task("result", task_id).result["structuredContent"] == OUTPUT


# T6, T30
def test_a_legacy_plain_call_asks_at_once_and_starts_after_the_answer(resuming: LegacyClient, world: World) -> None:
    first = resuming.call("confirmed")
    (asked,) = questions(first.messages)
    before = list(world.workflows.starts)
    resuming.respond(asked, result=CONFIRMING)
    task_id = asked["id"].partition(".")[0]

    (response,) = resuming.follow(first, between=lambda _: world.succeed(task_id, OUTPUT))[1:]

    assert (before, world.clock.slept) == ([], [])
    assert asked["params"] == CONFIRMATION["params"]
    assert response["result"]["structuredContent"] == OUTPUT
    assert inputs_of(world) == [CONFIRMED_INPUT]


# M48, T14, T18
@pytest.mark.parametrize("action", ["decline", "cancel", "an error"])
@pytest.mark.parametrize("as_task", [True, False])
def test_a_declined_task_never_starts(resuming: LegacyClient, world: World, action: str, as_task: bool) -> None:
    if as_task:
        first = resuming.task("result", resuming.call("confirmed", task={}).id_in("task"))
    else:
        first = resuming.call("confirmed")
    (asked,) = questions(first.messages)
    if action == "an error":
        resuming.respond(asked, error={"code": -32601, "message": "Method not found"})
    else:
        resuming.respond(asked, result={"action": action})

    (response,) = resuming.follow(first)[1:]
    (task,) = resuming.ask("tasks/list").result["tasks"]

    assert response["result"]["isError"] is True
    assert "nothing was started" in response["result"]["content"][0]["text"]
    assert task["status"] == "failed"
    assert world.workflows.starts == []


# M46
def test_after_a_wrong_answer_the_confirmation_is_asked_again_and_nothing_starts(
    resuming: LegacyClient, world: World
) -> None:
    first = resuming.call("confirmed")
    (asked,) = questions(first.messages)

    taken = resuming.respond(asked, result={"action": "accept", "content": {"reason": "x" * 21}})
    (again,) = questions(resuming.resume(first.last_event_id, opened_by=first.request).messages)
    before = list(world.workflows.starts)
    resuming.respond(again, result=CONFIRMING)

    assert (taken.status, before) == (202, [])
    assert again["id"] != asked["id"]
    assert "at content/reason" in again["params"]["message"]
    assert inputs_of(world) == [CONFIRMED_INPUT]


# L6
def test_a_repeated_confirmation_starts_the_workflow_once(resuming: LegacyClient, world: World) -> None:
    (asked,) = questions(resuming.call("confirmed").messages)

    answers = [resuming.respond(asked, result=one) for one in (CONFIRMING, CONFIRMING, {"action": "decline"})]

    assert [answer.status for answer in answers] == [202] * 3
    assert inputs_of(world) == [CONFIRMED_INPUT]


# T22, T23
@pytest.mark.parametrize("way", ["tasks/cancel", "notifications/cancelled"])
def test_a_task_that_is_cancelled_before_the_answer_never_starts(
    resuming: LegacyClient, world: World, way: str
) -> None:
    first = resuming.call("confirmed", message_id="r")
    (asked,) = questions(first.messages)
    task_id = asked["id"].partition(".")[0]

    if way == "tasks/cancel":
        resuming.task("cancel", task_id)
    else:
        resuming.notify(way, {"requestId": "r"})
    late = resuming.respond(asked, result=CONFIRMING)

    assert late.status == 202
    assert resuming.task("get", task_id).result["status"] == "cancelled"
    assert (world.workflows.starts, world.workflows.stops) == ([], [])


# T30: however often it is read before it expires
def test_no_reader_starts_a_task_that_waits_for_its_confirmation(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.call("confirmed", task={}).id_in("task")

    for _ in range(5):
        world.clock.advance(seconds=170)
        resuming.task("get", task_id)
        resuming.task("result", task_id)

    assert resuming.task("get", task_id).result["status"] == "input_required"
    assert (world.workflows.starts, world.workflows.described) == ([], [])


# L3: no client could ever answer the question
@pytest.mark.parametrize(
    ("said", "task"),
    [
        ({"capabilities": {}}, {}),
        ({"capabilities": {}}, None),
        ({"capabilities": URL_CAPABILITY}, None),
        ({"capabilities": ASKING_CAPABILITY, "name": "Visual Studio Code"}, None),
        ({"capabilities": ASKING_CAPABILITY, "version": "2025-06-18"}, None),
    ],
)
def test_a_legacy_client_that_cannot_be_asked_is_refused(world: World, said: Json, task: Json | None) -> None:
    client = LegacyClient.opened(world, **said)

    answer = client.call("confirmed", task=task)

    assert (answer.status, answer.code) == (200, -32600)
    assert nothing_happened(world)


# H: the other era shows the same question; X15
def test_a_modern_client_can_confirm_a_legacy_task(resuming: LegacyClient, asking: ModernClient, world: World) -> None:
    task_id = resuming.call("confirmed", task={}).id_in("task")
    found = asking.task("get", task_id).result

    asking.update(task_id, {"confirm": CONFIRMING})

    assert found["inputRequests"] == {"confirm": CONFIRMATION}
    assert inputs_of(world) == [CONFIRMED_INPUT]


# T12: the user's time to answer does not shorten the workflow's ttl
def test_the_ttl_of_a_task_starts_anew_when_it_is_confirmed(world: World) -> None:
    client = LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    task_id = client.start("confirmed")
    before = client.task("get", task_id).result["ttl"]
    world.clock.advance(minutes=14)

    ModernClient(world, capabilities={**TASKS_CAPABILITY, **FORM_CAPABILITY}).update(
        task_id, {"confirm": {"action": "accept"}}
    )
    world.clock.advance(minutes=59)

    task = client.task("get", task_id).result
    assert (task["status"], task["ttl"]) == ("working", before + 14 * 60_000)


# T12: as long as documented, in both eras
@pytest.mark.parametrize(("seconds", "status"), [(899, "working"), (900, "failed")])
def test_a_confirmation_expires_after_15_minutes(seconds: int, status: str) -> None:
    world = World(limits=Limits(active=1))
    client = LegacyClient.opened(world, capabilities=FORM_CAPABILITY)
    task_id = client.start("confirmed")
    world.clock.advance(seconds=seconds)

    answer = ModernClient(world, capabilities={**TASKS_CAPABILITY, **FORM_CAPABILITY}).update(
        task_id, {"confirm": {"action": "accept"}}
    )

    assert "result" in answer.body
    assert client.task("get", task_id).result["status"] == status
    assert len(world.workflows.starts) == (status == "working")
    if status == "failed":
        assert "nothing was started" in client.task("result", task_id).text
        assert client.start("optional")  # its slot is free
