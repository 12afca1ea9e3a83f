"""The instructions of docs/operations.md for a task that hangs lead to its execution, and end it."""

import re
from collections.abc import Iterator

import pytest

from local import at_once
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient
from tests.waiting import until

REFUND = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "The chair wobbles."}
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A task hangs")[2].partition("\n## ")[0]


@pytest.fixture
def stack() -> Iterator[Deployed]:
    with deployed(ROOT / "template.yaml", at_once, WaitSeconds="0") as stack:
        yield stack


def test_an_operator_finds_the_question_and_the_execution_of_a_task_and_cancels_it(stack: Deployed) -> None:
    client = ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    task_id = client.call("approve_refund", REFUND).id_in()
    until(lambda: client.task("get", task_id).result["status"] == "input_required")

    (item,) = stack.stack.client("dynamodb").scan(
        TableName=stack.stack.physical_ids["TasksTable"],
        ConsistentRead=True,
        FilterExpression="sk = :sk",
        ExpressionAttributeValues={":sk": {"S": f"task#{task_id}"}},
    )["Items"]
    read = {name: item[name]["S"] for name in re.findall(r"(?:^    |\()task (\w+)", SECTION, flags=re.MULTILINE)}
    machine = read["state_machine_arn"].replace(":stateMachine:", ":execution:")
    run = f"{machine}:{read['execution_name']}"
    stack.stack.client("stepfunctions").stop_execution(executionArn=run, error="Operator", cause="Stopped.")

    assert read.keys() == {"status", "tool", "state_machine_arn", "execution_name", "requests"}
    assert (read["status"], read["tool"]) == ("input_required", "approve_refund")
    assert "Refund 249.00 EUR" in read["requests"]
    until(lambda: client.task("get", task_id).result["status"] == "cancelled")
