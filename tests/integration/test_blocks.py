"""A caller is blocked by the command's function, on the local stack with the roles of the template."""

from collections.abc import Iterator
from typing import Any

import pytest

from packages.command.tests.wrap.account import Time
from stepwire.principal import PRINCIPAL_PATTERN
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.commanding import BLOCKS, obeyed
from stepwire_cli.account.pacing import Pacer
from stepwire_local import never
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, deployed
from tests.server.clients import LegacyClient, ModernClient


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def stack(clock: Clock) -> Iterator[Deployed]:
    with deployed(ROOT / "template.yaml", never, 1, clock, WaitSeconds="0", Events="on", **SIGN_IN) as stack:
        yield stack


def command(stack: Deployed, **given: Any) -> dict[str, Any]:
    time = Time()
    calls = Calls(stack.stack.client, Pacer(lambda: time.now, time.sleep))
    return obeyed(calls, stack.stack.physical_ids[BLOCKS], given)


def owner_of(stack: Deployed, task_id: str) -> str:
    """Return whose task it is."""
    (item,) = stack.stack.client("dynamodb").scan(
        TableName=stack.stack.physical_ids["TasksTable"],
        FilterExpression="sk = :sk",
        ExpressionAttributeValues={":sk": {"S": f"task#{task_id}"}},
    )["Items"]
    return item["pk"]["S"]


def test_a_blocked_caller_is_refused_within_half_a_minute_and_served_again_afterwards(
    stack: Deployed, clock: Clock
) -> None:
    modern, legacy = ModernClient(stack), LegacyClient(stack)
    task_id = modern.call("wait_and_echo", {"message": "hello", "seconds": 600}).id_in()
    owner = owner_of(stack, task_id)
    assert PRINCIPAL_PATTERN.fullmatch(owner)

    held = command(stack, block=[owner])["holds_within_seconds"]
    clock.move(seconds=held)
    refused = [modern.task("get", task_id), modern.ask("tools/list"), legacy.task("get", task_id)]
    command(stack, unblock=[owner])
    clock.move(seconds=held)

    assert [one.status for one in refused] == [403] * 3
    assert modern.task("get", task_id).result["status"] == "working"


def test_a_warm_instance_reads_the_list_once_for_many_polls(stack: Deployed, clock: Clock) -> None:
    modern = ModernClient(stack)
    task_id = modern.call("wait_and_echo", {"message": "hello", "seconds": 600}).id_in()
    stack.calls.forget()

    for _ in range(20):
        modern.task("get", task_id)
    clock.move(seconds=30)
    modern.task("get", task_id)

    assert stack.calls.made == ["GetItem"] * 21
    assert len(stack.calls.block_reads) <= 2
