"""The sweep on a whole stack: function sweep repairs tasks that nobody reads."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.cost import calls
from stepwire.aws.storage.items import item_key, item_of, task_of
from stepwire.background.sweep import INTERVAL
from stepwire.tasks.ids import TaskId, created_at_of, task_key_from_execution
from stepwire_local import never
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.recorded import recorded
from tests.server.clients import ModernClient
from tests.waiting import until

pytestmark = pytest.mark.long

MINUTES = INTERVAL.total_seconds() / 60


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    """The root template, where no status event arrives and no reader checks the execution."""
    rare = {"REPAIR_AFTER_SECONDS": "3600", "STATE_AFTER_SECONDS": "0"}
    with deployed(ROOT / "stack.yaml", never, WaitSeconds="0", **rare) as stack:
        yield stack


def neglect(stack: Deployed, task_id: str) -> None:
    """Let time pass until the sweep checks a task."""
    then = created_at_of(TaskId(task_id)) - timedelta(minutes=MINUTES)
    key = task_key_from_execution(stack.execution_of(task_id).rpartition(":")[2])
    assert key is not None
    table: Any = {"TableName": stack.stack.physical_ids["TasksTable"]}
    item = stack.stack.client("dynamodb").get_item(**table, Key=item_key(key))["Item"]
    neglected = item_of(replace(task_of(item), checked_at=then))
    stack.stack.client("dynamodb").put_item(**table, Item=neglected)


def sweep(stack: Deployed) -> list[str]:
    """Run function sweep as its schedule does; return its AWS calls."""
    stack.calls.forget()
    stack.stack.invoke("SweepFunction", recorded("schedule"))
    return list(stack.calls.made)


def test_a_lost_end_is_found_and_the_next_poll_makes_no_further_check(stack: Deployed) -> None:
    modern = ModernClient(stack)
    task_id = modern.call("wait_and_echo", {"message": "hello"}).id_in()
    until(lambda: stack.status_of(task_id) == "SUCCEEDED")
    neglect(stack, task_id)

    made = sweep(stack)
    stack.calls.forget()
    found = modern.task("get", task_id).result

    assert made == [*calls.SWEEP, "BatchGetItem", *calls.REPAIR]
    assert (found["status"], found["result"]["structuredContent"]["message"]) == ("completed", "hello")
    assert stack.calls.made == ["GetItem"]


def test_without_neglected_tasks_the_sweep_makes_one_read_and_a_few_queries(stack: Deployed) -> None:
    ModernClient(stack).call("wait_and_echo", {"message": "hello", "seconds": 600})

    assert sweep(stack) == [*calls.SWEEP]


def test_running_executions_are_listed_and_their_tasks_are_read_together(stack: Deployed) -> None:
    modern = ModernClient(stack)
    for task_id in [modern.call("wait_and_echo", {"message": "hello", "seconds": 600}).id_in() for _ in range(5)]:
        neglect(stack, task_id)

    made = sweep(stack)

    looks = ["GetItem", "DescribeExecution", "PutItem"] * 2
    assert made == [*calls.SWEEP, "BatchGetItem", *looks, "ListExecutions"]
