"""The example reserve_stock on the local stack: it fails, is retried by its manifest, and ends once."""

from collections.abc import Iterator

import anyio
import pytest

from local import LocalStack
from stepwire_client import Task, connect
from tests.examples.stacks import EXAMPLES, ROOT
from tests.waiting import HANG_GUARD


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(ROOT / "template.yaml", others=[EXAMPLES]) as stack:
        yield stack


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
