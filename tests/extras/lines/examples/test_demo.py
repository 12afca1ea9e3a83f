"""The act of the demo in which calls wait in line."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from examples import demo
from examples.extras.lines.act import act
from examples.terminal_user import User
from examples.waiting import Waiting
from stepwire_client import connect
from stepwire_local import LocalStack
from tests.examples.stacks import BRISK, stack_with_bucket


@pytest.fixture
def stack() -> Iterator[LocalStack]:
    with stack_with_bucket() as stack:
        yield stack


@pytest.mark.long
@pytest.mark.anyio
async def test_the_demo_says_so_if_nobody_has_to_wait_in_line(stack: LocalStack) -> None:
    screen = io.StringIO()
    console = Console(file=screen)
    status = Waiting(console, "connecting")
    progress, user = demo.Progress(console, status), User(console, status, by_itself=True)

    async with connect(stack.url, pace=BRISK) as client:
        await act(demo.Demo(console, client, progress, user), calls=1)

    assert "All 1 are reserved; none had to wait, because the calls came slowly." in " ".join(screen.getvalue().split())
