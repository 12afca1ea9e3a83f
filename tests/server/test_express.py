"""Tools whose state machine is of type EXPRESS: one request, one execution, no task, in both eras."""

from datetime import timedelta
from typing import Any, Final

import pytest
from msgspec.structs import force_setattr, replace

from stepwire.audit import AuditAction
from stepwire.catalog.tools import Additions, Context
from stepwire.engine.limiter import ALL_CALLERS, HeldPlace
from stepwire.engine.limiter import EXPRESS as EXPRESS_POOL
from stepwire.errors import NoEndInTime, StartRefused, StartRefusedForNow, StartUnclear
from stepwire.json_text import load_json, write
from stepwire.principal import principal_of
from stepwire.server.services import Patience
from stepwire.tasks.limiter import Limits, Places
from stepwire.tasks.outcomes import ExecutionEnd, ExecutionFailed, Succeeded, TimedOut
from stepwire.tasks.task import Execution
from tests.kits import ALICE, ARGUMENTS, BAD_ARGUMENTS, BOB, EXPRESS, OUTPUT, OUTPUT_SCHEMA, TOOLS, World, catalog_of
from tests.server.answers import Answer
from tests.server.clients import TASKS_CAPABILITY, LegacyClient, ModernClient, nothing_happened

Client = LegacyClient | ModernClient
PROMISING: Final = replace(EXPRESS, name="promising", output_schema=write(OUTPUT_SCHEMA))
LINKING: Final = replace(EXPRESS, name="linking", result_bucket="reports")


@pytest.fixture
def world() -> World:
    return World(catalog=catalog_of(*TOOLS, EXPRESS, PROMISING, LINKING))


@pytest.fixture(params=["legacy", "legacy without tasks", "modern", "modern with tasks"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    clients: dict[str, Client] = {
        "legacy": LegacyClient(world),
        "legacy without tasks": LegacyClient(world, version="2025-06-18"),
        "modern": ModernClient(world, capabilities={}),
        "modern with tasks": ModernClient(world, capabilities=TASKS_CAPABILITY),
    }
    return clients[request.param]


def test_the_response_of_a_call_has_the_result(client: Client, world: World) -> None:
    world.sync_workflows.answer = Succeeded(write(OUTPUT))

    result = client.call("express").result

    assert result["structuredContent"] == OUTPUT
    (start,) = world.sync_workflows.starts
    assert start.input_text == write(ARGUMENTS)
    assert world.workflows.starts == []


def test_no_task_is_created_and_no_active_slot_is_taken(client: Client, world: World) -> None:
    client.call("express")

    assert world.store.tasks == {}
    assert world.store.usage[ALICE].active == frozenset()
    assert world.store.calls == ["count"]
    assert world.wait_slots.pools == {EXPRESS_POOL + ALICE: set(), EXPRESS_POOL + ALL_CALLERS: set()}, (
        "both wait slots must be released"
    )


def test_a_caller_with_every_slot_taken_may_still_call(world: World) -> None:
    world = World(limits=Limits(active=1), catalog=world.catalog)
    world.call()

    assert "structuredContent" in ModernClient(world).call("express").result


def test_a_call_counts_for_the_rate_limit_as_a_task_does(client: Client, world: World) -> None:
    force_setattr(world.calls.admission, "limits", Limits(per_minute=2))

    client.call("express")
    client.call("optional", arguments=ARGUMENTS)
    refused = client.call("express")

    assert (refused.code, refused.error["data"]["limit"]) == (-31002, "created per minute")
    assert len(world.sync_workflows.starts) == 1


def test_a_call_takes_a_wait_slot(world: World) -> None:
    world = World(waits=Places(0), catalog=world.catalog)

    refused = ModernClient(world).call("express")

    assert (refused.code, refused.error["data"]["limit"]) == (-31002, "waiting requests")
    assert world.sync_workflows.starts == []


def test_callers_who_wait_for_tasks_take_no_slot_of_a_call(world: World) -> None:
    carol, dave = (principal_of(("jwt", "https://issuer.example", name), "a stack") for name in ("carol", "dave"))
    waits, until = world.operations.limiter, world.clock.now() + timedelta(seconds=20)
    held = [waits.acquire(owner, until) for owner in (ALICE, ALICE, ALICE, BOB, dave)]

    assert all(isinstance(one, HeldPlace) for one in held)
    assert "structuredContent" in ModernClient(world, owner=carol).call("express").result


def test_calls_of_one_caller_leave_slots_to_others(world: World) -> None:
    calls, until = world.express.limiter, world.clock.now() + timedelta(seconds=20)
    held = [calls.acquire(ALICE, until) for _ in range(5)]

    mine, others = (ModernClient(world, owner=owner).call("express") for owner in (ALICE, BOB))

    assert sum(isinstance(one, HeldPlace) for one in held) == 1
    assert (mine.code, mine.error["data"]["limit"]) == (-31002, "waiting requests")
    assert "structuredContent" in others.result


def test_a_call_keeps_its_slot_as_long_as_its_execution_may_take(world: World) -> None:
    meanwhile, run = list[Answer](), world.sync_workflows.run

    def slow(execution: Execution, input_text: str, trace_header: str | None = None) -> ExecutionEnd:
        world.sync_workflows.run = run
        world.clock.time += world.express.patience
        meanwhile.append(ModernClient(world).call("express"))
        return run(execution, input_text, trace_header)

    world.sync_workflows.run = slow

    assert "structuredContent" in ModernClient(world).call("express").result
    assert [one.error["data"]["limit"] for one in meanwhile] == ["waiting requests"]


def test_the_tool_list_says_that_it_has_no_task_support(world: World) -> None:
    legacy = {tool["name"]: tool for tool in LegacyClient(world).ask("tools/list").result["tools"]}
    modern = {tool["name"]: tool for tool in ModernClient(world).ask("tools/list").result["tools"]}

    assert legacy["express"]["execution"] == {"taskSupport": "forbidden"}
    # Its output schema has no form for an unfinished result.
    assert legacy["promising"]["outputSchema"] == modern["promising"]["outputSchema"] == OUTPUT_SCHEMA


def test_a_legacy_call_as_a_task_is_refused(legacy: LegacyClient, world: World) -> None:
    refused = legacy.call("express", task={})

    assert refused.code == -32601
    assert "does not run as a task: call it without params.task" in refused.error["message"]
    assert world.sync_workflows.starts == []


ENDS: Final[dict[str, tuple[Any, str, list[type[Exception]]]]] = {
    "failed": (ExecutionFailed("Some.Error", "it broke"), "The workflow failed with Some.Error: it broke", []),
    "timed out": (TimedOut(), "did not finish within its time limit", []),
    "output too large": (
        ExecutionFailed("States.DataLimitExceeded", "The state returned a result larger than the maximum"),
        "States.DataLimitExceeded",
        [],
    ),
    "output left out": (Succeeded(None), "did not return its output", []),
    "no end in time": (NoEndInTime(), "gave no answer within 15 seconds", []),
    "no answer": (
        StartUnclear(),
        "gave no answer within 15 seconds. It may still run and take effect",
        [StartUnclear],
    ),
}


@pytest.mark.parametrize("how", ENDS)
def test_an_end_without_a_result_is_a_tool_error_with_a_message(how: str, client: Client, world: World) -> None:
    world.sync_workflows.answer, words, troubles = ENDS[how]

    result = client.call("express").result

    assert result["isError"] is True
    assert words in result["content"][0]["text"]
    assert len(world.sync_workflows.starts) == 1, "the execution must not be repeated"
    assert [type(one) for one in world.troubles] == troubles


def test_a_protocol_error_of_the_workflow_is_a_protocol_error(client: Client, world: World) -> None:
    world.sync_workflows.answer = ExecutionFailed("Stepwire.ProtocolError", '{"code": 1001, "message": "No."}')

    assert client.call("express").code == 1001


def test_an_output_that_violates_its_schema_is_an_error(client: Client, world: World) -> None:
    world.sync_workflows.answer = Succeeded('{"answer": "many"}')

    assert client.call("promising").result["isError"] is True


def test_links_to_results_are_signed_below_the_name_of_the_execution(client: Client, world: World) -> None:
    link = {"type": "resource_link", "name": "r", "uri": "s3://reports/NAME/report.csv"}

    ended = world.sync_workflows.run

    def run(execution: Execution, input_text: str, trace_header: str | None = None) -> ExecutionEnd:
        ended(execution, input_text, trace_header)
        return Succeeded(write({"content": [{**link, "uri": link["uri"].replace("NAME", execution.name)}]}))

    world.sync_workflows.run = run

    assert client.call("linking").result["content"][0]["uri"].startswith("https://reports.example/")


REFUSALS: Final = {
    "for good": (StartRefused("its state machine no longer exists"), False),
    "for now": (StartRefusedForNow("too many workflows are being started"), True),
}


@pytest.mark.parametrize("how", REFUSALS)
def test_a_refused_start_says_why_and_only_a_quota_is_counted(how: str, client: Client, world: World) -> None:
    refusal, is_counted = REFUSALS[how]
    world.sync_workflows.answer = refusal

    error = client.call("express").error

    assert error["message"] == f"The workflow of express could not be started: {refusal.reason}"
    assert world.troubles == ([refusal] if is_counted else [])
    assert world.wait_slots.pools == {EXPRESS_POOL + ALICE: set(), EXPRESS_POOL + ALL_CALLERS: set()}


def test_an_idempotency_key_is_refused(client: Client, world: World) -> None:
    refused = client.ask("tools/call", {"name": "express", "arguments": ARGUMENTS}, headers={"idempotency-key": "k"})

    assert refused.code == -32602
    assert "keeps no idempotency key" in refused.error["message"]
    assert refused.error["data"] == {"unsupported": "idempotencyKey"}
    assert nothing_happened(world)


def test_wrong_arguments_start_nothing(client: Client, world: World) -> None:
    assert client.call("express", arguments=BAD_ARGUMENTS).result["isError"] is True
    assert world.sync_workflows.starts == []


def test_too_little_time_starts_nothing(world: World) -> None:
    """The remaining time of the request must exceed the longest wait."""
    call = world.express.run

    def late(tool_call: Any, _: Any) -> Any:
        return call(tool_call, world.clock.now() + timedelta(seconds=16))

    force_setattr(world.services, "express", late)

    assert ModernClient(world).call("express").error["message"] == (
        "Too little time was left for the workflow, and nothing was started: call again."
    )
    assert nothing_happened(world)


def test_without_wait_slots_the_error_names_the_parameter(world: World) -> None:
    world = World(catalog=world.catalog, patience=Patience(unresumable_request=timedelta()))

    assert "its operator sets WaitSeconds to 1 or more" in ModernClient(world).call("express").error["message"]
    assert nothing_happened(world)


def test_a_cancelled_request_is_acknowledged_and_changes_nothing(legacy: LegacyClient, world: World) -> None:
    """It has ended before the client can cancel it: one request is one execution."""
    legacy.call("express", message_id=7)

    answer = legacy.notify("notifications/cancelled", {"requestId": 7})

    assert answer.status == 202
    assert world.workflows.stops == []


def test_a_call_is_audited_as_others_are(world: World) -> None:
    world.sync_workflows.answer, world.sync_workflows.seconds = ExecutionFailed("E", "c"), 3

    ModernClient(world).call("express")

    created, ended = world.audit
    assert (created.action, ended.action) == (AuditAction.CREATED, AuditAction.ENDED)
    assert (ended.tool, ended.outcome, ended.duration) == ("express", "completed_with_error", timedelta(seconds=3))
    (start,) = world.sync_workflows.starts
    assert start.execution.name.endswith(f"-{ended.task_id}")


def test_its_execution_has_the_trace_of_the_call(world: World) -> None:
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    ModernClient(world).ask("tools/call", {"name": "express", "arguments": ARGUMENTS}, meta={"traceparent": parent})

    assert world.sync_workflows.starts[0].trace_header is not None


def test_its_input_is_added_to_and_its_output_is_shaped_as_those_of_any_tool() -> None:
    added = Additions({"region": "eu"}, context=Context("caller", ("email",)))
    tool = replace(EXPRESS, additions=added, output_shape='{"structured":"{it: answer}"}')
    world = World(catalog=catalog_of(tool))
    world.sync_workflows.answer = Succeeded(write(OUTPUT))

    result = ModernClient(world).call("express").result

    assert result["structuredContent"] == {"it": OUTPUT["answer"]}
    (start,) = world.sync_workflows.starts
    sent = load_json(start.input_text)
    assert sent["region"] == "eu"
    assert sent["caller"]["claims"] == {"email": None}
    assert start.execution.name.endswith(f"-{sent['caller']['task_id']}")
