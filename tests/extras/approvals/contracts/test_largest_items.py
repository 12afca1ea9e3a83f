"""The largest item of a task that waits for others than its caller."""

from datetime import timedelta

from msgspec.structs import replace

from stepwire.aws.storage.items import divided, item_of, task_of
from stepwire.engine.calls import ToolCall
from stepwire.extras.approvals.audiences import MOST_RECIPIENTS
from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.rules import (
    MOST_APPROVALS,
    MOST_VALUES,
    Approver,
    Approvers,
    Escalation,
    HasClaim,
    HasScope,
    People,
    VoteWay,
)
from stepwire.protocol.messages import LONGEST_ID
from stepwire.tasks.answers import MOST_DECISIONS
from stepwire.tasks.inputs import LARGEST_CONTENT, MOST_QUESTIONS
from stepwire.tasks.task import Origin, Person, Task
from tests.contracts.test_largest_items import LARGEST_ITEM, LARGEST_SQUARE, SCHEMA
from tests.extras.approvals.built import approvals_in
from tests.kits import ALICE, BOTH_MODES, OPTIONAL, World, keeping
from tests.tables import size_of


def called_by_somebody_who_does_not_decide(world: World) -> Task:
    """Call a tool whose questions go to others, with the largest policy."""
    values = tuple(LARGEST_SQUARE * 199 + str(one) for one in range(MOST_VALUES))
    audience = People((HasScope("s" * 200), HasClaim(LARGEST_SQUARE * 200, values)), LARGEST_SQUARE * 100)
    policy = Approvers(
        audience,
        approvals=MOST_APPROVALS,
        shown_arguments=tuple(f"{one:064d}" for one in range(20)),
        remind=timedelta(minutes=15),
        escalation=Escalation(timedelta(days=1), audience),
        recipients=tuple(LARGEST_SQUARE * 253 + str(one) for one in range(MOST_RECIPIENTS)),
    )
    tool = keeping(replace(OPTIONAL, name="n" * 128, ttl=timedelta(days=7)), approvals=policy)
    origin = Origin(BOTH_MODES, "\x01" * LONGEST_ID, "d" * 32, person=Person("d" * 32, LARGEST_SQUARE * 100))
    return world.calls.call(ToolCall(ALICE, tool, {"text": "x"}, None, origin))


def test_the_largest_task_that_waits_for_others_fits_into_an_item() -> None:
    world = World()
    task = called_by_somebody_who_does_not_decide(world)
    large = {"action": "accept", "content": {"a": "x" * (LARGEST_CONTENT - 8)}}
    for number in range(1, MOST_QUESTIONS):
        world.workflows.is_available = True  # a question that is too large fails its state
        world.ask(
            task.task_id, "k" * 64, {"message": "m", "requestedSchema": SCHEMA}, token=f"{number:03d}".ljust(2_048, "t")
        )
        world.workflows.is_available = False  # and no answer is delivered
        for one in range(MOST_APPROVALS):
            if number in {asked.number for asked in world.stored(task).questions}:
                somebody = Approver(f"{one:032x}", LARGEST_SQUARE * 100, has_link=True)
                is_last = one == MOST_APPROVALS - 1 and number <= MOST_DECISIONS
                answer = {"action": "decline"} if is_last else large
                approvals_in(world).vote(QuestionKey(task.key, number), somebody, answer, VoteWay.LINK)
    full = world.stored(task)

    assert len(full.inputs.decisions) == MOST_DECISIONS
    assert full.questions
    assert task_of(item_of(full)) == full
    assert size_of(divided(full).item) < LARGEST_ITEM
