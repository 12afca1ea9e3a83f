"""How tasks end: cancelled, answered, or both at once."""

import pytest

from stepwire.engine.upkeep import Intervals
from stepwire.errors import (
    InternalError,
    StartRefused,
    StopRefused,
    TaskAlreadyEnded,
    UnknownTask,
    WorkflowNotStopped,
    WorkflowsUnavailable,
)
from stepwire.json_text import write
from stepwire.tasks.outcomes import LARGEST_INLINE_RESULT, Aborted, Missing, Running, Succeeded, event_of
from stepwire.tasks.task import Cancelled, Completed, Failed, ResultInExecution, TaskError, ToolResult, Working
from tests.fake_workflows import Stop
from tests.kits import ALICE, BOB, OUTPUT, STRUCTURED, World, catalog_of

REPAIR_AFTER = Intervals().repair
LARGE_OUTPUT = {"answer": 42, "text": "x" * LARGEST_INLINE_RESULT}


class TestCancel:
    def test_stops_the_work_and_records_it_before_the_answer(self) -> None:
        """T23."""
        world = World()
        task = world.call()

        after = world.operations.cancel(ALICE, task.task_id)

        assert isinstance(after.status, Cancelled)
        assert after == world.stored(task)
        assert world.workflows.stops == [Stop(task.execution, "Cancelled by the caller.")]
        assert world.workflows.states[task.execution] == Aborted()

    def test_costs_a_read_a_stop_and_two_writes(self) -> None:
        world = World()
        task = world.call()
        world.store.calls.clear()

        world.operations.cancel(ALICE, task.task_id)

        assert world.store.calls == ["load", "save", "release"]
        assert world.workflows.described == []

    def test_is_final_even_if_the_work_finishes_later(self) -> None:
        """T23, X30."""
        world = World()
        task = world.call()
        cancelled = world.operations.cancel(ALICE, task.task_id)
        world.workflows.states[task.execution] = Running()
        world.succeed(task.task_id, OUTPUT)

        assert world.stored(task) == cancelled

    def test_of_an_ended_task_is_refused_and_stops_nothing(self) -> None:
        """T22, X20."""
        world = World()
        task = world.call()
        world.succeed(task.task_id, OUTPUT)

        with pytest.raises(TaskAlreadyEnded):
            world.operations.cancel(ALICE, task.task_id)

        assert world.workflows.stops == []
        assert isinstance(world.stored(task).status, Completed)

    def test_that_loses_the_race_with_an_end_is_refused(self) -> None:
        """T22, T10: the end is saved between the cancel's read and its write."""
        world = World()
        task = world.call()
        event = event_of(Succeeded(write(OUTPUT)), None)
        world.store.before_save = lambda: world.recorder.record(task, event)

        with pytest.raises(TaskAlreadyEnded):
            world.operations.cancel(ALICE, task.task_id)

        assert isinstance(world.stored(task).status, Completed)

    def test_overtaken_by_its_own_abort_event_succeeds(self) -> None:
        """T23: EventBridge may be faster than the cancel's own write."""
        world = World()
        task = world.call()
        world.store.before_save = world.deliver

        after = world.operations.cancel(ALICE, task.task_id)

        assert isinstance(after.status, Cancelled)

    def test_twice_at_the_same_time_succeeds_twice(self) -> None:
        world = World()
        task = world.call()
        world.store.before_save = lambda: world.operations.cancel(ALICE, task.task_id)

        after = world.operations.cancel(ALICE, task.task_id)

        assert isinstance(after.status, Cancelled)

    def test_of_a_task_deleted_meanwhile_is_an_unknown_task(self) -> None:
        world = World()
        task = world.call()
        world.store.before_save = lambda: world.store.delete(task)

        with pytest.raises(UnknownTask):
            world.operations.cancel(ALICE, task.task_id)

    def test_of_a_task_that_never_started_keeps_it_from_starting(self) -> None:
        world = World()
        task = world.overdue()
        world.workflows.states.clear()
        world.operations.cancel(ALICE, task.task_id)
        world.clock.time += REPAIR_AFTER

        after = world.operations.get(ALICE, task.task_id)

        assert isinstance(after.status, Cancelled)
        assert world.workflows.running() == ()

    def test_of_a_foreign_task_is_an_unknown_task_and_stops_nothing(self) -> None:
        """X28, T24."""
        world = World()
        task = world.call(owner=BOB)

        with pytest.raises(UnknownTask):
            world.operations.cancel(ALICE, task.task_id)

        assert world.workflows.running() == (task.execution,)


class TestAnswerOf:
    def test_a_small_result_needs_no_further_call(self) -> None:
        """T14."""
        world = World()
        task = world.call()
        world.succeed(task.task_id, OUTPUT)
        world.store.calls.clear()

        answer = world.operations.result_of(world.stored(task))

        assert isinstance(answer, ToolResult)
        assert answer.value()["structuredContent"] == OUTPUT
        assert (world.store.calls, world.workflows.described) == ([], [])

    def test_a_result_too_large_for_the_item_is_fetched(self) -> None:
        """T14, X11: nothing is lost."""
        world = World()
        task = world.call(STRUCTURED)
        world.succeed(task.task_id, LARGE_OUTPUT)
        stored = world.stored(task)

        answer = world.operations.result_of(stored)

        assert stored.status == Completed(ResultInExecution(is_error=False))
        assert isinstance(answer, ToolResult)
        assert answer.value()["structuredContent"] == LARGE_OUTPUT

    def test_a_large_result_that_violates_its_schema_is_fetched_as_an_error(self) -> None:
        """M36."""
        world = World()
        task = world.call(STRUCTURED)
        world.succeed(task.task_id, {"answer": "x" * LARGEST_INLINE_RESULT})
        stored = world.stored(task)

        answer = world.operations.result_of(stored)

        assert isinstance(stored.status, Completed)
        assert stored.status.result == ResultInExecution(is_error=True)
        assert isinstance(answer, ToolResult)
        assert answer.is_error

    def test_a_large_result_that_step_functions_no_longer_has_is_an_internal_error(self) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, LARGE_OUTPUT)
        world.workflows.states[task.execution] = Missing()

        with pytest.raises(InternalError):
            world.operations.result_of(world.stored(task))

    def test_a_large_result_cannot_be_fetched_while_step_functions_is_unavailable(self) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, LARGE_OUTPUT)
        world.workflows.is_available = False

        with pytest.raises(WorkflowsUnavailable):
            world.operations.result_of(world.stored(task))

    def test_a_protocol_error_is_returned_unchanged(self) -> None:
        """X12, T14."""
        world = World()
        task = world.call()
        world.fail(task.task_id, "Stepwire.ProtocolError", '{"code":4711,"message":"Not today"}')

        assert world.operations.result_of(world.stored(task)) == TaskError(4711, "Not today")


def test_a_tool_that_is_gone_from_the_catalog_still_ends_its_tasks() -> None:
    """Whatever is needed to understand the end is in the task."""
    world = World()
    task = world.call(STRUCTURED)
    later = World(catalog=catalog_of(), store=world.store, workflows=world.workflows, clock=world.clock)

    later.succeed(task.task_id, {"answer": "42"})

    assert isinstance(later.stored(task).status, Completed)
    assert later.operations.get(ALICE, task.task_id) == later.stored(task)


def test_a_cancel_that_step_functions_refuses_leaves_the_task_and_says_why() -> None:
    world = World()
    task = world.call()
    world.workflows.stop_fault = StopRefused("this server may not stop it")

    with pytest.raises(WorkflowNotStopped, match="The task goes on: this server may not stop it"):
        world.operations.cancel(ALICE, task.task_id)

    assert world.stored(task).status == Working()
    assert [type(trouble) for trouble in world.troubles] == [StopRefused]


def test_the_task_of_a_state_machine_that_was_removed_ends_in_words() -> None:
    world = World()
    task = world.overdue()
    world.workflows.states.clear()
    world.workflows.start_fault = StartRefused("its state machine no longer exists")

    ended = world.operations.get(ALICE, task.task_id)

    assert isinstance(ended.status, Failed)
    assert "its state machine no longer exists" in ended.status.error.message
