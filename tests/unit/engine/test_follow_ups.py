"""An operator redrives the execution of a task that has ended: it stays as it is, and a new task follows it."""

from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.engine.follow_ups import FollowUp
from stepwire.errors import InternalError, NotFollowedUp, SaveConflict, WorkflowsUnavailable
from stepwire.rendering import status_message, task_meta
from stepwire.tasks.limiter import Limits
from stepwire.tasks.outcomes import (
    ExecutionFailed,
    ExecutionState,
    Missing,
    Running,
    Succeeded,
    TimedOut,
    result_location_of,
)
from stepwire.tasks.runs import Pending, Retry
from stepwire.tasks.task import Cancelled, Completed, InputRequired, Task, Working
from tests.fake_workflows import Redrive
from tests.fakes import LARGE
from tests.kits import ALICE, OPTIONAL, OUTPUT, World
from tests.races import BROKEN, racing

OPERATOR: Final = "arn:aws:sts::123456789012:assumed-role/operators/olga"
RETRY: Final = Retry(3, ("OutOfStock",), delay=timedelta(seconds=10))


def failed(world: World, tool: Any = OPTIONAL) -> Task:
    """Return a task whose workflow has failed."""
    task = world.call(tool)
    world.fail(task.task_id, "Broken")
    world.store.calls.clear()
    return world.stored(task)


def command(world: World, task: Task) -> FollowUp:
    """Give an operator's command for a task."""
    return world.engine.follow_ups.redrive(task.key, OPERATOR)


def redrive_elsewhere(world: World, task: Task) -> ExecutionStatusChange:
    """Redrive the execution of a task as the console does; return its status event."""
    world.workflows.redrive(task.execution, f"of the console {len(world.workflows.redrives)}")
    return ExecutionStatusChange(task.execution, world.workflows.states[task.execution])


def others(world: World, task: Task) -> list[Task]:
    """Return the tasks beside this one, newest first."""
    return [one for one in world.operations.page(ALICE, None).tasks if one.task_id != task.task_id]


# R11
def test_an_ended_task_stays_as_it_is_and_a_new_task_follows_it() -> None:
    world = World()
    task = failed(world)

    made = command(world, task)

    assert (made.is_new, made.has_begun) == (True, True)
    after = world.stored(task)
    assert replace(after, follow_up=None, version=task.version) == task
    (newest, oldest) = world.operations.page(ALICE, None).tasks
    assert (newest.task_id, oldest.task_id) == (made.task.task_id, task.task_id)
    assert newest.status == Working()


# R11: terms that are too large for the task are stored beside it, under its key
@pytest.mark.parametrize("text", ["x", "x" * LARGE])
def test_a_follow_up_has_the_terms_of_the_ended_task(text: str) -> None:
    world = World()
    task = world.call(arguments={"text": text})
    world.fail(task.task_id)

    new = command(world, task).task

    assert world.terms_of(new) == world.terms_of(task)


# R11
def test_the_two_tasks_name_each_other() -> None:
    world = World()
    task = failed(world)

    new = command(world, task).task

    old = world.stored(task)
    assert task_meta(old) == {"_meta": {"stepwire/followUps": {"redrive": {"taskId": new.task_id}}}}
    assert task_meta(new) == {"_meta": {"stepwire/follows": {"taskId": task.task_id}}}
    words = f"The operator has let its workflow go on: see task {new.task_id}."
    assert status_message(old) == f"{status_message(task)} {words}"
    assert status_message(new) == f"It continues task {task.task_id}, at the operator's request."


def test_a_link_has_room_beside_the_longest_message() -> None:
    world = World()
    task = failed(world)
    new = command(world, task).task
    long = replace(world.stored(task), status=replace(world.stored(task).status, message="x" * 1_000))

    message = status_message(long)

    assert message is not None
    assert len(message) == 1_000
    assert message.endswith(f" see task {new.task_id}.")


# R11
def test_a_redrive_goes_on_with_the_execution_and_its_end_is_the_new_tasks() -> None:
    world = World()
    task = failed(world)

    new = command(world, task).task
    world.succeed(task.task_id, OUTPUT)

    assert world.workflows.redrives == [Redrive(task.execution, f"{new.task_id}-0-1-1")]
    assert len(world.workflows.starts) == 1
    assert isinstance(world.stored(new).status, Completed)
    assert world.stored(new).execution == task.execution
    assert "42" in str(world.operations.result_of(world.stored(new)))
    assert world.stored(task).status == task.status


# R12
def test_questions_progress_and_failures_of_a_redriven_execution_are_the_new_tasks() -> None:
    world = World()
    task = failed(world)
    new = command(world, task).task

    world.progress(task.task_id, 40)
    world.ask(task.task_id)
    asked = world.stored(new)
    world.fail(task.task_id, "Broken again")

    assert isinstance(asked.status, InputRequired)
    assert asked.progress is not None
    ended = world.stored(new).status
    assert isinstance(ended, Completed)
    assert ended.result.is_error
    assert world.stored(task).status == task.status


# R13
def test_a_redrive_in_the_console_makes_the_new_task_by_its_event() -> None:
    world = World()
    task = failed(world)

    world.events.record(redrive_elsewhere(world, task))

    (new,) = others(world, task)
    assert world.stored(task).follow_up == new.task_id
    assert new.status == Working()
    assert len(world.workflows.redrives) == 1
    world.succeed(task.task_id, OUTPUT)
    assert isinstance(world.stored(new).status, Completed)


# R13, R14: delivery is at least once and in any order
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_late_and_doubled_events_of_a_redrive_make_one_task_that_ends_once(order: tuple[int, ...]) -> None:
    world = World()
    task = failed(world)
    first = ExecutionStatusChange(task.execution, ExecutionFailed("Broken", "it broke"))
    running = redrive_elsewhere(world, task)
    world.workflows.succeed(task.execution, OUTPUT)
    (succeeded,) = world.workflows.undelivered
    changes = (first, running, succeeded)

    for at in (*order, *order):
        world.events.record(changes[at])

    (new,) = others(world, task)
    assert isinstance(new.status, Completed)
    assert not new.status.result.is_error
    assert world.stored(task).status == task.status


# R13
def test_each_redrive_of_an_execution_gets_a_task_that_follows_the_one_before() -> None:
    world = World()
    task = failed(world)

    for _ in range(12):
        world.events.record(redrive_elsewhere(world, task))
        world.fail(task.task_id, "Broken")
    world.events.record(redrive_elsewhere(world, task))
    world.succeed(task.task_id, OUTPUT)

    newest, *older = others(world, task)
    assert len(older) == 12
    assert isinstance(newest.status, Completed)
    assert not newest.status.result.is_error
    followed = [one.follows.task_id for one in (newest, *older) if one.follows]
    assert followed == [*(one.task_id for one in older), task.task_id]


# R12
def test_a_redrive_of_a_task_that_has_not_ended_is_its_own() -> None:
    """The event of the failure was lost."""
    world = World()
    task = world.call()
    world.workflows.fail(task.execution)
    world.workflows.undelivered.clear()

    world.events.record(redrive_elsewhere(world, task))
    world.succeed(task.task_id, OUTPUT)

    assert isinstance(world.stored(task).status, Completed)
    assert others(world, task) == []


def test_attempts_of_its_own_are_no_redrives_of_an_operator() -> None:
    world = World()
    task = world.call(replace(OPTIONAL, retry=replace(RETRY, redrives=True)))
    world.fail(task.task_id, "OutOfStock")
    world.wake()
    own = ExecutionStatusChange(task.execution, Running(1))
    world.operations.cancel(ALICE, task.task_id)

    world.events.record(own)
    world.deliver()

    assert others(world, task) == []


# R14
def test_a_repeated_command_returns_the_same_task_and_begins_nothing_again() -> None:
    world = World()
    task = failed(world)

    first = command(world, task)
    second = command(world, task)
    world.succeed(world.workflows.running()[0].name[-36:], OUTPUT)
    third = command(world, task)

    assert {one.task.task_id for one in (first, second, third)} == {first.task.task_id}
    assert [one.is_new for one in (first, second, third)] == [True, False, False]
    assert isinstance(third.task.status, Completed)
    assert len(others(world, task)) == 1
    assert world.workflows.running() == ()


# R14
@pytest.mark.parametrize("hook", ["before_save", "before_create"])
def test_of_concurrent_commands_one_makes_the_task(hook: str) -> None:
    world = World()
    task = failed(world)
    meanwhile: list[FollowUp] = []
    setattr(world.store, hook, lambda: meanwhile.append(command(world, task)))

    mine = command(world, task)

    assert mine.task.task_id == meanwhile[0].task.task_id
    assert len(others(world, task)) == 1
    assert len(world.workflows.running()) == 1


# R14, R16
def test_a_command_whose_task_another_one_has_made_and_begun_returns_that_with_its_slot() -> None:
    world = World()
    task = failed(world)

    def meanwhile() -> None:
        command(world, task)
        world.progress(task.task_id, 10)

    world.store.before_create = meanwhile
    mine = command(world, task)

    assert not mine.is_new
    assert mine.task == world.stored(mine.task)
    assert world.store.usage[ALICE].active == {mine.task.task_id}


# R14
def test_a_command_gives_up_when_others_change_the_task_all_the_time() -> None:
    world = World()
    task = failed(world)
    save = world.store.save

    def contended(sent: Task) -> Task:
        save(replace(sent, follow_up=None))
        raise SaveConflict

    world.store.save = contended  # type: ignore[method-assign] - others save first

    with pytest.raises(InternalError, match=r"requests are changing this task\. Repeat the command\."):
        command(world, task)

    assert others(world, task) == []


# R14
def test_a_command_and_the_event_of_its_redrive_make_one_task() -> None:
    world = World()
    task = failed(world)

    def console() -> None:
        world.events.record(redrive_elsewhere(world, task))

    world.store.before_create = console
    made = command(world, task)
    world.succeed(task.task_id, OUTPUT)

    assert [one.task_id for one in others(world, task)] == [made.task.task_id]
    assert isinstance(world.stored(made.task).status, Completed)


# R14
def test_what_could_not_begin_now_begins_with_the_next_check() -> None:
    world = World()
    task = failed(world)
    world.workflows.redrive_fault = WorkflowsUnavailable()

    made = command(world, task)
    world.workflows.redrive_fault = None
    assert not made.has_begun
    world.clock.time += world.intervals.repair
    world.operations.get(ALICE, made.task.task_id)

    assert world.workflows.running() == (made.task.execution,)


def succeeded(world: World) -> Task:
    task = world.call()
    world.succeed(task.task_id, OUTPUT)
    return task


def with_execution(state: ExecutionState) -> Callable[[World], Task]:
    """Return what arranges a failed task whose execution is in this state by now."""

    def arranged(world: World) -> Task:
        task = failed(world)
        world.workflows.states[task.execution] = state
        return task

    return arranged


def expired(world: World) -> Task:
    task = failed(world)
    world.clock.time = task.expires_at
    return task


def without_terms(world: World) -> Task:
    task = world.call(arguments={"text": "x" * 10_000})
    world.fail(task.task_id)
    world.store.terms.clear()
    return task


def raced(world: World) -> Task:
    task = world.call(racing(2))
    for letter in ("a", "b"):
        world.end_arm(task, letter, BROKEN)
    return task


def followed(world: World) -> Task:
    """Return a task whose follow-up has expired before it."""
    task = failed(world, replace(OPTIONAL, keep_result=timedelta(hours=2)))
    world.store.before_create = lambda: setattr(world.clock, "time", task.expires_at - timedelta(seconds=1))
    command(world, task)
    return task


REFUSALS: Final[dict[str, tuple[Callable[[World], Task], str]]] = {
    "running": (World.call, "The task has not ended: wait for its end, or let its caller cancel it."),
    "expired": (expired, "There is no such task, or it has expired: its caller must call the tool again."),
    "raced": (raced, "Its state machines raced, and the others were stopped: its caller calls the tool again."),
    "its follow-up has expired": (
        followed,
        "The task that follows it has expired: its caller must call the tool again.",
    ),
    "no execution": (
        with_execution(Missing()),
        "Its execution is not there, or no more: its caller must call the tool again.",
    ),
    "success": (succeeded, "Its execution has succeeded: there is no failed state to go on from."),
    "too old": (
        with_execution(TimedOut(0, "redrivable period exceeded")),
        "Step Functions does not redrive its execution (redrivable period exceeded): its caller calls the tool again.",
    ),
    "still running": (
        with_execution(Running()),
        "Its execution still runs, and is being stopped: try again in some minutes.",
    ),
    "without its arguments": (
        without_terms,
        "Its arguments are gone from the table: its caller must call the tool again.",
    ),
}


# R15
@pytest.mark.parametrize(("arrange", "reason"), REFUSALS.values(), ids=list(REFUSALS))
def test_what_cannot_be_continued_is_refused_and_nothing_changes(arrange: Callable[[World], Task], reason: str) -> None:
    world = World()
    task = arrange(world)
    before = (dict(world.store.tasks), len(world.workflows.starts), len(world.workflows.redrives))

    with pytest.raises(NotFollowedUp) as refused:
        command(world, task)

    assert refused.value.reason == reason
    assert before == (dict(world.store.tasks), len(world.workflows.starts), len(world.workflows.redrives))


# R16
def test_a_follow_up_takes_a_slot_of_its_caller_and_is_refused_at_the_limit() -> None:
    world = World(limits=Limits(active=2))
    ended = [failed(world), failed(world), failed(world)]

    made = [command(world, task).task for task in ended[:2]]
    with pytest.raises(NotFollowedUp, match="At most 2 tasks may be active at once"):
        command(world, ended[2])
    world.operations.cancel(ALICE, made[0].task_id)

    assert command(world, ended[2]).is_new, "the refused command is repeated when a slot is free"


# R16
def test_it_is_audited() -> None:
    world = World()
    task = failed(world)
    world.audit.clear()

    new = command(world, task).task

    followed, created = world.audit
    assert (followed.action, followed.task_id, followed.outcome) == (AuditAction.FOLLOWED_UP, task.task_id, "redrive")
    assert (followed.follow_up, followed.operator) == (new.task_id, OPERATOR)
    assert (created.action, created.task_id) == (AuditAction.CREATED, new.task_id)


def test_the_owner_cancels_a_follow_up_like_any_task() -> None:
    world = World()
    task = failed(world)
    new = command(world, task).task

    world.operations.cancel(ALICE, new.task_id)
    world.deliver()

    assert world.workflows.running() == ()
    assert isinstance(world.stored(new).status, Cancelled)
    assert len(others(world, task)) == 1


def test_a_cancelled_task_can_be_redriven_and_no_sweep_stops_it() -> None:
    """What a cancel may have missed is no longer the ended task's to stop."""
    world = World()
    task = world.call(replace(OPTIONAL, retry=RETRY))
    world.fail(task.task_id, "OutOfStock")
    world.wake()
    world.operations.cancel(ALICE, task.task_id)
    ended = world.stored(task)
    world.store.tasks[task.key] = replace(ended, runs=(replace(ended.runs[0], pending=Pending.STOP),))

    new = command(world, task).task

    assert not world.stored(task).runs_pending(Pending.STOP)
    assert world.workflows.running() == (new.execution,)


def test_a_follow_up_has_what_its_tool_promised() -> None:
    world = World()
    tool = replace(OPTIONAL, retry=RETRY, keep_result=timedelta(hours=1), result_bucket="b", result_prefix="{task_id}/")
    task = failed(world, tool)

    first = command(world, task).task
    world.fail(task.task_id, "Broken")
    second = command(world, first).task

    for one in (first, second):
        assert (one.retry, one.runs[0].attempt.number) == (RETRY, 1)
        assert (one.ttl, one.keep_result, one.poll_interval) == (task.ttl, task.keep_result, task.poll_interval)
        place = result_location_of(one)
        assert place is not None
        assert place.prefix == f"{task.task_id}/", "the input names the first task"


def test_a_redriven_execution_without_its_task_is_nobodys() -> None:
    world = World()
    task = without_terms(world)

    world.events.record(redrive_elsewhere(world, task))
    world.workflows.end(task.execution, Succeeded("1"))
    world.deliver()

    assert others(world, task) == []
    assert world.troubles == []
