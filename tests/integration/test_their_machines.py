"""State machines of another stack as they are: versions, aliases and all kinds, called in both eras."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.cost import calls
from stepwire.aws.storage.compiled_catalog import DynamoDbPublisher
from stepwire.aws.storage.table import Table
from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from stepwire_local import LocalStack, at_once
from tests.clients.endpoint import serving
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.waiting import until

OWNER: Final = Path(__file__).parent / "owner" / "template.yaml"
TOOLS: Final = ["mapped", "parent", "quick", "released", "secret"]


@pytest.fixture(scope="module")
def stack(clock: Clock) -> Iterator[Deployed]:
    with deployed(ROOT / "stack.yaml", at_once, 1, clock, WaitSeconds="1") as stack:
        yield stack


@pytest.fixture(scope="module")
def owner(stack: Deployed, clock: Clock) -> Iterator[LocalStack]:
    """The stack of the team that owns the state machines; the endpoint's stack does not change."""
    endpoint = stack.stack.physical_ids["McpFunction"].removesuffix("-McpFunction")
    asks = f"arn:aws:lambda:us-east-1:123456789012:function:{stack.stack.physical_ids['InputRequestsFunction']}"
    given = {"Endpoint": endpoint, "InputRequestsFunctionArn": asks}
    with LocalStack(OWNER, events=at_once, parameters=given) as owner:
        table = stack.stack.physical_ids["TasksTable"]
        catalog = DynamoDbPublisher(Table(table, lambda: stack.stack.client("dynamodb")))
        until(lambda: set(TOOLS) <= set(catalog.load()[1]))
        clock.move(seconds=30)
        yield owner


def ended(client: ModernClient, task_id: str) -> Any:
    until(lambda: client.task("get", task_id).result["status"] == "completed")
    return client.task("get", task_id).result["result"]["structuredContent"]


# ------------------------------------------------------------------------------------------------------------- aliases


def test_an_alias_is_called_and_its_end_is_heard_of_in_both_eras(stack: Deployed, owner: LocalStack) -> None:
    modern, legacy = ModernClient(stack), LegacyClient.opened(stack)
    by_legacy = legacy.call("released", {}, task={}).id_in("task")

    assert ended(modern, modern.call("released", {}).id_in()) == {"released": 1}
    assert ended(modern, by_legacy) == {"released": 1}
    (described,) = {
        execution["stateMachineAliasArn"]
        for execution in executions(owner, "Released")
        if execution["name"].endswith(by_legacy)
    }
    assert described == f"{owner.physical_ids['Released']}:live"


def test_the_task_of_an_alias_is_cancelled(stack: Deployed, owner: LocalStack) -> None:
    client = ModernClient(stack)
    task_id = client.call("released", {"seconds": 600}).id_in()

    client.task("cancel", task_id)

    (status,) = {one["status"] for one in executions(owner, "Released") if one["name"].endswith(task_id)}
    assert status == "ABORTED"


# ------------------------------------------------------------------------------------------------------------- EXPRESS


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, stack: Deployed, owner: LocalStack) -> LegacyClient | ModernClient:
    return LegacyClient.opened(stack) if request.param == "legacy" else ModernClient(stack)


def test_an_express_tool_answers_in_its_own_response(client: LegacyClient | ModernClient) -> None:
    result = client.call("quick", {}).result

    assert result["structuredContent"]["quick"].startswith("sw")
    assert "taskId" not in result


def test_an_express_tool_that_fails_or_takes_too_long_says_so(
    client: LegacyClient | ModernClient, clock: Clock
) -> None:
    failed = client.call("quick", {"fails": True}).result
    with clock.passing(seconds=2):
        late = client.call("quick", {"waits": True}).result

    assert failed["content"][0]["text"] == "The workflow failed with Quick.Failed: as it was told to"
    assert "gave no answer within 1 seconds" in late["content"][0]["text"]
    assert (failed["isError"], late["isError"]) == (True, True)


def test_an_express_call_is_one_start_and_the_writes_of_its_limits(stack: Deployed, owner: LocalStack) -> None:
    client = ModernClient(stack)
    client.call("quick", {})
    stack.calls.forget()

    client.call("quick", {})

    assert stack.calls.made in ([*calls.EXPRESS], ["UpdateItem", *calls.EXPRESS])


@pytest.mark.long
@pytest.mark.usefixtures("owner")
def test_the_command_calls_an_express_tool(stack: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(stack.server.handle) as url:
        called = run(["--url", url, "--auth", "none", "call", "quick"])
        out = capsys.readouterr().out
        keyed = run(["--url", url, "--auth", "none", "call", "quick", "--key", "k"])

    assert (called, keyed) == (Exit.DONE, Exit.UNREACHABLE)
    assert '"quick": "sw' in out
    assert "keeps no idempotency key" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------- Distributed Maps


def test_a_distributed_map_says_how_many_items_are_done(stack: Deployed, owner: LocalStack, clock: Clock) -> None:
    client = ModernClient(stack)
    task_id = client.call("mapped", {"seconds": [0, 0, 0, 600]}).id_in()
    wanted = "75%: The workflow is in its state Convert: 3 of 4 items are done."

    def says_so() -> bool:
        clock.move(seconds=60)
        return client.task("get", task_id).result.get("statusMessage") == wanted

    until(says_so)
    stack.calls.forget()
    clock.move(seconds=60)
    client.task("get", task_id)
    assert stack.calls.made[:4] == ["GetItem", "GetExecutionHistory", "DescribeMapRun", "PutItem"]
    client.task("cancel", task_id)


# ---------------------------------------------------------------------------------------------------------------- keys


@pytest.mark.long
def test_what_the_events_of_an_encrypted_state_machine_leave_out_is_fetched(stack: Deployed, owner: LocalStack) -> None:
    client = ModernClient(stack)
    failing = client.call("secret", {"fails": True}).id_in()

    assert ended(client, client.call("secret", {}).id_in()) == {"secret": 1}
    until(lambda: client.task("get", failing).result["status"] == "completed")
    failed = client.task("get", failing).result["result"]
    assert failed["content"][0]["text"] == "The workflow failed with Secret.Failed: as it was told to"


# --------------------------------------------------------------------------------------------------- nested executions

ASKING: Final = {**TASKS_CAPABILITY, **ASKING_CAPABILITY}


@pytest.mark.long
def test_the_question_of_a_nested_execution_reaches_the_caller_and_the_answer_the_execution(
    stack: Deployed, owner: LocalStack
) -> None:
    client = ModernClient(stack, capabilities=ASKING)
    task_id = client.call("parent", {}).id_in()

    until(lambda: client.task("get", task_id).result["status"] == "input_required")
    client.update(task_id, {"approval": {"action": "accept", "content": {}}})

    assert ended(client, task_id) == {"answer": "accept"}


@pytest.mark.long
def test_whoever_starts_an_execution_by_hand_cannot_ask_in_the_task_of_another(
    stack: Deployed, owner: LocalStack
) -> None:
    client, states = ModernClient(stack, capabilities=ASKING), owner.client("stepfunctions")
    task_id = client.call("released", {"seconds": 600}).id_in()
    (victim,) = [one["executionArn"] for one in executions(owner, "Released") if one["name"].endswith(task_id)]

    forged = states.start_execution(
        stateMachineArn=owner.physical_ids["Child"],
        input=json.dumps({"AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": victim}),
    )["executionArn"]

    until(lambda: states.describe_execution(executionArn=forged)["status"] == "FAILED")
    assert states.describe_execution(executionArn=forged)["error"] == "Stepwire.InputNotSupported"
    assert client.task("get", task_id).result["status"] == "working"
    client.task("cancel", task_id)


def executions(owner: LocalStack, machine: str) -> list[dict[str, Any]]:
    states: Any = owner.client("stepfunctions")
    listed = states.list_executions(stateMachineArn=owner.physical_ids[machine])["executions"]
    return [states.describe_execution(executionArn=one["executionArn"]) for one in listed]
