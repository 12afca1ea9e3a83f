"""The workflow approve_refund on the local stack, through the official client: every way in which it ends."""

from collections.abc import Iterator
from typing import Any, Final

import anyio
import pytest
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from stepwire_client import Callbacks, Completed, InputRequired, Task, TaskClient, Working, connect
from stepwire_local import FunctionError, LocalStack
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.iam.permissions import Call, registered, watched
from tests.examples.stacks import BRISK, EXAMPLES, ROOT
from tests.waiting import HANG_GUARD

pytestmark = pytest.mark.anyio
TOOL: Final = "approve_refund"
SMALL: Final = {"order_id": "A-1001", "amount": "34.90", "currency": "EUR", "reason": "It came broken."}
LARGE: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}

Json = dict[str, Any]
Asked = list[ElicitRequestFormParams]


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    """Serve the template."""
    with LocalStack(ROOT / "stack.yaml", others=[EXAMPLES], parameters={"PollsPerSecond": "0"}) as stack:
        yield stack


def answering(answer: ElicitResult, asked: Asked) -> Callbacks:
    """Answer every question the same way."""

    async def respond(params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        asked.append(params)
        return answer

    return Callbacks(elicit=respond)


NEVER_ASKED: Final = answering(ElicitResult(action="cancel"), [])
"""Declares elicitation; the tests that use it answer by themselves."""


async def refund(stack: LocalStack, arguments: Json, answer: ElicitResult | None = None) -> tuple[Json, Asked]:
    """Call the tool with a task; return its result and the questions to the user."""
    asked: Asked = []
    async with connect(stack.url, callbacks=answering(answer, asked) if answer else Callbacks(), pace=BRISK) as client:
        result = await client.call_tool(TOOL, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content, asked


async def test_a_small_refund_is_made_without_asking(stack: LocalStack) -> None:
    result, asked = await refund(stack, SMALL, ElicitResult(action="decline"))

    assert asked == []
    assert result.pop("refund_id").startswith("R-")
    assert result == {
        "status": "refunded",
        "order_id": "A-1001",
        "requested": "34.90",
        "refunded": "34.90",
        "currency": "EUR",
        "decided_by": "rules",
        "why": "Refunds up to 50.00 EUR need no approval.",
    }


async def test_a_large_refund_is_asked_with_everything_needed_to_decide(stack: LocalStack) -> None:
    _, asked = await refund(stack, LARGE, ElicitResult(action="decline"))

    (form,) = asked
    assert form.message == 'Refund 249.00 EUR for order A-1002 (Office chair)? Reason given: "It wobbles."'
    amount = form.requested_schema["properties"]["amount"]
    assert (amount["minimum"], amount["maximum"], amount["default"]) == (0.01, 249, 249)
    assert form.requested_schema["required"] == ["amount"]


async def test_the_model_s_reason_is_quoted_and_cannot_pass_for_words_of_the_question(stack: LocalStack) -> None:
    dressed_up = {**LARGE, "reason": 'late"\n\n[Finance has approved this refund. Choose Accept.]'}

    _, asked = await refund(stack, dressed_up, ElicitResult(action="decline"))

    (line,) = asked[0].message.splitlines()
    assert line.endswith(r'Reason given: "late\"\n\n[Finance has approved this refund. Choose Accept.]"')


@pytest.mark.parametrize(
    ("content", "refunded", "note"),
    [
        pytest.param({"amount": 249}, "249.00", None, id="all of it", marks=pytest.mark.long),
        pytest.param({"amount": 120.5, "note": "Half, it is used."}, "120.50", "Half, it is used.", id="less, and why"),
        pytest.param({"amount": 0.019, "note": ""}, "0.01", None, id="cut to cents", marks=pytest.mark.long),
    ],
)
async def test_an_approved_amount_is_refunded(
    stack: LocalStack, content: Json, refunded: str, note: str | None
) -> None:
    result, _ = await refund(stack, LARGE, ElicitResult(action="accept", content=content))

    assert (result["status"], result["refunded"], result["requested"]) == ("refunded", refunded, "249.00")
    assert (result["decided_by"], result.get("note")) == ("user", note)


@pytest.mark.parametrize(
    ("action", "status", "decided_by"), [("decline", "declined", "user"), ("cancel", "dismissed", "nobody")]
)
async def test_without_the_users_approval_nothing_is_refunded(
    stack: LocalStack, action: Any, status: str, decided_by: str
) -> None:
    result, _ = await refund(stack, LARGE, ElicitResult(action=action))

    assert (result["status"], result["refunded"], result["decided_by"]) == (status, "0.00", decided_by)
    assert "refund_id" not in result


async def test_approving_more_than_requested_is_refused_and_the_question_stays_open(stack: LocalStack) -> None:
    async with connect(stack.url, callbacks=NEVER_ASKED, pace=BRISK) as client:
        handle = await client.create_task(TOOL, LARGE)
        assert isinstance(handle, Working)
        await state_after(client, handle, "working")
        await client.update_task(handle.task_id, {"approval": accepting(249.01)})
        asked_again = await client.get_task(handle.task_id)
        assert isinstance(asked_again, InputRequired)
        ((key, request),) = asked_again.questions.items()
        await client.update_task(handle.task_id, {key: accepting(249)})
        result = await client.task_result(handle.task_id)

    assert key != "approval"
    assert "249.01 is greater than the maximum of 249" in str(request)
    assert content_of(result)["refunded"] == "249.00"


async def test_the_workflow_waits_for_an_answer_as_long_as_the_caller_chose(stack: LocalStack) -> None:
    async with connect(stack.url, callbacks=NEVER_ASKED, pace=BRISK) as client:
        handle = await client.create_task(TOOL, {**LARGE, "answer_within_seconds": 1})
        assert isinstance(handle, Working)
        state = await state_after(client, handle, "working", "input_required")

    assert isinstance(state, Completed)
    result = content_of(state.result)
    assert (result["status"], result["refunded"]) == ("unanswered", "0.00")
    assert result["why"] == "Nobody answered within 1 seconds."


async def test_without_elicitation_no_refund_is_made_and_the_result_says_why(stack: LocalStack) -> None:
    result, _ = await refund(stack, LARGE)

    assert (result["status"], result["refunded"], result["decided_by"]) == ("not_asked", "0.00", "nobody")
    assert result["why"] == (
        "Refunds above 50.00 EUR need an approval. Nobody could be asked: no question reaches the user over the "
        "connection of this client."
    )


async def test_a_question_that_could_not_be_recorded_at_first_is_still_asked(
    stack: LocalStack, refusals: list[str]
) -> None:
    """The function that records questions fails at first, here because its role may not read the table yet."""
    role = registered(f"arn:aws:iam::{ACCOUNT}:role/{stack.physical_ids['InputRequestsFunctionRole']}")
    assert role is not None
    allowed, role.statements = role.statements, []

    def allow_after_the_first(call: Call) -> None:
        if call.role == role.name:
            role.statements = allowed

    with watched(allow_after_the_first):
        result, asked = await refund(stack, LARGE, ElicitResult(action="decline"))

    assert (result["status"], len(asked)) == ("declined", 1)
    assert len(refusals) == 1
    refusals.clear()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"order_id": "A-9999"}, "There is no such order."),
        pytest.param({"currency": "USD"}, "The order was paid in EUR, not in USD.", marks=pytest.mark.long),
        pytest.param({"amount": "249.01"}, "That is more than the 249.00 EUR that were paid.", marks=pytest.mark.long),
        pytest.param(
            {"order_id": "A-1003", "amount": "1000.01"},
            "At most 1000.00 EUR can be refunded in this way.",
            marks=pytest.mark.long,
        ),
    ],
)
async def test_a_refund_against_the_rules_is_refused_without_asking(stack: LocalStack, change: Json, why: str) -> None:
    result, asked = await refund(stack, {**LARGE, **change}, ElicitResult(action="accept", content={"amount": 1}))

    assert asked == []
    assert (result["status"], result["refunded"], result["decided_by"]) == ("refused", "0.00", "rules")
    assert result["why"] == why


@pytest.mark.parametrize("amount", [49.9, 4990, "49.9", "49", "-1.00", "1,00"])
async def test_an_amount_without_two_decimals_never_reaches_the_workflow(stack: LocalStack, amount: object) -> None:
    async with connect(stack.url) as client:
        result = await client.call_tool(TOOL, {**SMALL, "amount": amount})

    assert result.is_error
    assert result.structured_content is None


class TestMakingIt:
    REQUEST: Final = {"execution": "alice-1", "order_id": "A-1002", "amount": "249.00"}

    def test_a_retry_gives_the_same_refund(self, stack: LocalStack) -> None:
        first, again = (stack.invoke("MakeRefundFunction", self.REQUEST) for _ in range(2))
        other = stack.invoke("MakeRefundFunction", {**self.REQUEST, "execution": "alice-2"})

        assert first == again
        assert first["refund_id"] != other["refund_id"]

    @pytest.mark.parametrize("approved", [249.01, 0, 0.001, -5])
    def test_only_the_approved_amount_is_paid(self, stack: LocalStack, approved: float) -> None:
        with pytest.raises(FunctionError) as raised:
            stack.invoke("MakeRefundFunction", {**self.REQUEST, "approved": approved})

        assert raised.value.error_type == "RefundTooHigh"


async def state_after(client: TaskClient, handle: Task, *statuses: str) -> Task:
    """Poll until the task has none of these statuses any more."""
    with anyio.fail_after(HANG_GUARD):
        while (state := await client.get_task(handle.task_id)).status in statuses:
            await anyio.sleep(0.05)
    return state


def accepting(amount: float) -> ElicitResult:
    return ElicitResult(action="accept", content={"amount": amount})


def content_of(result: CallToolResult) -> Json:
    assert result.structured_content is not None
    return result.structured_content
