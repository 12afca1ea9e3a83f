"""A question that waits is announced again on time: by whoever reads its task, and by the sweep."""

from msgspec.structs import replace

from stepwire.extras.approvals.rules import Approvers, HasScope, People
from stepwire.tasks.task import Task
from tests.extras.approvals.questions_to_others import approval_in
from tests.extras.approvals.test_deciding import HOUR, MINUTE, POLICY, asking, vote
from tests.kits import ALICE, OPTIONAL, World, catalog_of, keeping
from tests.unit.background.test_sweep import INTERVAL, MANY, sweep_of


def test_a_reader_announces_a_question_again_when_it_is_time_and_not_before() -> None:
    world, task = asking(replace(POLICY, remind=HOUR))
    reminders = list[int]()

    for after in (HOUR - MINUTE, MINUTE, MINUTE, 5 * HOUR):
        world.clock.time += after
        world.operations.get(ALICE, task.task_id)
        (question,) = world.stored(task).questions
        reminders.append(approval_in(question).reminders)

    assert reminders == [0, 1, 1, 6], "those that were missed are one"
    assert world.stored(task).last_updated_at == task.last_updated_at
    assert world.wake_ups.scheduled == []


def test_nothing_is_announced_beyond_the_end_of_a_question_or_without_reminders() -> None:
    for policy, seconds in ((replace(POLICY, remind=HOUR), 3_600), (POLICY, 0)):
        world, task = asking(policy, seconds=seconds)
        world.clock.time += HOUR

        world.operations.get(ALICE, task.task_id)

        assert not [one for one in world.stored(task).questions if approval_in(one).reminders]


def test_after_a_decision_the_other_question_is_still_announced_on_time() -> None:
    world, task = asking(replace(POLICY, remind=HOUR))
    world.clock.time += HOUR / 2
    world.ask(task.task_id, "second")
    vote(world, task)
    reminders = list[int]()

    for _ in range(2):
        world.clock.time += HOUR / 2
        world.operations.get(ALICE, task.task_id)
        (question,) = world.stored(task).questions
        reminders.append(approval_in(question).reminders)

    assert reminders == [0, 1]


def test_the_sweep_announces_a_question_again_and_closes_it_even_if_its_workflow_is_listed_as_running() -> None:
    policy = Approvers(People((HasScope("finance"),)), remind=2 * INTERVAL)
    world = World(limits=MANY, catalog=catalog_of(keeping(OPTIONAL, approvals=policy)))
    tasks = [world.call(world.catalog.tools[OPTIONAL.name]) for _ in range(10)]
    world.ask(tasks[-1].task_id, seconds=(3 * INTERVAL).total_seconds())
    seen = list[Task]()

    for _ in range(3):
        world.clock.time += INTERVAL
        sweep_of(world).run()
        seen.append(world.stored(tasks[-1]))

    reminders = [[approval_in(one).reminders for one in task.questions] for task in seen]
    assert reminders == [[0], [1], []]
    assert world.workflows.listed
    assert world.workflows.running() == tuple(task.execution for task in tasks)
