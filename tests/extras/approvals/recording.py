"""For tests/upgrades: a task whose questions others decide, and the manifest of its tool."""

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.rules import (
    Approver,
    Approvers,
    Escalation,
    HasClaim,
    HasScope,
    People,
    VoteWay,
    role_quality,
)
from stepwire.json_text import JsonObject
from stepwire.principal import principal_of
from stepwire.tasks.ids import TaskId, TaskKey
from tests.extras.approvals.built import approvals_in
from tests.kits import ALICE, World, keeping
from tests.server.answers import Json
from tests.upgrades.recording import ACCEPT, TOOL, Scenario, Scene, modern

APPROVED: Final = keeping(
    replace(TOOL, name="approved", ttl=timedelta(days=14)),
    approvals=Approvers(
        People((HasScope("refunds.approve"), HasClaim("groups", ("finance", "audit"))), "finance"),
        questions=("approval", "payment"),
        approvals=2,
        shown_arguments=("text",),
        shows_decision=True,
        remind=timedelta(hours=4),
        escalation=Escalation(timedelta(days=1), People((role_quality("arn:aws:iam::123456789012:role/chief"),))),
        recipients=("ann@example.com", "ben@example.com"),
    ),
)
TOOLS: Final = (APPROVED,)
MANIFESTS: Final[dict[str, JsonObject]] = {
    "approved": {
        "approvers": {
            "scope": "refunds.approve",
            "claim": "groups",
            "has": ["finance", "audit"],
            "name": "finance",
            "questions": ["approval"],
            "approvals": 2,
            "include_caller": True,
            "show": [],
            "show_decision": True,
            "remind": "PT4H",
            "escalate": {"after": "P1D", "role": "arn:aws:iam::123456789012:role/a/chief"},
            "recipients": ["ann@example.com", "ben@example.com"],
        }
    },
}


def asking_others(world: World) -> Scene:
    """Two questions to others: one was approved by one of two and announced again, and one refused and undelivered."""
    task_id = modern(world).start(APPROVED.name)
    world.ask(task_id, "approval", seconds=86_400 * 7, audience={"scope": "emea", "name": "finance in EMEA"})
    world.ask(task_id, "payment")
    _decide(world, task_id, 1, "Ann", ACCEPT)
    world.workflows.is_available = False
    _decide(world, task_id, 2, "Ben", {"action": "decline"})
    world.clock.time += timedelta(days=1)
    world.operations.get(ALICE, task_id)
    world.workflows.is_available = True
    return Scene(task_id)


def _decide(world: World, task_id: str, number: int, name: str, answer: Json) -> None:
    """Let a person decide a question of a task, with a link."""
    person = Approver(principal_of((name,), "a stack"), name, has_link=True)
    approvals_in(world).vote(QuestionKey(TaskKey(ALICE, TaskId(task_id)), number), person, answer, VoteWay.LINK)


SCENARIOS: Final[tuple[Scenario, ...]] = (asking_others,)
