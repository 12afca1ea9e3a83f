"""The act of the demo in which calls wait in line."""

import io
from collections.abc import Iterator
from typing import Final

import pytest
from rich.console import Console

from examples import demo
from examples.extras.lines.act import act
from examples.terminal_user import User
from examples.waiting import Waiting
from stepwire_client import Working, connect
from stepwire_local import LocalStack
from tests.examples.stacks import BRISK, stack_with_bucket

MOST: Final = 3
"""Of the tool, at once."""


@pytest.fixture
def stack() -> Iterator[LocalStack]:
    with stack_with_bucket() as stack:
        yield stack


async def shown(stack: LocalStack, calls: int) -> str:
    """Play the act with so many calls, and return what a person sees, in one line."""
    screen = io.StringIO()
    console = Console(file=screen)
    status = Waiting(console, "connecting")
    progress, user = demo.Progress(console, status), User(console, status, by_itself=True)
    async with connect(stack.url, pace=BRISK) as client:
        await act(demo.Demo(console, client, progress, user), calls=calls)
    return " ".join(screen.getvalue().split())


@pytest.mark.anyio
async def test_the_end_of_an_execution_gives_the_next_call_its_turn(stack: LocalStack) -> None:
    """In the function that records ends; a role that lacks a right for it fails the test (conftest.py)."""
    states, machine = stack.client("stepfunctions"), stack.physical_ids["ReserveStock"]
    async with connect(stack.url, pace=BRISK) as client:
        wanted = [{"item": f"chair {number}", "seconds": 60} for number in range(MOST + 1)]
        *_, last = [await client.create_task("reserve_stock", one) for one in wanted]
        assert isinstance(last, Working)
        assert last.status_message == "Next in line."

        first, *_ = states.list_executions(stateMachineArn=machine)["executions"]
        states.stop_execution(executionArn=first["executionArn"])
        stack.drain()

        started = states.list_executions(stateMachineArn=machine)["executions"]
        assert [one["status"] for one in started].count("RUNNING") == MOST
        assert len(started) == MOST + 1


@pytest.mark.long
@pytest.mark.anyio
async def test_the_demo_says_so_if_nobody_has_to_wait_in_line(stack: LocalStack) -> None:
    assert "All 1 are reserved; none had to wait, because the calls came slowly." in await shown(stack, calls=1)
