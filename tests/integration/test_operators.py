"""`stepwire task` on the local stack, and docs/operations.md: where a task is, what it waits for, and what to do."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import botocore.session
import pytest
from botocore import xform_name

from packages.command.tests.wrap.account import Time
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.lives import Lives
from stepwire_cli.account.operating import Where
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.account.showing import Shown, as_json, text_rows, timeline_rows
from stepwire_cli.account.tasks import Fate, Tasks
from stepwire_local import at_once
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient
from tests.waiting import until

SECRET = "The chair wobbles."
REFUND = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": SECRET}
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A task hangs")[2].partition("\n## ")[0]
WHERE = Where("live", sweep="local-1-SweepFunction")


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    with deployed(ROOT / "stack.yaml", at_once, WaitSeconds="0") as stack:
        yield stack


@pytest.fixture
def client(stack: Deployed) -> ModernClient:
    return ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


@pytest.fixture
def task_id(client: ModernClient) -> str:
    """A task that asks its caller."""
    task_id = client.call("approve_refund", REFUND).id_in()
    until(lambda: client.task("get", task_id).result["status"] == "input_required")
    return task_id


def looked_at(stack: Deployed, task_id: str, **more: Any) -> Shown:
    """Look at a task as the command does."""
    time = Time()
    calls = Calls(stack.stack.client, Pacer(lambda: time.now, time.sleep))
    table, at = stack.stack.physical_ids["TasksTable"], datetime.now(UTC)
    task = Tasks(calls, table).find(task_id)
    lives = Lives(calls, Endpoint(calls, WHERE.stack), table, lines=50, with_output=bool(more.get("with_data")))
    where = replace(WHERE, sweep=stack.stack.physical_ids["SweepFunction"])
    return Shown(task, lives.read(task, at), where, at, **more)


def command_of(shown: Shown, words: str) -> list[str]:
    """Return the command of the next step that has these words."""
    return shlex.split(next(step.command for step in shown.steps if words in step.words))


def run_by_aws(stack: Deployed, command: list[str]) -> Any:
    """Run a command of the AWS CLI on the stack."""
    program, service, operation, *options = command
    assert program == "aws"
    model = botocore.session.Session().get_service_model(service)
    name = next(one for one in model.operation_names if xform_name(one, "-") == operation)
    shape = model.operation_model(name).input_shape
    assert shape is not None
    members = {xform_name(one, "-"): one for one in shape.members}
    given: dict[str, Any] = {}
    while options:
        option = options.pop(0).removeprefix("--")
        if option in ("region", "output", "profile"):
            options.pop(0)
        elif option.startswith("no-"):
            given[members[option.removeprefix("no-")]] = False
        elif option in members:
            given[members[option]] = options.pop(0)
        else:
            assert option == "/dev/null"
    return getattr(stack.stack.client(service), xform_name(name))(**given)


def test_a_task_that_asks_shows_where_it_is_and_what_it_waits_for(stack: Deployed, task_id: str) -> None:
    shown = looked_at(stack, task_id)

    rows = dict(line.split(maxsplit=1) for line in text_rows(shown) if not line.startswith(" "))
    assert (rows["tool"], rows["status"]) == ("approve_refund", "input_required")
    assert rows["execution"].startswith("RUNNING since ")
    assert shown.run is not None
    assert shown.run.arn in "".join(text_rows(shown))
    assert f"#/v2/executions/details/{shown.run.arn}" in text_rows(shown)[-1]
    assert shown.waits[0].startswith("its caller's answer to question 1: a form, key approval, until ")
    assert shown.waits[1].startswith("state AskForApproval, since ")
    timeline = "\n".join(timeline_rows(shown))
    for words in ("stored: a task of approve_refund", "the execution began",
                  "state IsApprovalNeeded began (Choice)", "state AskForApproval began (Task)",
                  "it called lambda:invoke.waitForTaskToken"):  # fmt: skip
        assert words in timeline


def test_nothing_of_the_caller_is_shown_unless_it_is_asked_for(stack: Deployed, task_id: str) -> None:
    (item,) = stack.stack.client("dynamodb").scan(
        TableName=stack.stack.physical_ids["TasksTable"],
        FilterExpression="sk = :sk",
        ExpressionAttributeValues={":sk": {"S": f"task#{task_id}"}},
    )["Items"]
    token = json.loads(item["task"]["S"])["status"]["requests"][0]["destination"]["token"]

    plain, whole = (json.dumps(as_json(looked_at(stack, task_id, with_data=with_data))) for with_data in (False, True))

    assert SECRET not in plain
    assert "249.00" not in plain  # not "249": digests and times may contain it
    assert SECRET in whole
    assert token not in whole


def test_the_command_that_stops_the_execution_cancels_the_task(
    stack: Deployed, client: ModernClient, task_id: str
) -> None:
    run_by_aws(stack, command_of(looked_at(stack, task_id), "Stop its execution"))

    until(lambda: client.task("get", task_id).result["status"] == "cancelled")
    after = looked_at(stack, task_id)
    assert (after.status, after.waits) == ("cancelled", [])
    assert any("the execution was stopped" in row for row in timeline_rows(after))
    assert "Stop its execution" not in "".join(step.words for step in after.steps)


def test_the_command_that_lists_all_events_is_one(stack: Deployed, task_id: str) -> None:
    listed = run_by_aws(stack, command_of(looked_at(stack, task_id), "List all events"))

    assert "TaskSubmitted" in {one["type"] for one in listed["events"]}
    assert SECRET not in str([one for one in listed["events"] if "stateEnteredEventDetails" in one])


@pytest.mark.parametrize("is_whole", [True, False], ids=["the ARN", "the name"])
def test_a_task_is_found_by_its_execution_without_a_search(stack: Deployed, task_id: str, is_whole: bool) -> None:
    searched: list[int] = []
    run = looked_at(stack, task_id).run
    assert run is not None
    named = run.arn if is_whole else run.arn.rpartition(":")[2]
    time = Time()
    calls = Calls(stack.stack.client, Pacer(lambda: time.now, time.sleep))

    task = Tasks(calls, stack.stack.physical_ids["TasksTable"], searched.append).find(named)

    assert (task.task_id, searched) == (task_id, [])


def test_an_end_that_was_not_heard_is_found_by_the_sweep_that_a_command_runs(
    stack: Deployed, client: ModernClient
) -> None:
    task_id = client.call("approve_refund", REFUND).id_in()
    shown = looked_at(stack, task_id)
    assert shown.run is not None

    late = replace(shown, life=replace(shown.life, run=replace(shown.run, fate=Fate.ABORTED, ended=datetime.now(UTC))))
    answer = run_by_aws(stack, command_of(late, "Run the sweep now"))

    assert answer["StatusCode"] == 200
    assert "FunctionError" not in answer
    assert late.waits[-1].startswith("the news of its end: the execution ended at ")
    assert command_of(late, "dead-letter queue") == ["stepwire", "replay", "live", "--dry-run"]


def test_an_operator_finds_the_question_and_the_execution_of_a_task_and_cancels_it(
    stack: Deployed, client: ModernClient, task_id: str
) -> None:
    (item,) = stack.stack.client("dynamodb").scan(
        TableName=stack.stack.physical_ids["TasksTable"],
        ConsistentRead=True,
        FilterExpression="sk = :sk",
        ExpressionAttributeValues={":sk": {"S": f"task#{task_id}"}},
    )["Items"]
    read = {name: item[name]["S"] for name in re.findall(r"(?:^    |\()task (\w+)", SECTION, flags=re.MULTILINE)}
    known, states = json.loads(read["task"]), stack.stack.client("stepfunctions")
    listed = states.list_executions(stateMachineArn=known["runs"][0]["state_machine_arn"])["executions"]
    (run,) = [one["executionArn"] for one in listed if task_id in one["name"]]
    states.stop_execution(executionArn=run, error="Operator", cause="Stopped.")

    assert read.keys() == {"status", "task"}
    assert (read["status"], known["work"]["tool"]) == ("input_required", "approve_refund")
    assert "Refund 249.00 EUR" in json.dumps(known["status"]["requests"])
    until(lambda: client.task("get", task_id).result["status"] == "cancelled")
