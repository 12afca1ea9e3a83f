"""fastmcp 4.1, the client of many agents, gets all that the endpoint has for it: in both eras, and with fastmcp-tasks.

The endpoint's own bounds are short, so that a call of seconds outlasts them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from stepwire_local import LocalStack
from tests.clients.programs import FASTMCP_PYTHON, in_python, needs_fastmcp
from tests.integration.stacks import as_deployed

PROGRAM: Final = Path(__file__).parent / "fastmcp_4.py"
SHORT: Final = {"CALL_SECONDS": "4", "PROGRESS_CALL_SECONDS": "4"}
ECHO: Final = {"message": "patience", "waited_seconds": 8}
SELECTIONS: Final = ["", "/tools/wait_and_echo,approve_refund/discover/1"]
"""What follows the endpoint's path: nothing, or two tools that are to be searched for and called by `call_tool`."""

pytestmark = [pytest.mark.long, needs_fastmcp]


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    """The root template, with two instances of each function."""
    with as_deployed(WaitSeconds="1", **SHORT) as stack:
        yield stack


def seen_by_fastmcp(stack: LocalStack, mode: str, selection: str = "") -> dict[str, Any]:
    """Run the program, and return what its client has seen."""
    return in_python(FASTMCP_PYTHON, PROGRAM, stack.url + selection, {"mode": mode})


def check_results(seen: dict[str, Any]) -> None:
    """Hold what each case ended with against what it was to end with."""
    assert [seen[case][-1]["is_error"] for case in ("first", "long", "question")] == [False] * 3
    assert seen["first"][-1]["structured"] == {"message": "hello", "waited_seconds": 0}
    assert seen["long"][-1]["structured"] == ECHO
    assert len(seen["asked"]) == 1
    refund = seen["question"][-1]["structured"]
    assert (refund["status"], refund["refunded"]) == ("refunded", "60.00")


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_a_client_without_tasks_fetches_its_result_and_answers_and_cancels(
    stack: LocalStack, mode: str, version: str, selection: str
) -> None:
    seen = seen_by_fastmcp(stack, mode, selection)

    assert seen["version"] == version
    assert seen["listed"][-2:] == ["task_cancel", "task_result"]
    assert ("find_tools" in seen["listed"]) == bool(selection)
    check_results(seen)
    assert all(one["structured"]["stepwire/task"]["status"] == "working" for one in seen["long"][:-1])
    assert seen["cancelled"]["structured"]["stepwire/task"]["status"] == "cancelled"


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_client_with_tasks_polls_answers_and_cancels(stack: LocalStack, selection: str) -> None:
    seen = seen_by_fastmcp(stack, "tasks", selection)

    assert seen["version"] == "2026-07-28"
    assert "task_list" not in seen["listed"], "without sign-in all callers are one"
    assert "task_result" not in seen["listed"]
    check_results(seen)
    assert len(seen["long"]) == 1, "the task's own result, and no unfinished one"
    assert seen["cancelled"] == {"status": "cancelled"}
