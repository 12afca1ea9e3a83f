"""State machines of another stack as they are: versions, aliases and all kinds, called in both eras."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.cost import calls
from local import LocalStack, at_once
from stepwire.aws.storage.published_catalog import DynamoDbCatalog
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import LegacyClient, ModernClient
from tests.waiting import until

OWNER: Final = Path(__file__).parent / "owner" / "template.yaml"
TOOLS: Final = ["quick", "released"]


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def stack(clock: Clock) -> Iterator[Deployed]:
    with deployed(ROOT / "template.yaml", at_once, 1, clock, WaitSeconds="1") as stack:
        yield stack


@pytest.fixture(scope="module")
def owner(stack: Deployed, clock: Clock) -> Iterator[LocalStack]:
    """The stack of the team that owns the state machines; the endpoint's stack does not change."""
    endpoint = stack.stack.physical_ids["McpFunction"].removesuffix("-McpFunction")
    with LocalStack(OWNER, events=at_once, parameters={"Endpoint": endpoint}) as owner:
        table = stack.stack.physical_ids["TasksTable"]
        catalog = DynamoDbCatalog(table, lambda: stack.stack.client("dynamodb"))
        until(lambda: sorted(catalog.load()[1]) == TOOLS)
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


def test_an_express_tool_that_fails_or_takes_too_long_says_so(client: LegacyClient | ModernClient) -> None:
    failed, late = (client.call("quick", arguments).result for arguments in ({"fails": True}, {"waits": True}))

    assert failed["content"][0]["text"] == "The workflow failed with Quick.Failed: as it was told to"
    assert "gave no answer within 1 seconds" in late["content"][0]["text"]
    assert (failed["isError"], late["isError"]) == (True, True)


def test_an_express_call_is_one_start_and_the_writes_of_its_limits(stack: Deployed, owner: LocalStack) -> None:
    client = ModernClient(stack)
    client.call("quick", {})
    stack.calls.forget()

    client.call("quick", {})

    assert stack.calls.made in ([*calls.EXPRESS], ["UpdateItem", *calls.EXPRESS])


def executions(owner: LocalStack, machine: str) -> list[dict[str, Any]]:
    states: Any = owner.client("stepfunctions")
    listed = states.list_executions(stateMachineArn=owner.physical_ids[machine])["executions"]
    return [states.describe_execution(executionArn=one["executionArn"]) for one in listed]
