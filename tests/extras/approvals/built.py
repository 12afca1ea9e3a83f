"""What approvals have in a world of the tests: the inbox, and who hears of questions, in memory."""

from dataclasses import dataclass, field
from typing import Any

from stepwire.changes import TaskChange
from stepwire.extras.approvals import approvals_of, approvals_over, askings_of, subscribers_of
from stepwire.extras.approvals.changes import ApprovalRecording, approval_changes
from stepwire.extras.approvals.service import Approvals
from tests.extras.approvals.fakes import InMemoryAskings, InMemoryInbox, InMemorySubscribers
from tests.kits import World


@dataclass
class ApprovalFakes:
    """The fakes, or in their places what a test says (`World.fakes`)."""

    inbox: InMemoryInbox = field(default_factory=InMemoryInbox)
    askings: InMemoryAskings = field(default_factory=InMemoryAskings)
    subscribers: InMemorySubscribers = field(default_factory=InMemorySubscribers)


def fakes_in(world: World) -> ApprovalFakes:
    """Return what approvals have in a world."""
    return world.fakes["approvals"]


def approvals_in(world: World) -> Approvals:
    """Return what finds and decides the questions of a world."""
    return world.services.of(approvals_of)


def built(world: World) -> dict[Any, Any]:
    """Return what a world's server has for approvals."""
    fakes = world.fakes.setdefault("approvals", ApprovalFakes())

    def list_questions(change: TaskChange) -> None:
        for one in approval_changes(change):
            ApprovalRecording(fakes.inbox, world.audit.append).record(one)

    world.listeners.insert(0, list_questions)  # before those who hear of them
    return {
        approvals_of: approvals_over(world.engine, fakes.inbox),
        askings_of: fakes.askings,
        subscribers_of: fakes.subscribers,
    }
