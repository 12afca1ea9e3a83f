"""What an operator does to one caller, on the local stack with the roles of the template."""

from collections.abc import Iterator
from typing import Any

import pytest

from packages.command.tests.wrap.account import Time
from stepwire.aws.s3 import LargeResults
from stepwire.extras.callers.commands import BLOCKS
from stepwire.principal import PRINCIPAL_PATTERN, Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.commanding import OPERATOR, Door
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.extras.callers.erasing import Erasure
from stepwire_cli.extras.callers.holding import Held, view_of
from stepwire_cli.extras.callers.tasks import CallersTasks
from stepwire_local import never
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, deployed
from tests.server.clients import LegacyClient, ModernClient

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def stack(clock: Clock) -> Iterator[Deployed]:
    with deployed(ROOT / "stack.yaml", never, 1, clock, WaitSeconds="0", Events="on", **SIGN_IN) as stack:
        yield stack


def calls_of(stack: Deployed) -> Calls:
    time = Time()
    return Calls(stack.stack.client, Pacer(lambda: time.now, time.sleep))


def door_of(stack: Deployed) -> Door:
    return Door(calls_of(stack), stack.stack.physical_ids[OPERATOR])


def command(stack: Deployed, command: str, owner: Principal) -> dict[str, Any]:
    return door_of(stack).do(BLOCKS, command, hashes=[owner])


def owner_of(stack: Deployed, task_id: str) -> Principal:
    """Return whose task it is."""
    (item,) = stack.stack.client("dynamodb").scan(
        TableName=stack.stack.physical_ids["TasksTable"],
        FilterExpression="sk = :sk",
        ExpressionAttributeValues={":sk": {"S": f"task#{task_id}"}},
    )["Items"]
    return Principal(item["pk"]["S"])


def test_a_blocked_caller_is_refused_within_half_a_minute_and_served_again_afterwards(
    stack: Deployed, clock: Clock
) -> None:
    modern, legacy = ModernClient(stack), LegacyClient(stack)
    task_id = modern.call("wait_and_echo", {"message": "hello", "seconds": 600}).id_in()
    owner = owner_of(stack, task_id)
    assert PRINCIPAL_PATTERN.fullmatch(owner)

    held = command(stack, "block", owner)["holds_within_seconds"]
    clock.move(seconds=held)
    refused = [modern.task("get", task_id), modern.ask("tools/list"), legacy.task("get", task_id)]
    command(stack, "unblock", owner)
    clock.move(seconds=held)

    assert [one.status for one in refused] == [403] * 3
    assert modern.task("get", task_id).result["status"] == "working"


@pytest.fixture
def quiet_stack(clock: Clock) -> Iterator[Deployed]:
    """A stack without events, for which function status_changes would read at a time of its own."""
    with deployed(ROOT / "stack.yaml", never, 1, clock, WaitSeconds="0", **SIGN_IN) as stack:
        yield stack


def test_a_warm_instance_reads_the_list_once_for_many_polls(quiet_stack: Deployed, clock: Clock) -> None:
    stack, modern = quiet_stack, ModernClient(quiet_stack)
    task_id = modern.call("wait_and_echo", {"message": "hello", "seconds": 600}).id_in()
    clock.move(seconds=10)
    modern.task("get", task_id)  # the first poll that reads the name of the state
    stack.calls.forget()

    for _ in range(20):
        modern.task("get", task_id)
    polls = list(stack.calls.all)
    stack.calls.forget()
    clock.move(seconds=30)
    modern.task("get", task_id)

    assert polls == ["GetItem"] * 20
    assert stack.calls.all == ["GetItem", "GetItem"]
    assert len(stack.calls.block_reads) == 1


def test_all_of_a_caller_is_cancelled_exported_and_erased(stack: Deployed, clock: Clock) -> None:
    modern, calls, ids = ModernClient(stack), calls_of(stack), stack.stack.physical_ids
    tasks = [modern.call("wait_and_echo", {"message": "hello", "seconds": 600}).id_in() for _ in range(3)]
    owner = owner_of(stack, tasks[0])
    delivery = {"mode": "poll"}
    modern.ask("events/poll", {"name": "task.finished", "arguments": {}, "delivery": delivery})
    key = TaskKey(owner, TaskId(tasks[0]))
    LargeResults(ids["LargeResults"], stack.stack.client("s3")).write(key, "digest", '{"content": []}')
    held = Held(calls, ids["TasksTable"], owner)

    done = CallersTasks(door_of(stack), owner, clock.sleep).cancel(lambda _done: None)
    shown = view_of(held, clock.now())
    exported = list(held.lines(ids["LargeResults"], clock.now()))
    erasure = Erasure(held, ids["LargeResults"], door_of(stack))
    remains = {arn for left in erasure.left() for arn in left.executions}
    *_, erased = erasure.erased()

    assert (done.failed, modern.task("get", tasks[0]).status) == ([], 400)
    assert done.cancelled >= 3
    assert (shown.open, shown.counts["cancelled"]) == ([], done.cancelled)
    assert {"task", "usage", "record of events", "result"} <= {one["kind"] for one in exported}
    assert {arn.rpartition("-")[2] for arn in remains} >= set(tasks)
    assert erased.objects == 1
    assert list(held.lines(ids["LargeResults"], clock.now())) == []
