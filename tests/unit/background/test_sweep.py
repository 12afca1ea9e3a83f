"""Tasks that no client reads are repaired by the sweep."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import pytest

from stepwire.audit import AuditAction
from stepwire.background.sweep import CHECK_BURST, LIST_BURST, LISTS_PER_SECOND, MOST_SINGLE_CHECKS, Sweep, Swept
from stepwire.engine.calls import ToolCall
from stepwire.engine.upkeep import Intervals
from stepwire.errors import StartRefused, StartUnclear, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.json_text import write
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.limiter import Limits
from stepwire.tasks.outcomes import Aborted, ExecutionState, Succeeded
from stepwire.tasks.task import Completed, Execution, Failed, Origin, Task
from tests.fakes import nothing
from tests.kits import ALICE, ARGUMENTS, BOTH_MODES, CONFIRMED, OUTPUT, World

INTERVAL = timedelta(minutes=15)


def sweep_of(world: World) -> Sweep:
    return Sweep(world.sweeping(INTERVAL))


def unchecked_since(world: World) -> Task:
    """Call a tool, and let time pass without a check."""
    task = world.call()
    world.clock.time += INTERVAL
    return task


def test_an_end_whose_event_was_lost_is_found() -> None:
    world = World()
    task = unchecked_since(world)
    world.workflows.end(task.execution, Succeeded(write(OUTPUT)))

    swept = sweep_of(world).run()

    assert swept == Swept(1, 0, is_done=True)
    assert isinstance(world.store.tasks[task.key].status, Completed)
    assert world.store.usage[ALICE].active == frozenset()
    assert AuditAction.ENDED in [entry.action for entry in world.audit]


def test_a_workflow_that_was_never_started_is_started_once() -> None:
    world = World()
    world.workflows.start_fault = StartUnclear("no answer")
    task = unchecked_since(world)
    world.workflows.start_fault = None

    sweep_of(world).run()
    world.clock.time += INTERVAL
    sweep_of(world).run()

    assert world.workflows.running() == (task.execution,)


def test_a_task_that_is_read_is_left_to_its_readers() -> None:
    world = World(intervals=Intervals(timedelta(minutes=1), timedelta()))
    task = unchecked_since(world)
    world.operations.get(ALICE, task.task_id)

    assert sweep_of(world).run().checked == 0


def test_a_running_task_is_checked_once_per_interval() -> None:
    world = World()
    unchecked_since(world)

    looked_after = [sweep_of(world).run().checked for _ in range(2)]

    assert looked_after == [1, 0]


def test_an_old_task_is_checked_at_the_same_interval() -> None:
    world = World()
    task = world.call(ttl_ms=24 * 3_600_000)
    world.clock.advance(hours=8)
    sweep_of(world).run()
    world.workflows.succeed(task.execution, OUTPUT)  # its event is lost
    world.clock.time += INTERVAL

    sweep_of(world).run()

    assert isinstance(world.stored(task).status, Completed)


def test_an_undelivered_answer_is_delivered() -> None:
    world = World()
    task = world.call()
    token = world.ask(task.task_id)
    world.workflows.is_available = False
    world.answers.respond(ALICE, task.task_id, {"approval": {"action": "accept", "content": {"amount": 7}}})
    world.workflows.is_available = True
    world.clock.time += INTERVAL

    sweep_of(world).run()

    assert [one.token for one in world.workflows.resumptions] == [token]


def test_an_expired_task_is_stopped_and_deleted_before_dynamodb_does_so() -> None:
    world = World()
    task = world.call()
    world.clock.time += task.ttl
    world.audit.clear()

    sweep_of(world).run()

    assert world.workflows.states[task.execution] == Aborted()
    assert (world.store.tasks, world.store.usage[ALICE].active) == ({}, frozenset())
    assert [entry.action for entry in world.audit] == [AuditAction.EXPIRED]


def test_an_unconfirmed_task_is_not_checked() -> None:
    world = World()
    assert CONFIRMED.confirmation is not None
    world.calls.begin(ToolCall(ALICE, CONFIRMED, ARGUMENTS, None, Origin(BOTH_MODES)), CONFIRMED.confirmation)
    world.clock.time += INTERVAL

    assert sweep_of(world).run().checked == 0


def test_an_execution_that_began_for_one_request_and_was_refused_to_another_is_stopped() -> None:
    """Permissions do not change everywhere at once: of two requests that start one execution, one may be denied."""
    world = World()
    assert CONFIRMED.confirmation is not None
    task = world.calls.begin(
        ToolCall(ALICE, CONFIRMED, ARGUMENTS, None, Origin(BOTH_MODES)), CONFIRMED.confirmation
    ).task
    world.workflows.start(task.execution, "{}")  # by the other request
    world.workflows.start_fault = StartRefused("this server may not start its state machine")
    world.answers.respond(ALICE, task.task_id, {"confirm": {"action": "accept", "content": {"reason": "tidy up"}}})
    assert isinstance(world.stored(task).status, Failed)
    world.clock.time += INTERVAL

    sweep_of(world).run()

    assert world.workflows.running() == ()
    assert not world.stored(task).needs_checks


# T23: the caller cancels between the write and the start, when there is nothing to stop.
def test_an_execution_that_began_as_its_task_was_cancelled_is_stopped() -> None:
    world = World()

    def cancel() -> None:
        (key,) = world.store.tasks
        world.operations.cancel(ALICE, key.task_id)

    world.workflows.on_start = cancel
    task = world.call()
    world.workflows.on_start = nothing
    began = world.workflows.running()
    world.clock.time += INTERVAL

    looked_at = [sweep_of(world).run().checked for _ in range(2)]

    assert began == (task.execution,)
    assert world.workflows.running() == ()
    assert looked_at == [1, 0]
    assert world.store.usage[ALICE].active == frozenset()
    assert [entry.action for entry in world.audit].count(AuditAction.ENDED) == 1


def test_an_execution_that_began_as_its_task_was_cancelled_is_stopped_when_that_expires_first() -> None:
    world = World()
    world.workflows.on_start = lambda: (world.operations.cancel(ALICE, next(iter(world.store.tasks)).task_id), None)[1]
    task = world.call()

    world.expirations.record(world.stored(task))

    assert world.workflows.running() == ()


def test_the_fault_of_one_task_does_not_stop_the_others() -> None:
    world = World()
    first, *_ = tasks = [world.call() for _ in range(3)]
    world.clock.time += first.ttl
    stop = world.workflows.stop

    def stop_others(execution: Execution, cause: str) -> bool:
        if execution == first.execution:
            raise WorkflowsUnavailable
        return stop(execution, cause)

    world.workflows.stop = stop_others
    sweep_of(world).run()
    left = list(world.store.tasks)
    world.workflows.stop = stop
    sweep_of(world).run()

    assert (left, world.store.tasks) == ([tasks[0].key], {})
    assert [type(fault) for fault in world.troubles] == [WorkflowsUnavailable]


# ------------------------------------------------------------------------------------- many tasks, and few looks (B10)

MANY = Limits(active=100_000, per_minute=60_000)
BUDGET = timedelta(minutes=14)


def many(count: int) -> tuple[World, list[Task]]:
    """Call a tool this many times, and let time pass without a check."""
    world = World(limits=MANY)
    tasks = [world.call() for _ in range(count)]
    world.clock.time += INTERVAL
    return world, tasks


def end_unheard(world: World, tasks: list[Task]) -> None:
    for task in tasks:
        world.workflows.end(task.execution, Succeeded(write(OUTPUT)))


def unfinished(world: World) -> int:
    return sum(not task.has_ended for task in world.store.tasks.values())


def test_running_executions_are_listed_and_not_described_one_by_one() -> None:
    world, tasks = many(1_000)
    end_unheard(world, tasks[::100])
    world.clock.slept.clear()

    swept = sweep_of(world).run(world.clock.now() + BUDGET)

    assert unfinished(world) == 990
    assert (swept.is_done, world.clock.slept) == (True, [])
    assert len(world.workflows.described) <= MOST_SINGLE_CHECKS + 10
    assert len(world.workflows.listed) == 1


def test_a_run_continues_until_its_deadline() -> None:
    """The number of tasks in a run has no fixed limit."""
    world, tasks = many(1_000)
    end_unheard(world, tasks)

    swept = sweep_of(world).run(world.clock.now() + BUDGET)

    assert (unfinished(world), swept.is_done) == (0, True)


def test_a_run_leaves_most_of_the_quota_to_readers() -> None:
    world, tasks = many(1_000)
    end_unheard(world, tasks)
    began, made = world.clock.now(), list[timedelta]()
    describe = world.workflows.describe

    def noted(execution: Execution) -> ExecutionState:
        made.append(world.clock.now() - began)
        return describe(execution)

    world.workflows.describe = noted
    sweep_of(world).run(began + BUDGET)

    assert sum(at == timedelta() for at in made) <= CHECK_BURST
    assert all(later - at >= timedelta(seconds=0.9) for at, later in zip(made[60:], made[65:], strict=False))


def test_the_next_run_continues_where_the_last_one_stopped() -> None:
    world, tasks = many(1_000)
    end_unheard(world, tasks)
    runs = list[bool]()

    while unfinished(world):
        deadline = world.clock.now() + timedelta(seconds=60)
        runs.append(sweep_of(world).run(deadline).is_done)
        assert world.clock.now() <= deadline + timedelta(seconds=1)

    assert len(runs) == 3  # a burst of 50, then 5 a second
    assert runs == [False, False, True]


def test_running_tasks_do_not_delay_the_others() -> None:
    """Running tasks keep their place in the list: without a bookmark, each run would end among them."""
    world, tasks = many(500)
    end_unheard(world, tasks[400:])
    slow = world.store.load_all

    def load_all(keys: Sequence[TaskKey]) -> dict[TaskKey, Task]:
        world.clock.advance(seconds=0.8 * len(keys))
        return slow(keys)

    world.store.load_all = load_all
    runs = 0

    while any(not world.stored(task).has_ended for task in tasks[400:]):
        runs += 1
        sweep_of(world).run(world.clock.now() + timedelta(seconds=300))
        assert runs < 5

    assert runs == 2


def test_a_bookmark_is_deleted_at_the_end_of_the_list() -> None:
    world, _ = many(150)
    world.store.kept_bookmark = None
    now = world.clock.now()

    first = sweep_of(world).run(now)
    left_at = world.store.kept_bookmark
    second = sweep_of(world).run(now + BUDGET)

    assert (first.is_done, second.is_done) == (False, True)
    assert (left_at, world.store.kept_bookmark) == (None, None)


def test_an_answer_to_a_workflow_that_is_listed_as_running_is_delivered() -> None:
    world, tasks = many(10)
    token = world.ask(tasks[-1].task_id)
    world.workflows.is_available = False
    world.answers.respond(ALICE, tasks[-1].task_id, {"approval": {"action": "accept", "content": {"amount": 7}}})
    world.workflows.is_available = True

    sweep_of(world).run()

    assert [one.token for one in world.workflows.resumptions] == [token]


def test_an_expired_task_is_stopped_even_if_listed_as_running() -> None:
    world, tasks = many(10)
    world.clock.time += tasks[0].ttl

    sweep_of(world).run()

    assert (world.workflows.running(), world.store.tasks) == ((), {})


@pytest.mark.parametrize("outage", ["throttled", "silent"])
def test_without_a_list_executions_are_described_one_by_one(outage: str) -> None:
    world, tasks = many(10)
    end_unheard(world, tasks)

    def refuse(state_machine_arn: str) -> Iterable[frozenset[str]]:
        raise {"throttled": WorkflowsThrottled, "silent": WorkflowsUnavailable}[outage]

    world.workflows.list_running = refuse
    sweep_of(world).run()

    assert unfinished(world) == 0
    assert len(world.troubles) == 1


def test_what_was_listed_before_a_fault_is_passed_over() -> None:
    world, tasks = many(10)
    all_of = world.workflows.list_running

    def break_off(state_machine_arn: str) -> Iterable[frozenset[str]]:
        (names,) = all_of(state_machine_arn)
        yield frozenset(sorted(names)[:6])
        raise WorkflowsThrottled

    world.workflows.list_running = break_off
    swept = sweep_of(world).run()

    assert (swept.checked + swept.running, len(world.troubles)) == (len(tasks), 1)
    assert swept.running >= 6 - MOST_SINGLE_CHECKS


def test_a_page_of_tasks_that_run_is_one_read_and_without_it_each_is_read_by_itself() -> None:
    world, tasks = many(10)
    world.store.calls.clear()

    sweep_of(world).run()
    together = world.store.calls.count("load")
    world.clock.time += INTERVAL
    world.store.load_all = lambda _keys: 1 / 0  # pyright: ignore[reportAttributeAccessIssue] - any fault
    world.store.calls.clear()
    swept = sweep_of(world).run()

    assert together == MOST_SINGLE_CHECKS
    assert world.store.calls.count("load") == swept.checked + swept.running == len(tasks)


def test_lists_are_asked_for_at_a_pace_of_their_own() -> None:
    world, _ = many(60)
    world.workflows.listed_at_once = 1
    began = world.clock.time

    swept = sweep_of(world).run()

    assert swept.running == 60 - MOST_SINGLE_CHECKS
    assert world.clock.time - began >= timedelta(seconds=(60 - LIST_BURST) / LISTS_PER_SECOND - 1)
