"""How tasks end: cancelled, answered, or both at once."""

import pytest

from stepwire.engine.upkeep import Intervals
from stepwire.errors import (
    InternalError,
    PartMissing,
    StartRefused,
    StopRefused,
    UnknownTask,
    WorkflowNotStopped,
    WorkflowsUnavailable,
)
from stepwire.json_text import JsonObject
from stepwire.tasks.events import WorkCompleted
from stepwire.tasks.outcomes import Missing
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    Failed,
    ResultElsewhere,
    ResultInExecution,
    TaskError,
    ToolResult,
    Working,
)
from tests.fakes import LARGE
from tests.kits import ALICE, OUTPUT, STRUCTURED, World, catalog_of

REPAIR_AFTER = Intervals().repair
LARGE_OUTPUT = {"answer": 42, "text": "x" * LARGE}


class TestCancel:
    def test_costs_a_read_a_stop_and_two_writes(self) -> None:
        world = World()
        task = world.call()
        world.store.calls.clear()

        world.operations.cancel(ALICE, task.task_id)

        assert world.store.calls == ["load", "save", "release"]
        assert world.workflows.described == []

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

    @pytest.mark.parametrize(("output", "is_error"), [(LARGE_OUTPUT, False), ({"answer": "x" * LARGE}, True)])
    def test_a_large_result_is_read_when_it_is_asked_for(self, output: JsonObject, *, is_error: bool) -> None:
        """T14, X11, M36: nothing is lost, and its terms apply."""
        world = World()
        task = world.call(STRUCTURED)
        world.succeed(task.task_id, output)
        stored = world.stored(task)

        answer = world.operations.result_of(stored)

        assert isinstance(stored.status, Completed)
        assert isinstance(stored.status.result, ResultElsewhere)
        assert isinstance(answer, ToolResult)
        assert stored.status.result.is_error == answer.is_error == is_error
        assert is_error or answer.value()["structuredContent"] == LARGE_OUTPUT
        assert world.workflows.described == []

    def test_a_result_that_somebody_deleted_is_an_error(self) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, LARGE_OUTPUT)
        world.store.results.clear()

        with pytest.raises(PartMissing):
            world.operations.result_of(world.stored(task))

    def test_a_result_that_was_left_in_its_execution_is_fetched(self) -> None:
        world = World()
        task = world.call(STRUCTURED)
        world.workflows.succeed(task.execution, LARGE_OUTPUT)
        ended = world.recorder.record(task, WorkCompleted(ResultInExecution(is_error=False)))
        assert ended is not None

        answer = world.operations.result_of(ended)

        assert isinstance(answer, ToolResult)
        assert answer.value()["structuredContent"] == LARGE_OUTPUT

    @pytest.mark.parametrize(
        ("is_there", "error", "words"),
        [
            (True, WorkflowsUnavailable, None),
            (False, InternalError, "The result was not stored with the task, and Step Functions no longer has it."),
        ],
    )
    def test_a_result_that_is_not_to_be_had_from_its_execution_is_an_error(
        self, error: type[Exception], words: str | None, *, is_there: bool
    ) -> None:
        world = World()
        ended = world.recorder.record(world.call(), WorkCompleted(ResultInExecution(is_error=False)))
        assert ended is not None
        world.workflows.states[ended.execution] = Missing()
        world.workflows.is_available = not is_there

        with pytest.raises(error, match=words):
            world.operations.result_of(ended)

    def test_a_protocol_error_is_returned_unchanged(self) -> None:
        """X12, T14."""
        world = World()
        task = world.call()
        world.fail(task.task_id, "Stepwire.ProtocolError", '{"code":4711,"message":"Not today"}')

        assert world.operations.result_of(world.stored(task)) == TaskError(4711, "Not today")


def test_tasks_of_a_tool_that_was_removed_still_end() -> None:
    """The task contains everything that is needed to interpret its end."""
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
