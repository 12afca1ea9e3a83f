"""Tasks of 2025-11-25: created by `tools/call` with a `task`, polled, listed, cancelled, and fetched."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from stepwire.tasks.limiter import Limits
from stepwire.tasks.outcomes import Running
from tests.fakes import START_OF_TIME
from tests.kits import BOB, OUTPUT, World
from tests.server.clients import RELATED_TASK, LegacyClient, ModernClient, nothing_happened

HOUR = 3_600_000  # milliseconds; the ttl of the tools in tests/kits.py
PROTOCOL_ERROR = json.dumps({"code": -31_990, "message": "Not on a Sunday.", "data": {"day": "Sunday"}})


# T7, T8, T9, T11, T12, X8
def test_a_task_is_returned_at_once_and_is_working(legacy: LegacyClient, world: World) -> None:
    task = legacy.call("optional", task={}).result["task"]

    found = legacy.task("get", task["taskId"]).result

    assert task["status"] == "working"
    assert task == found
    assert (task["ttl"], task["pollInterval"]) == (HOUR, 2_000)
    assert datetime.fromisoformat(task["createdAt"]) == START_OF_TIME
    assert world.clock.slept == []


# T7, X8: first the write, then the start, then the answer
def test_a_task_is_durable_before_its_workflow_starts(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()

    (start,) = world.workflows.starts

    assert world.store.calls == ["reserve", "create"]
    assert start.execution.name.endswith(task_id)
    assert json.loads(start.input_text) == {"text": "hello"}


# T8, T25, X27
def test_every_task_has_a_unique_id_with_128_random_bits(legacy: LegacyClient) -> None:
    ids = [legacy.start() for _ in range(20)]

    assert len(set(ids)) == 20
    assert all(len(task_id) == 36 for task_id in ids)


# T12
@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        (1, HOUR),
        (HOUR + 1, HOUR + 1),
        (HOUR + 0.5, HOUR + 1),
        (10**12, 30 * 24 * HOUR),
        (2**53 - 1, 30 * 24 * HOUR),
        (None, HOUR),
    ],
)
def test_a_task_is_kept_as_long_as_asked_within_limits(legacy: LegacyClient, asked: float | None, granted: int) -> None:
    task_id = legacy.start(task={"ttl": asked})

    found = legacy.task("get", task_id).result

    assert found["ttl"] == granted


# T12, T34
@pytest.mark.parametrize("ttl", [0, -1, -0.5, "1000", True, [], {}])
def test_an_invalid_ttl_is_refused(legacy: LegacyClient, world: World, ttl: Any) -> None:
    answer = legacy.call("optional", task={"ttl": ttl})

    assert answer.code == -32602
    assert "params.task.ttl" in answer.error["message"]
    assert nothing_happened(world)


# T34
@pytest.mark.parametrize("task", [[], "yes", 1, True])
def test_a_task_parameter_that_is_not_an_object_is_refused(legacy: LegacyClient, world: World, task: Any) -> None:
    answer = legacy.call("optional", task=task)

    assert answer.code == -32602
    assert nothing_happened(world)


# T3
def test_a_tool_that_is_never_a_task_cannot_be_called_as_one(legacy: LegacyClient, world: World) -> None:
    answer = legacy.call("forbidden", task={})

    assert (answer.status, answer.code) == (200, -32601)
    assert nothing_happened(world)


# T4, T5, H
def test_a_tool_that_is_always_a_task_cannot_be_called_without_one(legacy: LegacyClient, world: World) -> None:
    answer = legacy.call("required")

    assert (answer.status, answer.code) == (200, -32601)
    assert "params.task" in answer.error["message"]
    assert nothing_happened(world)


# T10, T11, T13
def test_a_task_that_ends_shows_when_and_how(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()
    world.clock.advance(seconds=5)

    world.succeed(task_id, OUTPUT)
    found = legacy.task("get", task_id).result

    assert found["status"] == "completed"
    assert datetime.fromisoformat(found["lastUpdatedAt"]) == START_OF_TIME + timedelta(seconds=5)
    assert RELATED_TASK not in found.get("_meta", {})


# T14, T16
def test_the_result_equals_that_of_a_plain_call(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()
    world.succeed(task_id, OUTPUT)

    result = legacy.task("result", task_id).result

    assert result.pop("_meta") == {RELATED_TASK: {"taskId": task_id}}
    assert result == {
        "content": [{"type": "text", "text": '{"answer":42}'}],
        "structuredContent": OUTPUT,
        "isError": False,
    }


# T14, T18
def test_the_result_of_a_tool_that_failed_is_its_error(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()
    world.fail(task_id)

    result = legacy.task("result", task_id).result

    assert result["isError"] is True
    assert result["_meta"] == {RELATED_TASK: {"taskId": task_id}}


# T14, T18
def test_the_result_of_a_task_with_a_protocol_error_is_that_error(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()
    world.fail(task_id, "Stepwire.ProtocolError", PROTOCOL_ERROR)

    status = legacy.task("get", task_id).result["status"]
    answer = legacy.task("result", task_id)

    assert status == "failed"
    assert answer.status == 200
    assert answer.error == json.loads(PROTOCOL_ERROR)


# T15
def test_asking_for_a_result_waits_for_the_end(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()

    def after_five_looks() -> None:
        if len(world.clock.slept) == 5:
            world.succeed(task_id, OUTPUT)

    world.clock.on_sleep = after_five_looks

    result = legacy.task("result", task_id).result

    assert result["structuredContent"] == OUTPUT
    assert len(world.clock.slept) == 5


# T15, K8
def test_asking_for_a_result_times_out_without_losing_it(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()

    answer = legacy.task("result", task_id)
    world.succeed(task_id, OUTPUT)
    later = legacy.task("result", task_id)

    assert (answer.status, answer.code) == (200, -31001)
    assert answer.error["data"]["taskId"] == task_id
    assert 15 <= sum(world.clock.slept) < 20
    assert later.result["structuredContent"] == OUTPUT


# K4
def test_the_result_of_a_cancelled_task_says_that_there_is_none(legacy: LegacyClient) -> None:
    task_id = legacy.start()
    legacy.task("cancel", task_id)

    result = legacy.task("result", task_id).result

    assert result["isError"] is True
    assert "cancelled" in result["content"][0]["text"]


# T22, X30
@pytest.mark.parametrize("end", ["succeed", "fail", "cancel"])
def test_a_task_that_has_ended_cannot_be_cancelled(legacy: LegacyClient, world: World, end: str) -> None:
    task_id = legacy.start()
    actions: dict[str, Any] = {
        "succeed": lambda: world.succeed(task_id, OUTPUT),
        "fail": lambda: world.fail(task_id),
        "cancel": lambda: legacy.task("cancel", task_id),
    }
    actions[end]()
    before, stops = legacy.task("get", task_id).result, len(world.workflows.stops)

    answer = legacy.task("cancel", task_id)

    assert (answer.status, answer.code) == (200, -32602)
    assert legacy.task("get", task_id).result == before
    assert len(world.workflows.stops) == stops


# T23
def test_a_cancelled_task_is_stopped_before_the_answer(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()

    answer = legacy.task("cancel", task_id).result

    assert answer["status"] == "cancelled"
    assert [stop.execution for stop in world.workflows.stops] == [world.workflows.execution_of(task_id)]
    assert world.workflows.running() == ()
    assert legacy.task("get", task_id).result == answer


# T10, T23
def test_a_cancelled_task_stays_cancelled_whatever_its_execution_reports_later(
    legacy: LegacyClient, world: World
) -> None:
    task_id = legacy.start()
    execution = world.workflows.execution_of(task_id)
    legacy.task("cancel", task_id)

    world.workflows.states[execution] = Running()
    world.succeed(task_id, OUTPUT)

    assert legacy.task("get", task_id).result["status"] == "cancelled"


# T22, T23
def test_a_task_that_ends_while_it_is_being_cancelled_keeps_its_end(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()
    execution = world.workflows.execution_of(task_id)
    world.workflows.succeed(execution, OUTPUT)
    world.store.before_save = world.deliver

    answer = legacy.task("cancel", task_id)

    assert answer.code == -32602
    assert legacy.task("get", task_id).result["status"] == "completed"


# T19, T20, T21
def test_only_the_callers_tasks_are_listed_newest_first(legacy: LegacyClient, world: World) -> None:
    ids = [legacy.start() for _ in range(3)]
    LegacyClient(world, owner=BOB).start()
    ids.append(ModernClient(world).start())

    listed = legacy.ask("tasks/list").result

    assert [task["taskId"] for task in listed["tasks"]] == ids[::-1]
    assert "nextCursor" not in listed


# T19, T20
def test_many_tasks_are_listed_in_pages_each_of_them_once() -> None:
    legacy = LegacyClient(World(limits=Limits(active=120)))
    ids = [legacy.start() for _ in range(120)]

    pages = [legacy.ask("tasks/list").result]
    while "nextCursor" in pages[-1]:
        pages.append(legacy.ask("tasks/list", {"cursor": pages[-1]["nextCursor"]}).result)

    assert [task["taskId"] for page in pages for task in page["tasks"]] == ids[::-1]
    assert max(len(page["tasks"]) for page in pages) == 50


# T20: a plain call is stored as a task too
def test_a_listed_task_looks_the_same_as_in_tasks_get(legacy: LegacyClient, world: World) -> None:
    legacy.call("optional")
    world.fail(legacy.start())

    listed = legacy.ask("tasks/list").result["tasks"]

    assert len(listed) == 2
    assert listed == [legacy.task("get", task["taskId"]).result for task in listed]


# T12, T13, T20
def test_an_expired_task_is_unknown_to_every_method(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()
    world.clock.advance(milliseconds=HOUR - 1)
    assert legacy.task("get", task_id).result["status"] == "working"

    world.clock.advance(milliseconds=1)

    assert [legacy.task(method, task_id).code for method in ("get", "result", "cancel")] == [-32602] * 3
    assert legacy.ask("tasks/list").result["tasks"] == []
