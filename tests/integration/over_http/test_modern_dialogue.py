"""Questions to `mcp` 2.3 at 2026-07-28: answered with tasks/update, in rounds (MRTR), and before a tool starts."""

from typing import Any, Final

import pytest
from mcp.client import Client
from mcp_types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    TextContent,
)

from stepwire_client import Callbacks
from stepwire_client.extension import Tasks

pytestmark = pytest.mark.anyio
REFUND: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}
HALF: Final = ElicitResult(action="accept", content={"amount": 120.5})
DECLINE: Final = ElicitResult(action="decline")


class User:
    """A user with one fixed answer, who records the questions and how they came."""

    def __init__(self, answer: ElicitResult) -> None:
        self._answer = answer
        self.asked_by_calls: list[str] = []
        self.asked_by_tasks: list[str] = []

    async def elicit(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        """Answer the question of a call; with this callback the client declares elicitation."""
        assert isinstance(params, ElicitRequestFormParams)
        self.asked_by_calls.append(params.message)
        return self._answer

    async def answer(self, params: ElicitRequestParams) -> ElicitResult:
        """Answer the question of a task."""
        self.asked_by_tasks.append(params.message)
        return self._answer


async def call(url: str, user: User, tool: str, arguments: dict[str, Any], *, as_task: bool) -> CallToolResult:
    """Call a tool, with or without a task."""
    extensions = [Tasks(Callbacks(elicit=user.answer))] if as_task else None
    async with Client(url, extensions=extensions, elicitation_callback=user.elicit) as client:
        return await client.call_tool(tool, arguments)


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "status", "refunded"), [(HALF, "refunded", "120.50"), (DECLINE, "declined", "0.00")]
)
@pytest.mark.parametrize("as_task", [True, False], ids=["tasks/update", "MRTR"])
async def test_a_question_of_a_workflow_is_answered(
    url: str, answer: ElicitResult, status: str, refunded: str, *, as_task: bool
) -> None:
    user = User(answer)

    result = await call(url, user, "approve_refund", REFUND, as_task=as_task)

    assert result.structured_content is not None
    assert (result.structured_content["status"], result.structured_content["refunded"]) == (status, refunded)
    asked = ["Refund 249.00 EUR for order A-1002? Reason given: It wobbles."]
    assert (user.asked_by_tasks, user.asked_by_calls) == ((asked, []) if as_task else ([], asked))


@pytest.mark.parametrize("as_task", [True, False], ids=["then a task", "plainly"])
async def test_a_tool_with_confirm_asks_before_it_starts(own_url: str, *, as_task: bool) -> None:
    user = User(ElicitResult(action="accept", content={"why": "They are old."}))

    result = await call(own_url, user, "delete_records", {"count": 3}, as_task=as_task)

    assert result.structured_content == {"count": 3, "confirmation": {"why": "They are old."}}
    assert (user.asked_by_tasks, user.asked_by_calls) == ([], ["Delete 3 records?"])


@pytest.mark.parametrize("as_task", [True, False], ids=["a task", "plainly"])
async def test_a_declined_call_does_not_start(own_url: str, *, as_task: bool) -> None:
    result = await call(own_url, User(DECLINE), "delete_records", {"count": 3}, as_task=as_task)

    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text == "The user declined, and nothing was started."


async def test_a_plain_call_gets_progress_notifications(own_url: str) -> None:
    told: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async with Client(f"{own_url}?rounds=1") as client:
        result = await client.call_tool("take_steps", {"steps": 3, "step_seconds": 1}, progress_callback=note)

    assert result.structured_content == {"steps": 3}
    assert told
    assert told == sorted(set(told))
    assert {total for _, total in told} == {3}
