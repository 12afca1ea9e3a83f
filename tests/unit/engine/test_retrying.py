"""Tasks with a retry policy: attempts follow each other, and the task ends once, with the last one."""

from datetime import timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.engine.upkeep import Intervals
from stepwire.errors import (
    RedriveRefused,
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    TaskAlreadyEnded,
    WakeUpsUnavailable,
    WorkflowsUnavailable,
)
from stepwire.tasks.outcomes import Aborted, ExecutionFailed, Missing, Running, Succeeded, TimedOut
from stepwire.tasks.runs import Pending, Retry
from stepwire.tasks.task import Cancelled, Causes, Completed, Failed, InputRequired, Task, Working
from tests.fake_workflows import Redrive, Start, Stop
from tests.kits import ALICE, OPTIONAL, OUTPUT, World

RETRY: Final = Retry(3, ("OutOfStock", "States.Timeout"), delay=timedelta(seconds=10))
AT_ONCE: Final = replace(RETRY, delay=timedelta())
RESTARTED: Final = replace(OPTIONAL, retry=RETRY)
REDRIVEN: Final = replace(OPTIONAL, retry=replace(RETRY, redrives=True))
NEVER_RESTARTED: Final = replace(OPTIONAL, retry=replace(RETRY, redrives=True, may_restart=False))
BOTH: Final = pytest.mark.parametrize("tool", [RESTARTED, REDRIVEN], ids=["restart", "redrive"])


def fail(world: World, task: Task, error: str = "OutOfStock") -> Task:
    """Let the task's newest execution fail, and return the task."""
    world.fail(task.task_id, error)
    return world.stored(task)


def retried(world: World, tool: Any = RESTARTED) -> Task:
    """Return a task whose second attempt runs."""
    task = world.call(tool)
    fail(world, task)
    world.wake()
    return world.stored(task)


class TestTheNextAttempt:
    # R2
    @BOTH
    def test_a_failed_task_keeps_working_and_says_so(self, tool: Any) -> None:
        world = World()

        task = fail(world, world.call(tool))

        assert task.status == Working("Attempt 2 of 3 after OutOfStock, next at 12:00:10 UTC.")
        assert world.wake_ups.scheduled == [(task.key, timedelta(seconds=10))]
        assert len(world.workflows.starts) == 1

    def test_a_failed_task_says_as_much_of_the_error_as_its_tool_allows(self) -> None:
        """B16."""
        error = "arn:aws:lambda:eu-central-1:123456789012:function:f"
        hiding = replace(OPTIONAL, retry=Retry(3, ("States.ALL",)))
        world = World()

        told = [fail(world, world.call(tool), error) for tool in (hiding, replace(hiding, causes=Causes.SHOWN))]

        assert [task.status.message for task in told] == [
            "Attempt 2 of 3 after [ARN], next at 12:00:01 UTC.",
            f"Attempt 2 of 3 after {error}, next at 12:00:01 UTC.",
        ]

    @BOTH
    def test_nobody_looks_for_an_attempt_that_may_not_have_begun(self, tool: Any) -> None:
        world = World()
        task = world.call(tool)
        world.clock.time += world.intervals.repair
        fail(world, task)

        world.clock.advance(seconds=15)
        world.operations.get(ALICE, task.task_id)

        assert world.workflows.described == []

    # R3
    def test_a_restart_begins_in_time_in_an_execution_of_its_own(self) -> None:
        world = World()

        task = retried(world)

        assert [start.execution.name for start in world.workflows.starts] == [
            task.execution.name.removesuffix("-r2"),
            task.execution.name,
        ]
        assert world.workflows.starts[1] == Start(task.execution, world.workflows.starts[0].input_text)
        assert world.operations.get(ALICE, task.task_id).status == Working("Attempt 2 of 3 after OutOfStock.")

    # R4
    def test_a_redrive_begins_in_time_in_the_same_execution(self) -> None:
        world = World()

        task = retried(world, REDRIVEN)

        assert world.workflows.redrives == [Redrive(task.execution, f"{task.task_id}-0-1-1")]
        assert len(world.workflows.starts) == 1
        assert world.workflows.running() == (task.execution,)

    @BOTH
    def test_a_success_ends_the_task(self, tool: Any) -> None:
        world = World()
        task = retried(world, tool)

        world.succeed(task.task_id, OUTPUT)

        assert isinstance(world.stored(task).status, Completed)
        assert not world.stored(task).runs_pending(Pending.STOP)
        assert [one.action for one in world.audit if one.action is AuditAction.ENDED] == [AuditAction.ENDED]

    # R5
    @BOTH
    def test_the_last_failure_ends_the_task(self, tool: Any) -> None:
        """T10, X30: it is working until then, and ends once."""
        world = World()
        task = retried(world, tool)

        fail(world, task)
        world.wake()
        ended = fail(world, task, "States.Timeout")

        assert isinstance(ended.status, Completed)
        assert ended.status.message == "The workflow failed with States.Timeout: it broke"
        assert [run.error for run in ended.runs] == [""], "its result says it"
        assert [one.outcome for one in world.audit if one.action is AuditAction.RETRIED] == [
            "attempt 2 of 3",
            "attempt 3 of 3",
        ]

    # R1
    def test_an_error_that_the_policy_does_not_name_ends_the_task(self) -> None:
        world = World()

        task = fail(world, world.call(RESTARTED), "Broken")

        assert isinstance(task.status, Completed)
        assert world.wake_ups.scheduled == []

    # R1
    def test_an_execution_that_timed_out_is_a_timeout(self) -> None:
        world = World()
        task = world.call(RESTARTED)

        world.workflows.time_out(task.execution)
        world.deliver()

        assert world.stored(task).status == Working("Attempt 2 of 3 after States.Timeout, next at 12:00:10 UTC.")

    # R1
    def test_an_execution_that_an_operator_stopped_is_not_retried(self) -> None:
        world = World()
        task = world.call(replace(RESTARTED, retry=replace(RETRY, errors=("States.ALL",))))

        world.workflows.abort(task.execution)
        world.deliver()

        assert isinstance(world.stored(task).status, Cancelled)

    # R7
    def test_no_attempt_begins_after_the_expiry(self) -> None:
        world = World()
        tool = replace(RESTARTED, ttl=timedelta(seconds=10), keep_result=timedelta(hours=1))

        task = fail(world, world.call(tool))

        assert isinstance(task.status, Completed)

    def test_without_a_delay_the_attempt_begins_at_once_with_one_write_and_one_start(self) -> None:
        world = World()
        task = world.call(replace(RESTARTED, retry=AT_ONCE))
        world.store.calls.clear()

        task = fail(world, task)

        assert task.status == Working("Attempt 2 of 3 after OutOfStock.")
        assert world.workflows.running() == (task.execution,)
        assert world.store.calls == ["load", "save", "load"]
        assert world.wake_ups.scheduled == []

    # R10
    @BOTH
    def test_questions_of_a_failed_attempt_are_gone(self, tool: Any) -> None:
        world = World()
        task = world.call(tool)
        world.ask(task.task_id)

        task = fail(world, task)

        assert task.input_requests == ()
        assert isinstance(task.status, Working)
        world.wake()
        world.ask(task.task_id, token="another")
        (question,) = world.stored(task).input_requests
        assert question.key == "approval-2"

    # R10
    def test_progress_never_decreases_over_attempts(self) -> None:
        world = World()
        task = world.call(RESTARTED)
        world.progress(task.task_id, 60)
        task = fail(world, task)
        world.wake()

        world.progress(task.task_id, 10)
        assert world.stored(task).progress == task.progress
        world.progress(task.task_id, 70)

        progress = world.stored(task).progress
        assert progress is not None
        assert progress.done == 70

    def test_a_large_result_is_fetched_from_the_execution_that_succeeded(self) -> None:
        world = World()
        task = retried(world)

        world.succeed(task.task_id, "x" * 200_000)

        result = world.operations.result_of(world.stored(task))
        assert "xxx" in str(result)


class TestLateAndDoubledEvents:
    # R5
    @BOTH
    def test_the_end_of_an_earlier_attempt_changes_nothing(self, tool: Any) -> None:
        world = World()
        task = world.call(tool)
        first = ExecutionStatusChange(task.execution, ExecutionFailed("OutOfStock", "it broke"))
        task = fail(world, task)

        world.events.record(first)
        assert world.stored(task) == task
        world.wake()
        world.events.record(first)

        assert world.stored(task) == task
        assert len(world.workflows.running()) == 1

    @BOTH
    def test_a_second_wake_up_begins_nothing_again(self, tool: Any) -> None:
        world = World()
        task = retried(world, tool)

        world.engine.runs.wake(task.key)
        assert len(world.workflows.running()) == 1
        world.succeed(task.task_id, OUTPUT)
        ended = world.stored(task)
        world.engine.runs.wake(task.key)

        assert world.workflows.running() == ()
        assert world.stored(task) == ended

    def test_an_early_wake_up_is_scheduled_again(self) -> None:
        world = World()
        task = fail(world, world.call(RESTARTED))
        world.wake_ups.scheduled.clear()
        world.clock.advance(seconds=4)

        world.engine.runs.wake(task.key)

        assert world.wake_ups.scheduled == [(task.key, timedelta(seconds=6))]
        assert len(world.workflows.starts) == 1

    def test_a_wake_up_for_a_task_without_attempts_does_nothing(self) -> None:
        world = World()
        task = world.call()

        world.engine.runs.wake(task.key)

        assert len(world.workflows.starts) == 1

    def test_a_success_that_overtakes_the_failure_before_it_ends_the_task(self) -> None:
        """Events come in any order: the second attempt, begun by a reader, may end before the first end is told."""
        world = World()
        task = world.call(REDRIVEN)
        world.workflows.fail(task.execution, "OutOfStock")
        (late,) = world.workflows.undelivered
        world.workflows.undelivered.clear()
        world.clock.time += world.intervals.repair
        world.operations.get(ALICE, task.task_id)
        world.wake()

        world.succeed(task.task_id, OUTPUT)
        world.events.record(late)

        assert isinstance(world.stored(task).status, Completed)


class TestRepair:
    # R8
    @BOTH
    def test_a_reader_begins_an_attempt_whose_wake_up_was_lost(self, tool: Any) -> None:
        world = World()
        task = fail(world, world.call(tool))
        world.wake_ups.scheduled.clear()
        world.clock.advance(seconds=11)
        world.operations.get(ALICE, task.task_id)
        assert world.workflows.running() == ()

        world.clock.time += world.intervals.repair
        world.operations.get(ALICE, task.task_id)

        assert world.workflows.running() == (task.execution,)

    # R8
    @BOTH
    def test_a_reader_records_a_failure_whose_event_was_lost(self, tool: Any) -> None:
        world = World()
        task = world.call(tool)
        world.workflows.fail(task.execution, "OutOfStock")
        world.clock.time += world.intervals.repair

        read = world.operations.get(ALICE, task.task_id)

        assert read.status == Working("Attempt 2 of 3 after OutOfStock, next at 12:01:10 UTC.")
        world.wake()
        assert len(world.workflows.running()) == 1

    @BOTH
    @pytest.mark.parametrize("fault", [StartUnclear(), StartRefusedForNow("too many")])
    def test_an_attempt_that_cannot_begin_now_is_tried_again(self, tool: Any, fault: Any) -> None:
        world = World()
        task = world.call(replace(tool, retry=replace(tool.retry, delay=timedelta())))
        world.workflows.start_fault, world.workflows.redrive_fault = fault, WorkflowsUnavailable()

        task = fail(world, task)
        world.workflows.start_fault = world.workflows.redrive_fault = None
        assert world.troubles
        assert world.wake_ups.scheduled == [(task.key, timedelta(seconds=10))]
        world.wake()

        assert world.workflows.running() == (task.execution,)

    def test_an_attempt_that_begins_when_its_task_has_expired_is_stopped(self) -> None:
        world = World()
        task = fail(world, world.call(RESTARTED))
        world.workflows.on_start = lambda: world.clock.advance(hours=1)

        world.wake()

        after = world.stored(task)
        assert world.workflows.running() == ()
        assert world.workflows.stops == [Stop(after.execution, "The task had ended before its execution began.")]

    def test_an_end_is_recorded_where_no_wake_up_can_be_scheduled(self) -> None:
        world = World()
        world.wake_ups.is_available = False

        task = fail(world, world.call(RESTARTED))

        assert task.is_retried
        assert [type(one) for one in world.troubles] == [WakeUpsUnavailable]

    def test_an_attempt_that_may_not_start_ends_the_task(self) -> None:
        world = World()
        task = fail(world, world.call(RESTARTED))
        world.workflows.start_fault = StartRefused("its state machine no longer exists")

        world.wake()

        assert isinstance(world.stored(task).status, Failed)


class TestRefusedRedrives:
    def refused(self, tool: Any) -> tuple[World, Task]:
        world = World()
        task = fail(world, world.call(tool))
        world.workflows.redrive_fault = RedriveRefused()
        return world, task

    # R4
    def test_it_falls_back_to_a_new_execution(self) -> None:
        world, task = self.refused(REDRIVEN)

        world.wake()

        after = world.stored(task)
        assert after.execution.name == f"{task.execution.name}-r2"
        assert world.workflows.running() == (after.execution,)
        assert after.runs[0].attempt.number == 2

    # R4
    def test_it_ends_the_task_where_the_manifest_says_so(self) -> None:
        world, task = self.refused(NEVER_RESTARTED)

        world.wake()

        after = world.stored(task)
        assert isinstance(after.status, Completed)
        assert after.status.message == "The workflow failed with OutOfStock: it broke"
        assert not after.runs_pending(Pending.STOP)

    def test_it_ends_the_task_whose_execution_is_gone(self) -> None:
        world, task = self.refused(NEVER_RESTARTED)
        world.workflows.states[task.execution] = Missing()

        world.wake()

        assert isinstance(world.stored(task).status, Failed)

    def test_a_task_that_is_gone_by_then_is_left_alone(self) -> None:
        world, task = self.refused(REDRIVEN)
        world.store.before_save = lambda: world.store.tasks.pop(task.key)

        assert world.engine.runs.start(task, [0]) == task

        assert (world.store.tasks, world.workflows.running()) == ({}, ())

    def test_an_execution_that_runs_again_already_goes_on(self) -> None:
        world, task = self.refused(NEVER_RESTARTED)
        world.workflows.states[task.execution] = Running()

        world.wake()

        assert isinstance(world.stored(task).status, Working)

    @pytest.mark.parametrize(
        ("end", "status"),
        [(Succeeded('{"answer":42}'), Completed), (Aborted(1), Cancelled), (TimedOut(1), Working)],
    )
    def test_an_end_after_another_redrive_is_the_attempts_end(self, end: Any, status: Any) -> None:
        world, task = self.refused(NEVER_RESTARTED)
        world.workflows.states[task.execution] = end

        world.wake()

        assert isinstance(world.stored(task).status, status)


class TestCancelling:
    # R6
    @BOTH
    def test_a_task_is_cancelled_between_attempts(self, tool: Any) -> None:
        world = World()
        task = fail(world, world.call(tool))

        world.operations.cancel(ALICE, task.task_id)
        world.wake()

        assert isinstance(world.stored(task).status, Cancelled)
        assert world.workflows.running() == ()

    # R6
    @BOTH
    def test_an_attempt_that_begins_while_its_task_is_cancelled_is_stopped(self, tool: Any) -> None:
        world = World(intervals=Intervals())
        task = fail(world, world.call(tool))
        world.clock.advance(seconds=10)
        world.operations.cancel(ALICE, task.task_id)
        assert world.stored(task).runs_pending(Pending.STOP), "if the next process dies, the sweep stops it"

        world.engine.runs.start(task, [0])  # by a process that read the task before

        assert world.workflows.running() == ()

    @BOTH
    def test_a_cancellation_stops_the_second_attempt(self, tool: Any) -> None:
        world = World()
        task = retried(world, tool)

        world.operations.cancel(ALICE, task.task_id)

        assert world.workflows.running() == ()
        world.deliver()
        with pytest.raises(TaskAlreadyEnded):
            world.operations.cancel(ALICE, task.task_id)

    def test_a_cancelled_task_is_not_retried(self) -> None:
        world = World()
        task = world.call(RESTARTED)
        world.workflows.fail(task.execution, "OutOfStock")
        world.store.before_save = world.deliver

        cancelled = world.operations.cancel(ALICE, task.task_id)

        assert isinstance(cancelled.status, Cancelled)
        assert isinstance(world.stored(task).status, Cancelled)
        world.wake()
        assert world.workflows.running() == ()


def test_a_question_of_the_second_attempt_is_asked_and_answered() -> None:
    world = World()
    task = retried(world)

    token = world.ask(task.task_id)

    assert isinstance(world.stored(task).status, InputRequired)
    assert token in world.workflows.waiting


def test_a_tool_without_a_policy_has_one_attempt() -> None:
    world = World()

    task = fail(world, world.call())

    assert not task.is_retried
    assert isinstance(task.status, Completed)
