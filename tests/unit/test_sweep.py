"""The tasks that nobody reads: repaired by the sweep, without any client."""

from datetime import timedelta

from stepwire.audit import Action
from stepwire.errors import StartUnclear, WorkflowsUnavailable
from stepwire.expirations import Expirations
from stepwire.json_text import write
from stepwire.operations import ToolCall
from stepwire.sweep import MOST_PER_RUN, Sweep
from stepwire.tasks.outcomes import Aborted, Succeeded
from stepwire.tasks.task import Completed, Execution, Origin, Task
from stepwire.tasks.usage import Limits
from stepwire.upkeep import Intervals, Upkeep
from tests.fakes import nothing
from tests.kits import ALICE, ARGUMENTS, BOTH_MODES, CONFIRMED, OUTPUT, World

INTERVAL = timedelta(minutes=15)


def sweep_of(world: World) -> Sweep:
    return Sweep(
        world.recorder,
        Upkeep(world.recorder, world.workflows, Intervals(INTERVAL, timedelta()), world.troubles.append),
        Expirations(world.store, world.workflows, world.audit.append),
        INTERVAL,
        world.faults.append,
    )


def neglected(world: World) -> Task:
    """Call a tool, and let nobody look after it."""
    task = world.call()
    world.clock.time += INTERVAL
    return task


def test_an_end_that_was_never_told_is_found() -> None:
    world = World()
    task = neglected(world)
    world.workflows.end(task.execution, Succeeded(write(OUTPUT)))

    looked_after = sweep_of(world).run()

    assert looked_after == 1
    assert isinstance(world.store.tasks[task.key].status, Completed)
    assert world.store.usage[ALICE].active == frozenset()
    assert Action.ENDED in [entry.action for entry in world.audit]


def test_a_workflow_that_never_began_is_started_once() -> None:
    world = World()
    world.workflows.start_fault = StartUnclear("no answer")
    task = neglected(world)
    world.workflows.start_fault = None

    sweep_of(world).run()
    world.clock.time += INTERVAL
    sweep_of(world).run()

    assert world.workflows.running() == (task.execution,)


def test_a_task_that_is_read_is_left_to_its_readers() -> None:
    world = World(intervals=Intervals(timedelta(minutes=1), timedelta()))
    task = neglected(world)
    world.operations.get(ALICE, task.task_id)

    assert sweep_of(world).run() == 0


def test_a_task_that_goes_on_is_looked_at_once_an_interval() -> None:
    world = World()
    neglected(world)

    looked_after = [sweep_of(world).run() for _ in range(2)]

    assert looked_after == [1, 0]


def test_an_answer_that_was_never_delivered_is() -> None:
    world = World()
    task = world.call()
    token = world.ask(task.task_id)
    world.workflows.is_available = False
    world.dialogue.respond(ALICE, task.task_id, {"approval": {"action": "accept", "content": {"amount": 7}}})
    world.workflows.is_available = True
    world.clock.time += INTERVAL

    sweep_of(world).run()

    assert [one.token for one in world.workflows.resumptions] == [token]


def test_an_expired_task_is_stopped_and_goes_before_dynamodb_removes_it() -> None:
    world = World()
    task = world.call()
    world.clock.time += task.ttl
    world.audit.clear()

    sweep_of(world).run()

    assert world.workflows.states[task.execution] == Aborted()
    assert (world.store.tasks, world.store.usage[ALICE].active) == ({}, frozenset())
    assert [entry.action for entry in world.audit] == [Action.EXPIRED]


def test_a_task_that_waits_for_a_confirmation_is_left_alone() -> None:
    world = World()
    assert CONFIRMED.confirmation is not None
    world.operations.ask_first(ToolCall(ALICE, CONFIRMED, ARGUMENTS, None, Origin(BOTH_MODES)), CONFIRMED.confirmation)
    world.clock.time += INTERVAL

    assert sweep_of(world).run() == 0


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

    looked_at = sweep_of(world).run(), sweep_of(world).run()

    assert began == (task.execution,)
    assert world.workflows.running() == ()
    assert looked_at == (1, 0)
    assert world.store.usage[ALICE].active == frozenset()
    assert [entry.action for entry in world.audit].count(Action.ENDED) == 1


def test_an_execution_that_began_as_its_task_was_cancelled_is_stopped_when_that_expires_first() -> None:
    world = World()
    world.workflows.on_start = lambda: (world.operations.cancel(ALICE, next(iter(world.store.tasks)).task_id), None)[1]
    task = world.call()

    Expirations(world.store, world.workflows).record(world.stored(task))

    assert world.workflows.running() == ()


def test_one_tasks_fault_is_no_others() -> None:
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
    assert [type(fault) for fault in world.faults] == [WorkflowsUnavailable]


def test_a_run_has_a_bound_and_the_next_goes_on() -> None:
    world = World(limits=Limits(active=1_000, per_minute=60_000))
    for _ in range(MOST_PER_RUN + 1):
        world.call()
    world.clock.time += INTERVAL

    assert [sweep_of(world).run() for _ in range(3)] == [MOST_PER_RUN, 1, 0]
