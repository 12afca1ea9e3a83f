"""Reading a task: steady, overdue, unknown; and waiting for its end."""

from datetime import timedelta

import pytest

from stepwire.engine.upkeep import Intervals
from stepwire.errors import UnknownTask
from stepwire.json_text import write
from stepwire.server.results import has_ended
from stepwire.server.services import Patience
from stepwire.tasks.outcomes import (
    Aborted,
    ExecutionEnd,
    ExecutionFailed,
    Succeeded,
    TimedOut,
    event_of,
)
from stepwire.tasks.task import Completed, Task, Working
from tests.fake_workflows import Start
from tests.kits import ALICE, ARGUMENTS, OUTPUT, TELLING, World

REPAIR_AFTER = Intervals().repair
INPUT = write(ARGUMENTS)


class TestGet:
    def test_of_a_task_in_its_steady_state_is_one_read(self) -> None:
        world = World()
        task = world.call()
        world.store.calls.clear()

        world.operations.get(ALICE, task.task_id)

        assert world.store.calls == ["load"]
        assert world.workflows.described == []

    def test_of_a_finished_task_is_one_read_however_old_it_is(self) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, OUTPUT)
        world.clock.advance(minutes=59)
        world.store.calls.clear()

        world.operations.get(ALICE, task.task_id)

        assert world.store.calls == ["load"]
        assert world.workflows.described == []

    @pytest.mark.parametrize(
        "end",
        [
            Succeeded(write(OUTPUT)),
            ExecutionFailed("E", "why"),
            TimedOut(),
            Aborted(),
            ExecutionFailed("Stepwire.ProtocolError", "{}"),
        ],
    )
    def test_repairs_a_task_whose_end_was_never_reported(self, end: ExecutionEnd) -> None:
        """T13, X10: events are best effort."""
        world, reported = World(), World()
        task = world.overdue()
        world.workflows.end(task.execution, end)
        expected = reported.recorder.record(reported.call(), event_of(end, None))
        assert expected is not None

        after = world.operations.get(ALICE, task.task_id)

        assert after.status == expected.status
        assert after == world.stored(task)

    def test_repairs_a_task_whose_start_was_lost_in_a_crash(self) -> None:
        """X8: written, never started, and the process died."""
        world = World()
        task = world.overdue()
        world.workflows.states.clear()

        world.operations.get(ALICE, task.task_id)

        assert world.workflows.starts[-1] == Start(task.execution, INPUT)
        assert world.workflows.running() == (task.execution,)

    def test_calls_step_functions_once_per_interval_for_all_readers(self) -> None:
        world = World()
        task = world.overdue()

        for _ in range(5):
            world.operations.get(ALICE, task.task_id)
            world.clock.advance(seconds=1)

        assert world.workflows.described == [task.execution]

    def test_calls_step_functions_again_after_the_interval(self) -> None:
        world = World()
        task = world.overdue()

        world.operations.get(ALICE, task.task_id)
        world.clock.time += REPAIR_AFTER
        world.operations.get(ALICE, task.task_id)

        assert len(world.workflows.described) == 2

    def test_of_two_concurrent_readers_both_return_the_end_that_one_has_recorded(self) -> None:
        world = World()
        task = world.overdue()
        world.workflows.succeed(task.execution, OUTPUT)
        others: list[Task] = []
        world.store.before_save = lambda: others.append(world.operations.get(ALICE, task.task_id))

        mine = world.operations.get(ALICE, task.task_id)

        assert isinstance(mine.status, Completed)
        assert others == [mine]
        assert world.stored(task) == mine

    def test_is_one_write_whatever_it_finds(self) -> None:
        world = World()
        task = world.overdue(TELLING)
        world.workflows.current_states[task.execution] = "Counting"

        world.operations.get(ALICE, task.task_id)
        with_a_state = list(world.store.calls)
        world.clock.time += REPAIR_AFTER
        world.store.calls.clear()
        world.operations.get(ALICE, task.task_id)

        assert with_a_state == world.store.calls == ["load", "save"]

    @pytest.mark.parametrize(
        ("age", "interval"),
        [(timedelta(0), 60), (timedelta(minutes=20), 60), (timedelta(hours=1), 180), (timedelta(days=1), 4_320)],
    )
    def test_of_an_old_task_calls_step_functions_less_often(self, age: timedelta, interval: int) -> None:
        task = World().call()

        assert Intervals().of(task, task.created_at + age, shows_state=False) == timedelta(seconds=interval)

    def test_returns_the_recorded_state_while_step_functions_is_unavailable(self) -> None:
        world = World()
        task = world.overdue()
        world.workflows.is_available = False

        after = world.operations.get(ALICE, task.task_id)

        assert after.status == Working()

    def test_keeps_the_last_update_when_a_check_finds_nothing_new(self) -> None:
        """T11: the task did not change."""
        world = World()
        task = world.overdue()

        after = world.operations.get(ALICE, task.task_id)

        assert after.last_updated_at == task.last_updated_at

    def test_of_a_malformed_id_never_reaches_the_store(self) -> None:
        world = World()

        with pytest.raises(UnknownTask):
            world.operations.get(ALICE, "../other")

        assert world.store.calls == []


def waited(world: World, task: Task) -> Task:
    """Follow a task until it ends or the wait is over."""
    return list(world.operations.watch(task, world.patience.unresumable_request, has_ended))[-1]


class TestFollow:
    def test_of_an_ended_task_ends_at_once(self) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, OUTPUT)

        waited(world, world.stored(task))

        assert world.clock.slept == []

    def test_ends_when_the_task_ends(self) -> None:
        """T15."""
        world = World()
        task = world.call()
        naps = iter(range(3))

        def meanwhile() -> None:
            if next(naps) == 2:
                world.succeed(task.task_id, OUTPUT)

        world.clock.on_sleep = meanwhile

        after = waited(world, task)

        assert isinstance(after.status, Completed)
        assert len(world.clock.slept) == 3

    @pytest.mark.parametrize("seconds", [0, 0.05, 1, 20, 25])
    def test_ends_when_patience_runs_out(self, seconds: float) -> None:
        """T15, K8: API Gateway ends at 30 seconds."""
        world = World(patience=Patience(unresumable_request=timedelta(seconds=seconds)))
        task = world.call()

        after = waited(world, task)

        assert after.status == Working()
        assert sum(world.clock.slept) == pytest.approx(seconds)

    def test_polls_often_at_first_and_once_a_second_later(self) -> None:
        world = World()

        waited(world, world.call())

        assert world.clock.slept[:5] == [0.1, 0.2, 0.4, 0.8, 1.0]
        assert max(world.clock.slept) == 1.0

    def test_sees_an_end_that_arrives_with_the_last_read(self) -> None:
        world = World(patience=Patience(unresumable_request=timedelta(seconds=0.1)))
        task = world.call()
        world.clock.on_sleep = lambda: world.succeed(task.task_id, OUTPUT)

        after = waited(world, task)

        assert isinstance(after.status, Completed)

    def test_ends_when_the_task_expires(self) -> None:
        world = World()
        task = world.call()
        world.clock.on_sleep = lambda: world.clock.advance(hours=1)

        with pytest.raises(UnknownTask):
            waited(world, task)


class TestPage:
    def test_leaves_out_what_has_expired(self) -> None:
        """T20: what tasks/get does not find is not listed."""
        world = World()
        world.call()
        lasting = world.call(ttl_ms=7_200_000)
        world.clock.advance(hours=1)

        assert world.operations.page(ALICE, None).tasks == (lasting,)

    def test_costs_one_read_and_no_call_to_step_functions(self) -> None:
        world = World()
        world.overdue()

        world.operations.page(ALICE, None)

        assert world.store.calls == ["page"]
        assert world.workflows.described == []
