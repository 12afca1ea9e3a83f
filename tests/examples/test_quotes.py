"""The example get_quote on the local stack: its state machines race, the first success wins, and no other runs on."""

from collections.abc import Iterator
from typing import Any, cast

import anyio
import boto3
import pytest

from local import LocalStack
from stepwire_client import connect
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
