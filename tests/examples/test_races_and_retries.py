"""The examples get_quote and reserve_stock on the local stack: state machines race, and a failure is retried."""

from collections.abc import Iterator
from typing import Any, cast

import anyio
import boto3
import pytest

from stepwire_client import Task, connect
from stepwire_local import LocalStack
from tests.examples.stacks import EXAMPLES, ROOT
from tests.waiting import HANG_GUARD


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(ROOT / "template.yaml", others=[EXAMPLES]) as stack:
        yield stack


@pytest.mark.parametrize(
    ("closed", "outcomes"),
    [
        ([], {"swift": "succeeded", "steady": "stopped", "broker": "not_started"}),
        (["swift", "steady"], {"swift": "failed", "steady": "failed", "broker": "succeeded"}),
        (["swift", "steady", "broker"], {"swift": "failed", "steady": "failed", "broker": "failed"}),
    ],
)
def test_the_first_carrier_that_answers_wins(stack: LocalStack, closed: list[str], outcomes: dict[str, str]) -> None:
    async def quote() -> Any:
        with anyio.fail_after(HANG_GUARD):
            async with connect(stack.url) as client:
                return await client.call_tool("get_quote", {"goods": "a piano", "closed": closed})

    result = anyio.run(quote)

    race = result.meta["stepwire/race"]
    assert {one["name"]: one["outcome"] for one in race["arms"]} == outcomes
    assert result.is_error is ("winner" not in race)
    if not result.is_error:
        assert result.structured_content["carrier"] == race["winner"]
    assert running() == []


def running() -> list[str]:
    """Return the executions of the carriers that run."""
    client: Any = cast(Any, boto3).client("stepfunctions", region_name="eu-central-1")
    machines = client.list_state_machines()["stateMachines"]
    return [
        one["name"]
        for machine in machines
        if "Carrier" in machine["name"]
        for one in client.list_executions(stateMachineArn=machine["stateMachineArn"], statusFilter="RUNNING")[
            "executions"
        ]
    ]


@pytest.mark.parametrize(
    ("in_stock_at", "messages", "is_error"),
    [
        (2, ["Attempt 2 of 3 after OutOfStock"], False),
        pytest.param(
            4, ["Attempt 2 of 3 after OutOfStock", "Attempt 3 of 3 after OutOfStock"], True, marks=pytest.mark.long
        ),
    ],
)
def test_an_item_that_is_out_of_stock_is_looked_for_again(
    stack: LocalStack, in_stock_at: int, messages: list[str], is_error: bool
) -> None:
    """The local engine does not redrive executions: this is `mode: restart`; the contract tests have `redrive`."""
    told: list[str] = []

    def note(task: Task) -> None:
        if task.status == "working" and task.status_message and ", next at " in task.status_message:
            told.append(task.status_message.partition(", next at ")[0])

    async def reserve() -> bool:
        with anyio.fail_after(HANG_GUARD):
            async with connect(stack.url) as client:
                wanted = {"item": "chair", "in_stock_at_attempt": in_stock_at}
                result = await client.call_tool("reserve_stock", wanted, watch=note)
                return bool(result.is_error)

    assert anyio.run(reserve) is is_error
    assert list(dict.fromkeys(told)) == messages
