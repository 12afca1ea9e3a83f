"""Others decide the question of a run while another run of the same task waits in line for its turn."""

from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.rules import Approver, Approvers, HasScope, People, VoteWay
from stepwire.tasks.runs import Pending
from stepwire.tasks.task import Working
from tests.extras.approvals.built import approvals_in
from tests.extras.lines.test_questions_in_line import ANSWER, BOTH, ask, delivered, pending, running
from tests.extras.lines.test_turns import call, limited
from tests.kits import World, keeping
from tests.races import WON


def test_others_decide_the_question_of_a_run_while_another_one_waits() -> None:
    finance = HasScope("finance")
    tool = keeping(limited(tool=BOTH), approvals=Approvers(People((finance,), "finance")))
    world = World()
    task = call(world, tool)
    ask(world, task, "a")
    assert isinstance(world.stored(task).shown_status, Working)

    ann = Approver("ann", "Ann", frozenset({finance}))
    approvals_in(world).vote(QuestionKey(task.key, 1), ann, ANSWER, VoteWay.TOOL)

    assert [token for token, _ in delivered(world)] == ["token of approval"]
    assert pending(world, task) == [None, Pending.TURN]
    world.end_arm(task, "a", WON)
    assert running(world, task) == ["b"]
