"""The examples get_quote and reserve_stock on the local stack: state machines race, and a failure is retried."""

from collections.abc import Iterator
from threading import Condition
from typing import Any

import anyio
import pytest

from stepwire_client import Task, connect
from stepwire_local import LocalStack
from stepwire_local.iam.permissions import Call, watched
from tests.examples.stacks import BRISK, EXAMPLES, ROOT
from tests.waiting import HANG_GUARD, until


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(ROOT / "stack.yaml", others=[EXAMPLES], parameters={"PollsPerSecond": "0"}) as stack:
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
            async with connect(stack.url, pace=BRISK) as client:
                return await client.call_tool("get_quote", {"goods": "a piano", "closed": closed})

    result = anyio.run(quote)

    race = result.meta["stepwire/race"]
    assert {one["name"]: one["outcome"] for one in race["arms"]} == outcomes
    assert result.is_error is ("winner" not in race)
    if not result.is_error:
        assert result.structured_content["carrier"] == race["winner"]
    until(lambda: running(stack) == [])  # the losers are stopped after the winner is recorded


def running(stack: LocalStack) -> list[str]:
    """Return the executions of the carriers that run."""
    states = stack.client("stepfunctions")
    carriers = [arn for name, arn in stack.physical_ids.items() if name.endswith("Carrier")]
    assert carriers
    pages = [states.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"] for arn in carriers]
    return [one["name"] for page in pages for one in page]


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
    told, heard = list[str](), Condition()

    def note(task: Task) -> None:
        if task.status == "working" and task.status_message and ", next at " in task.status_message:
            with heard:
                told.append(task.status_message.partition(", next at ")[0])
                heard.notify_all()

    def hold(call: Call) -> None:
        """Let no further attempt begin before the client has seen that it is waited for."""
        if call.need.action == "states:StartExecution" and call.role.endswith("ExecutionEventsFunctionRole"):
            with heard:
                assert heard.wait_for(lambda: len(set(told)) > len(held), HANG_GUARD)
            held.append(call)

    held = list[Call]()

    async def reserve() -> bool:
        with anyio.fail_after(HANG_GUARD):
            async with connect(stack.url, pace=BRISK) as client:
                wanted = {"item": "chair", "in_stock_at_attempt": in_stock_at}
                result = await client.call_tool("reserve_stock", wanted, watch=note)
                return bool(result.is_error)

    with watched(hold):
        assert anyio.run(reserve) is is_error
    assert len(held) == len(messages)
    assert list(dict.fromkeys(told)) == messages
