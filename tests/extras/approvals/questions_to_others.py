"""A refund that finance decides, from its question to its end, over the fakes: for tests, and for the sample events."""

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from stepwire.changes import TaskChange
from stepwire.engine.calls import ToolCall
from stepwire.extras.approvals import NAME as EXTRA
from stepwire.extras.approvals.changes import ApprovalChange, approval_changes
from stepwire.extras.approvals.rules import Approval, Approvers, HasClaim, People, VoteWay, approval_of
from stepwire.json_text import JsonObject
from stepwire.tasks.answers import Action, Given, InputResponse
from stepwire.tasks.events import Answered
from stepwire.tasks.inputs import InputRequest
from stepwire.tasks.task import Origin, Person, Task
from tests.kits import ALICE, OPTIONAL, World, keeping

FINANCE: Final = People((HasClaim("cognito:groups", ("finance",)),))
POLICY: Final = Approvers(
    FINANCE,
    ("finance",),
    shown_arguments=("order_id", "amount", "currency", "reason"),
    shows_decision=True,
    remind=timedelta(hours=4),
)
REFUND: Final[JsonObject] = {
    "order_id": "A-1003",
    "amount": "890.00",
    "currency": "EUR",
    "reason": "A leg is short.",
}
FORM: Final[JsonObject] = {
    "message": 'Refund 890.00 EUR for order A-1003 (Standing desk)? Reason given: "A leg is short."',
    "requestedSchema": {
        "type": "object",
        "properties": {"amount": {"type": "number", "minimum": 0.01, "maximum": 890, "default": 890}},
        "required": ["amount"],
    },
}
_KEPT: Final = 14 * 24 * 3_600_000  # milliseconds
ANN: Final = "5e0f3c1a9b7d4e2f8a6c0d1e2f3a4b5c"


def approval_in(request: InputRequest) -> Approval:
    """Return what is known of a question to others."""
    approval = approval_of(request.audience)
    assert approval is not None
    return approval


def asked() -> tuple[World, Task]:
    """Return a world, and a task in it whose question waits for finance."""
    world = World()
    tool = keeping(replace(OPTIONAL, name="approve_refund", input_schema='{"type":"object"}'), approvals=POLICY)
    person = Person("a1b2c3d4e5f60718293a4b5c6d7e8f90", "alice@example.com")
    task = world.calls.call(ToolCall(ALICE, tool, REFUND, _KEPT, Origin(person=person)))
    world.ask(task.task_id, "finance", FORM, seconds=86_400)
    return world, world.stored(task)


def asked_change() -> ApprovalChange:
    """Return what the table's stream says when the question is asked."""
    world, task = asked()
    (change,) = approval_changes(TaskChange(None, task, world.clock.now()))
    return change


def decided_change() -> ApprovalChange:
    """Return what the table's stream says when Ann has approved."""
    world, before = asked()
    world.clock.advance(minutes=12)
    answer = InputResponse(Action.ACCEPT, '{"amount":600}')
    vote = Given(ANN, world.clock.now(), answer, "ann@example.com", VoteWay.TOOL.value)
    after = world.engine.recorder.record(before, Answered({1: vote}, EXTRA))
    assert after is not None
    (change,) = approval_changes(TaskChange(before, after, world.clock.now()))
    return change
