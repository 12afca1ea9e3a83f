"""The AWS calls of a card, counted where botocore makes them."""

from collections.abc import Iterator

import pytest

from benchmarks.cost import calls
from tests.extras.cards.clients import CARD, Client, answer, with_capabilities
from tests.integration.stacks import Deployed, deployed_without_events
from tests.server.clients import CARD_CAPABILITY, LegacyClient, ModernClient
from tests.waiting import until

pytestmark = pytest.mark.long

TOOL = "wait_and_echo"
SLOW = {"message": "hello", "seconds": 600}
REFUND = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}


@pytest.fixture(scope="module")
def running_stack() -> Iterator[Deployed]:
    """The root template. Only the actions of a test call AWS."""
    with deployed_without_events() as stack:
        yield stack


@pytest.fixture(params=["legacy", "modern"])
def showing(request: pytest.FixtureRequest, running_stack: Deployed) -> Client:
    """A client of either era, whose host shows cards."""
    plain = ModernClient(running_stack) if request.param == "modern" else LegacyClient(running_stack)
    return with_capabilities(plain, CARD_CAPABILITY)


def begun(showing: Client, stack: Deployed, tool: str = TOOL) -> str:
    """Call a tool, return the task that the card shows, and reset the counts."""
    task_id = showing.call(tool, REFUND if tool == "approve_refund" else SLOW).result["_meta"][CARD]["taskId"]
    until(lambda: stack.state_of(task_id) is not None)
    stack.calls.forget()
    return task_id


# U6, U10
def test_a_call_costs_no_more_than_a_task_and_a_look_is_one_read(showing: Client, running_stack: Deployed) -> None:
    running_stack.calls.forget()
    task_id = showing.call(TOOL, SLOW).result["_meta"][CARD]["taskId"]
    called = list(running_stack.calls.made)
    running_stack.calls.forget()

    for _ in range(3):
        showing.call("card_task", {"task_id": task_id})

    # One more if the caller has just created another task: the creation rate continues instead of starting.
    assert called in ([*calls.CREATE], ["UpdateItem", *calls.CREATE])
    assert running_stack.calls.made == [*calls.POLL] * 3


# The secret is read once in an instance, when there is a question. Read, record, deliver, record the delivery.
def test_an_answer_on_a_card_costs_what_any_answer_costs(showing: Client, running_stack: Deployed) -> None:
    task_id = begun(showing, running_stack, "approve_refund")
    until(lambda: showing.call("card_task", {"task_id": task_id}).result["_meta"][CARD]["tokens"])
    seen = showing.call("card_task", {"task_id": task_id}).result
    running_stack.calls.forget()

    answer(showing, task_id, "approval", seen["_meta"][CARD]["tokens"]["approval"], action="decline")

    assert running_stack.calls.made == ["GetItem", "PutItem", "SendTaskSuccess", "PutItem"]


def test_no_secret_is_read_where_nothing_is_asked(showing: Client, running_stack: Deployed) -> None:
    task_id = begun(showing, running_stack)

    showing.call("card_cancel", {"task_id": task_id})

    assert "GetSecretValue" not in running_stack.calls.made
