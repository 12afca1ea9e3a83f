"""Tasks of the extension of 2026-07-28: created by the server's choice, then polled, updated and cancelled."""

import json
from datetime import datetime
from typing import Any

import pytest

from stepwire.errors import StartUnclear, StoreBusy
from stepwire.json_text import write
from tests.fakes import LARGE, START_OF_TIME
from tests.kits import OUTPUT, World
from tests.server.answers import Json
from tests.server.clients import (
    FORM_CAPABILITY,
    RELATED_TASK,
    LegacyClient,
    ModernClient,
)
from tests.server.messages import own

PROTOCOL_ERROR: Json = {"code": -31_990, "message": "Not on a Sunday.", "data": {"day": "Sunday"}}
METHODS = ("get", "update", "cancel")


# X4, X5, X6, X7, X8, H
def test_a_call_by_a_client_that_declares_tasks_is_a_task(modern: ModernClient, world: World) -> None:
    result = modern.call("optional").result

    found = modern.task("get", result["taskId"]).result

    assert result["resultType"] == "task"
    assert own(result) == {
        "taskId": result["taskId"],
        "status": "working",
        "createdAt": "2026-08-01T12:00:00.000Z",
        "lastUpdatedAt": "2026-08-01T12:00:00.000Z",
        "ttlMs": 3_600_000,
        "pollIntervalMs": 2_000,
    }
    assert own(found) == own(result)
    assert world.clock.slept == []


# X2, M22
def test_a_declaration_of_tasks_in_an_earlier_request_does_not_count(modern: ModernClient, world: World) -> None:
    modern.call("optional")

    answer = ModernClient(world, capabilities=FORM_CAPABILITY).call("optional")

    assert answer.result["resultType"] == "input_required"


# X24, M19
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("exists", [True, False])
def test_the_methods_of_tasks_need_a_client_that_declares_them_before_any_task_is_looked_up(
    modern: ModernClient, world: World, method: str, exists: bool
) -> None:
    task_id = modern.start() if exists else "0" * 36
    calls = list(world.store.calls)

    answer = ModernClient(world, capabilities={}).task(method, task_id, inputResponses={})

    assert (answer.status, answer.code) == (400, -32021)
    assert world.store.calls == calls


# X10, X11
def test_a_completed_task_contains_exactly_the_result_of_the_call(modern: ModernClient, world: World) -> None:
    task_id = modern.start()

    world.succeed(task_id, OUTPUT)
    found = modern.task("get", task_id).result

    assert (found["resultType"], found["status"]) == ("complete", "completed")
    assert found["result"] == {
        "resultType": "complete",
        "content": [{"type": "text", "text": '{"answer":42}'}],
        "structuredContent": OUTPUT,
        "isError": False,
    }


# X11
def test_a_related_task_in_the_output_of_a_workflow_is_removed_from_its_result(
    modern: ModernClient, world: World
) -> None:
    task_id = modern.start()
    content = [{"type": "text", "text": "a"}]

    world.succeed(task_id, {"content": content, "_meta": {RELATED_TASK: {"taskId": "x"}, "example/kept": 1}})
    found = modern.task("get", task_id).result

    assert found["result"]["_meta"] == {"example/kept": 1}
    assert found["result"]["content"] == content


# M27, X12
@pytest.mark.parametrize(
    "cause",
    [
        "no JSON",
        "{}",
        "[]",
        '{"code": -32020, "message": "a header"}',
        '{"code": -32042, "message": "an address"}',
        '{"code": 1.5, "message": "half"}',
        '{"code": true, "message": "yes"}',
        '{"code": 1, "message": ""}',
    ],
)
def test_a_workflow_cannot_choose_a_reserved_error_code(modern: ModernClient, world: World, cause: str) -> None:
    task_id = modern.start()

    world.fail(task_id, "Stepwire.ProtocolError", cause)
    found = modern.task("get", task_id).result

    assert found["error"]["code"] == -32603


# X10, X18, X20
def test_a_cancelled_task_shows_that_and_nothing_more(modern: ModernClient, world: World) -> None:
    task_id = modern.start()

    answer = modern.task("cancel", task_id).result
    found = modern.task("get", task_id).result

    assert own(answer) == {}
    assert found["status"] == "cancelled"
    assert not {"result", "error", "inputRequests"} & found.keys()
    assert world.workflows.running() == ()


# X20, X30, H
@pytest.mark.parametrize("end", ["succeed", "fail", "protocol error", "cancel"])
def test_cancelling_a_task_that_has_ended_is_acknowledged_and_changes_nothing(
    modern: ModernClient, world: World, end: str
) -> None:
    task_id = modern.start()
    actions: dict[str, Any] = {
        "succeed": lambda: world.succeed(task_id, OUTPUT),
        "fail": lambda: world.fail(task_id),
        "protocol error": lambda: world.fail(task_id, "Stepwire.ProtocolError", write(PROTOCOL_ERROR)),
        "cancel": lambda: modern.task("cancel", task_id),
    }
    actions[end]()
    before = modern.task("get", task_id).body

    answer = modern.task("cancel", task_id)

    assert own(answer.result) == {}
    assert modern.task("get", task_id).body == before


# X15, X16
@pytest.mark.parametrize("responses", [{}, {"a key": {"action": "accept", "content": {"a": 1}}}, {"a": None}])
def test_unrequested_answers_are_acknowledged_and_ignored(modern: ModernClient, world: World, responses: Json) -> None:
    task_id = modern.start()
    before = modern.task("get", task_id).body

    answer = modern.task("update", task_id, inputResponses=responses)

    assert own(answer.result) == {}
    assert modern.task("get", task_id).body == before


# X15, M37
@pytest.mark.parametrize("responses", [None, [], "yes", 1])
def test_an_update_whose_answers_are_not_an_object_is_refused(modern: ModernClient, responses: Any) -> None:
    task_id = modern.start()

    answer = modern.task("update", task_id, inputResponses=responses)

    assert (answer.status, answer.code) == (400, -32602)


# X25, M12
@pytest.mark.parametrize("method", METHODS)
def test_the_header_with_the_task_id_may_be_absent_but_not_wrong(modern: ModernClient, method: str) -> None:
    task_id, other = modern.start(), modern.start()
    params: Json = {"taskId": task_id, "inputResponses": {}}

    wrong = modern.ask(f"tasks/{method}", params, headers={"mcp-name": other})
    absent = modern.ask(f"tasks/{method}", params, headers={"mcp-name": None})

    assert (wrong.status, wrong.code) == (400, -32020)
    assert absent.status == 200


# X13
def test_a_task_is_readable_until_its_ttl_is_over(modern: ModernClient, world: World) -> None:
    result = modern.call("optional").result
    world.succeed(result["taskId"], OUTPUT)

    world.clock.advance(milliseconds=result["ttlMs"] - 1)
    last = modern.task("get", result["taskId"])
    world.clock.advance(milliseconds=1)
    gone = modern.task("get", result["taskId"])

    assert last.result["status"] == "completed"
    assert gone.code == -32602


# X8: the response to StartExecution was lost, but the task is stored
@pytest.mark.parametrize("began", [True, False])
def test_a_task_whose_start_is_unclear_is_returned_and_runs_once(
    modern: ModernClient, world: World, began: bool
) -> None:
    world.workflows.start_fault, world.workflows.begins_unclear_starts = StartUnclear(), began
    task_id = modern.start()

    world.workflows.start_fault = None
    world.clock.advance(seconds=60)
    looked = modern.task("get", task_id).result
    world.succeed(task_id, OUTPUT)

    assert looked["status"] == "working"
    assert len(world.workflows.states) == 1
    assert modern.task("get", task_id).result["result"]["structuredContent"] == OUTPUT


# X10, X11
def test_a_large_result_is_returned_completely(modern: ModernClient, world: World) -> None:
    task_id = modern.start()
    output = {"text": "ü" * LARGE}

    world.succeed(task_id, output)
    found = modern.task("get", task_id).result
    legacy = LegacyClient(world).task("result", task_id).result

    assert found["result"]["structuredContent"] == legacy["structuredContent"] == output
    assert json.loads(found["result"]["content"][0]["text"]) == output


# X10: an overdue end is checked once per interval, whoever polls
def test_a_task_whose_end_was_not_reported_is_repaired_by_a_poll(modern: ModernClient, world: World) -> None:
    task_id = modern.start()
    world.workflows.succeed(world.workflows.execution_of(task_id), OUTPUT)

    early = modern.task("get", task_id).result
    world.clock.advance(seconds=60)
    late = modern.task("get", task_id).result

    assert (early["status"], late["status"]) == ("working", "completed")
    assert datetime.fromisoformat(late["lastUpdatedAt"]) > START_OF_TIME
    assert len(world.workflows.described) == 1


# X10
def test_a_running_task_is_checked_once_per_interval(modern: ModernClient, world: World) -> None:
    task_id = modern.start()

    for _ in range(10):
        world.clock.advance(seconds=15)
        modern.task("get", task_id)

    assert len(world.workflows.described) == 2


# X21: the recorded status is still valid
def test_a_poll_while_step_functions_is_down_shows_what_is_recorded(modern: ModernClient, world: World) -> None:
    task_id = modern.start()
    world.workflows.is_available = False
    world.clock.advance(seconds=60)

    answer = modern.task("get", task_id)

    assert answer.result["status"] == "working"


# X21, M20: no task is lost, and the error does not reveal its cause
def test_a_large_result_is_available_again_after_an_outage_of_the_store() -> None:
    world = World()
    modern = ModernClient(world)
    task_id = modern.start()
    world.succeed(task_id, {"text": "a" * LARGE})

    world.store.serves_parts = False
    refused = modern.task("get", task_id)
    world.store.serves_parts = True
    served = modern.task("get", task_id)

    assert (refused.status, refused.code) == (429, -32603)
    assert {type(fault) for fault in world.faults} == {StoreBusy}
    assert served.result["result"]["structuredContent"] == {"text": "a" * LARGE}
