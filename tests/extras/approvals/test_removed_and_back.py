"""A stack loses its approvals while a question waits for approvers: it is theirs when they are back."""

from datetime import timedelta
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.background.input_requests import InputRequests
from stepwire.engine.assembly import Engine, assemble
from stepwire.tasks.task import Working
from tests.extras.approvals.approving import Decider, ask, refunds, started
from tests.kits import ALICE, World
from tests.server.messages import ACCEPT, answers_of

A_WHILE: Final = timedelta(minutes=20)


def without_approvals(world: World) -> Engine:
    """Return what the functions of the stack are without the extra, over the same tasks."""
    return assemble(replace(world.ports, routers={}))


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_question_waits_without_approvals_and_is_decided_when_they_are_back(era: str) -> None:
    world = refunds()
    task_id = started(world)
    without = without_approvals(world)

    world.clock.time += A_WHILE
    meanwhile = without.operations.get(ALICE, task_id)
    kept = without.upkeep.after_questions(meanwhile)
    bob = Decider.of(world, era)
    (waiting,) = bob.listed()
    bob.decide(waiting["approvalId"], ACCEPT)

    assert meanwhile.shown_status == Working()
    assert meanwhile.input_requests == (), "the caller is not asked in their place"
    assert kept.questions == meanwhile.questions
    assert [one["action"] for one in answers_of(world).values()] == ["accept"]
    assert world.faults == world.troubles == []


def test_a_question_that_is_asked_meanwhile_fails_its_state_and_the_one_before_stays() -> None:
    world = refunds()
    task_id = started(world)
    world.requests = InputRequests(without_approvals(world), world.workflows)

    ask(world, task_id, "second")

    (resumption,) = world.workflows.resumptions
    assert resumption.error == "Stepwire.InvalidInputRequest"
    assert "this endpoint does not ask them any more" in (resumption.cause or "")
    assert len(Decider.of(world, "modern").listed()) == 1
