"""What readers do besides reading: deliver undelivered answers, and look up the current state, rarely and once."""

from datetime import timedelta

import pytest

from stepwire.engine.upkeep import Intervals
from stepwire.errors import WorkflowsUnavailable
from stepwire.json_text import JsonObject
from stepwire.tasks.answers import Action, Given, InputResponse
from stepwire.tasks.events import Answered
from stepwire.tasks.outcomes import Running
from stepwire.tasks.task import Completed, ItemCount, Progress, Task, Working
from tests.fake_workflows import Resumption
from tests.kits import ALICE, OPTIONAL, OUTPUT, TELLING, World

STATE_AFTER = Intervals().state
REPAIR_AFTER = Intervals().repair
YES: JsonObject = {"action": "accept", "content": {"amount": 25}}
DELIVERED = Resumption("token of approval", output='{"action":"accept","content":{"amount":25}}')


def undelivered(world: World) -> Task:
    """Return a task with a recorded answer whose process died before delivering it."""
    task = world.call()
    world.ask(task.task_id)
    answer = InputResponse(Action.ACCEPT, '{"amount":25}')
    recorded = world.recorder.record(world.stored(task), Answered({1: Given(ALICE, world.clock.now(), answer)}))
    assert recorded is not None
    world.store.calls.clear()
    return recorded


class TestDelivery:
    def test_happens_once_however_many_read(self) -> None:
        world = World()
        task = undelivered(world)

        for _ in range(3):
            world.operations.get(ALICE, task.task_id)

        assert world.workflows.resumptions == [DELIVERED]
        assert world.store.calls == ["load", "save", "load", "load"]

    def test_by_two_at_once_is_harmless(self) -> None:
        world = World()
        task = undelivered(world)
        world.store.before_save = lambda: world.operations.get(ALICE, task.task_id)

        world.operations.get(ALICE, task.task_id)

        assert world.workflows.resumptions == [DELIVERED]
        assert world.stored(task).inputs.undelivered == ()

    def test_to_a_state_that_no_longer_waits_counts_as_delivered(self) -> None:
        world = World()
        task = undelivered(world)
        world.workflows.waiting.clear()

        world.operations.get(ALICE, task.task_id)

        assert all(one.is_unclaimed for one in world.stored(task).inputs.undelivered)  # kept for a retry
        assert (world.workflows.resumptions, world.troubles) == ([], [])

    def test_is_postponed_and_reported_while_step_functions_is_unavailable(self) -> None:
        world = World()
        task = undelivered(world)
        world.workflows.is_available = False

        after = world.operations.get(ALICE, task.task_id)

        assert after == task
        assert [type(trouble) for trouble in world.troubles] == [WorkflowsUnavailable]
        world.workflows.is_available = True
        world.operations.get(ALICE, task.task_id)
        assert world.workflows.resumptions == [DELIVERED]

    def test_is_invisible_to_the_client(self) -> None:
        """T11: the task does not change."""
        world = World()
        task = undelivered(world)
        world.clock.advance(seconds=5)

        after = world.operations.get(ALICE, task.task_id)

        assert (after.status, after.last_updated_at) == (task.status, task.last_updated_at)

    def test_does_not_prevent_finding_a_lost_end(self) -> None:
        world = World()
        task = undelivered(world)
        world.workflows.succeed(task.execution, OUTPUT)
        world.clock.time += REPAIR_AFTER

        after = world.operations.get(ALICE, task.task_id)

        assert isinstance(after.status, Completed)


def in_state(world: World, name: str = "Counting") -> Task:
    """Call a tool that tells its state, and let time pass until somebody asks for it."""
    task = world.call(TELLING)
    world.workflows.current_states[task.execution] = name
    world.clock.time += STATE_AFTER
    world.store.calls.clear()
    return task


class TestTheStateThatRuns:
    def test_is_counted_again_at_most_once_per_interval_while_it_is_a_distributed_map(self) -> None:
        world = World()
        task = in_state(world, "Convert")
        seen: list[object] = []
        for done in (10, 20, 30):
            world.workflows.items[task.execution] = ItemCount(done, 100)
            seen += [world.operations.get(ALICE, task.task_id).progress for _ in range(2)]
            world.clock.time += STATE_AFTER

        assert seen == [Progress(done, 100, is_counted=True) for done in (10, 10, 20, 20, 30, 30)]
        assert len(world.workflows.looked_at) == 3

    def test_is_shown_without_reports_from_the_workflow(self) -> None:
        world = World()
        task = in_state(world)

        after = world.operations.get(ALICE, task.task_id)

        assert after.status == Working("The workflow is in its state Counting.")
        assert world.store.calls == ["load", "save"]
        assert world.workflows.described == []

    def test_is_read_at_most_once_per_interval(self) -> None:
        """K8, L9: one poll costs the same as one read."""
        world = World()
        task = in_state(world)

        for _ in range(5):
            world.operations.get(ALICE, task.task_id)
            world.clock.advance(seconds=1)

        assert world.workflows.looked_at == [task.execution]
        world.clock.time += STATE_AFTER
        world.operations.get(ALICE, task.task_id)
        assert world.workflows.looked_at == [task.execution] * 2

    def test_is_recorded_once_by_concurrent_readers(self) -> None:
        world = World()
        task = in_state(world)
        world.store.before_save = lambda: world.operations.get(ALICE, task.task_id)

        after = world.operations.get(ALICE, task.task_id)

        assert after == world.stored(task)
        assert after.version == task.version + 1

    def test_that_is_unchanged_is_no_update(self) -> None:
        """T11."""
        world = World()
        task = in_state(world)
        first = world.operations.get(ALICE, task.task_id)
        world.clock.time += STATE_AFTER

        second = world.operations.get(ALICE, task.task_id)

        assert (second.status, second.last_updated_at) == (first.status, first.last_updated_at)

    def test_is_shown_while_a_question_is_open(self) -> None:
        world = World()
        task = in_state(world, "AskForApproval")
        world.ask(task.task_id)

        after = world.operations.get(ALICE, task.task_id)

        assert len(after.input_requests) == 1
        assert after.status.message == "The workflow is in its state AskForApproval."

    def test_is_hidden_if_the_tool_hides_it(self) -> None:
        world = World()
        task = world.overdue(OPTIONAL)
        world.workflows.current_states[task.execution] = "Secret"

        after = world.operations.get(ALICE, task.task_id)

        assert after.status == Working()
        assert world.workflows.looked_at == []

    def test_is_not_read_when_the_workflow_reports_progress(self) -> None:
        world = World()
        task = in_state(world)
        world.progress(task.task_id, 40, message="reading")

        after = world.operations.get(ALICE, task.task_id)

        assert after.status == Working("reading")
        assert after.progress == Progress(40, 100)
        assert world.workflows.looked_at == []

    def test_is_not_read_with_an_interval_of_zero(self) -> None:
        world = World(intervals=Intervals(state=timedelta()))
        task = world.overdue(TELLING)

        world.operations.get(ALICE, task.task_id)

        assert world.workflows.looked_at == []
        assert world.workflows.described == [task.execution]

    def test_is_not_read_for_an_ended_task(self) -> None:
        world = World()
        task = in_state(world)
        world.succeed(task.task_id, OUTPUT)

        world.operations.get(ALICE, task.task_id)

        assert world.workflows.looked_at == []

    def test_is_unknown_and_no_error_while_step_functions_is_unavailable(self) -> None:
        world = World()
        task = in_state(world)
        world.workflows.is_available = False

        after = world.operations.get(ALICE, task.task_id)

        assert after.status == Working()
        assert [type(trouble) for trouble in world.troubles] == [WorkflowsUnavailable]

    def test_of_an_ended_execution_records_its_end(self) -> None:
        """X10: the look at the history finds what no event has brought."""
        world = World()
        task = in_state(world)
        world.workflows.succeed(task.execution, OUTPUT)

        after = world.operations.get(ALICE, task.task_id)

        assert isinstance(after.status, Completed)
        assert (world.workflows.looked_at, world.workflows.described) == ([task.execution], [task.execution])

    def test_of_an_execution_that_never_started_starts_it(self) -> None:
        """X8."""
        world = World()
        task = in_state(world)
        world.workflows.states.clear()

        world.operations.get(ALICE, task.task_id)

        assert world.workflows.states[task.execution] == Running()

    def test_is_read_soon_after_the_call_so_that_who_looks_reads_what_is_waited_for(self) -> None:
        world = World()
        task = world.call(TELLING)
        world.workflows.current_states[task.execution] = "Ask the manager by mail"
        world.clock.advance(seconds=9.999)
        before = world.operations.get(ALICE, task.task_id).status.message
        world.clock.advance(seconds=0.001)

        after = world.operations.get(ALICE, task.task_id).status.message

        assert before is None
        assert "Ask the manager by mail" in (after or "")
        assert world.workflows.looked_at == [task.execution]

    @pytest.mark.parametrize(("repair", "state", "due"), [(60, 30, 30), (20, 30, 20)])
    def test_is_read_after_the_shorter_of_both_intervals(self, repair: int, state: int, due: int) -> None:
        world = World(intervals=Intervals(timedelta(seconds=repair), timedelta(seconds=state)))
        task = world.call(TELLING)
        world.clock.advance(seconds=Intervals().first_state.total_seconds())
        world.operations.get(ALICE, task.task_id)
        world.workflows.looked_at.clear()
        world.clock.advance(seconds=due - 0.001)
        world.operations.get(ALICE, task.task_id)
        assert world.workflows.looked_at == []

        world.clock.advance(seconds=0.001)
        world.operations.get(ALICE, task.task_id)

        assert world.workflows.looked_at == [task.execution]
