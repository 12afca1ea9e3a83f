"""Tools whose state machines race: the first success, or the quorum, decides the task, and no loser runs on."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.background.execution_events import ExecutionProgress, ExecutionStatusChange
from stepwire.background.input_requests import Question
from stepwire.catalog.tools import Tool
from stepwire.engine.calls import ToolCall
from stepwire.errors import (
    LimitReached,
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    StopRefused,
    StoreBusy,
    WorkflowNotStarted,
    WorkflowNotStopped,
    WorkflowsUnavailable,
)
from stepwire.json_text import load_json
from stepwire.tasks.limiter import Limits
from stepwire.tasks.outcomes import Aborted, ExecutionFailed, Succeeded, TimedOut, run_ended
from stepwire.tasks.runs import META_RACE, Pending, Retry
from stepwire.tasks.task import Cancelled, Completed, Failed, InputRequired, Progress, Task, ToolResult, Working
from tests.fake_workflows import Stop
from tests.kits import ALICE, ARGUMENTS, CONFIRMED, FORM, OPTIONAL, OUTPUT, World
from tests.races import BROKEN, WON, execution_of, racing, with_constants

RETRY: Final = Retry(3, ("Busy",), delay=timedelta(seconds=10))


def begun(tool: Tool | None = None) -> tuple[World, Task]:
    world = World()
    return world, world.call(tool or racing())


def running(world: World) -> str:
    """Return the letters of the arms that run, in order."""
    return "".join(sorted(one.name.rpartition("-")[2][0] for one in world.workflows.running()))


def result(world: World, task: Task) -> Any:
    answer = world.operations.result_of(world.stored(task))
    assert isinstance(answer, ToolResult)
    return answer.value()


class TestTheStart:
    # R17, R23
    def test_all_arms_start_with_names_of_their_own_and_one_write(self) -> None:
        world, task = begun(racing(5))

        names = [start.execution.name for start in world.workflows.starts]
        base = names[0].removesuffix("-a")
        assert names == [f"{base}-{letter}" for letter in "abcde"]
        assert len({start.execution.state_machine_arn for start in world.workflows.starts}) == 5
        assert world.store.calls == ["reserve", "create", "load"]
        assert task.status == Working()

    # R17
    def test_each_arm_has_its_constants(self) -> None:
        world, _ = begun(with_constants(racing()))

        inputs = [load_json(start.input_text) for start in world.workflows.starts]
        assert inputs == [{"text": "hello", "provider": "fast"}, {"text": "hello", "provider": "slow"}]

    # R17
    def test_an_arm_with_a_delay_starts_in_its_time(self) -> None:
        world, task = begun(racing(2, 0, 5))

        assert running(world) == "a"
        assert world.wake_ups.scheduled == [(task.key, timedelta(seconds=5))]
        world.wake()

        assert running(world) == "ab"
        assert len(world.workflows.starts) == 2

    def test_an_early_wake_up_of_an_arm_is_scheduled_again(self) -> None:
        world, task = begun(racing(2, 0, 5))
        world.wake_ups.scheduled.clear()
        world.clock.advance(seconds=2)

        world.engine.runs.wake(task.key, 1)

        assert world.wake_ups.scheduled == [(task.key, timedelta(seconds=3))]
        assert world.wake_ups.runs[-1] == 1

    def test_a_race_counts_as_one_active_task(self) -> None:
        world = World(limits=Limits(active=1))
        task = world.call(racing(3))

        with pytest.raises(LimitReached):
            world.call(racing(2))
        world.end_arm(task, "a", WON)

        world.call(racing(2))

    def test_a_race_that_cannot_start_at_all_leaves_no_task(self) -> None:
        world = World(limits=Limits(active=3))
        world.workflows.start_fault = StartRefused("its state machine no longer exists")

        with pytest.raises(WorkflowNotStarted, match="no longer exists"):
            world.call(racing(3))

        assert world.store.tasks == {}
        assert world.store.usage[ALICE].active == frozenset()

    def test_an_arm_that_cannot_start_has_failed_and_the_others_go_on(self) -> None:
        world = World()
        refuse(world, 2, StartRefused("its state machine no longer exists"))

        task = world.call(racing())

        assert world.stored(task).status == Working("slow could not be started; left: fast.")
        world.end_arm(task, "a", BROKEN)
        assert "- slow: The workflow could not be started: its state machine no longer exists" in text_of(world, task)

    def test_an_arm_that_cannot_start_keeps_no_caller_from_the_handle_where_it_cannot_be_written(self) -> None:
        world = World()
        refuse(world, 2, StartRefused("its state machine no longer exists"))
        world.store.before_save = busy

        task = world.call(racing())

        assert running(world) == "a"
        assert world.stored(task) == task
        assert [type(one) for one in world.troubles] == [StoreBusy]

    def test_an_arm_that_cannot_start_now_is_tried_again(self) -> None:
        world = World()
        refuse(world, 1, StartRefusedForNow("too many"))

        task = world.call(racing())
        world.workflows.start_fault = None
        assert world.wake_ups.scheduled == [(task.key, timedelta(seconds=10))]
        world.wake()

        assert running(world) == "ab"

    def test_an_arm_whose_start_is_unclear_is_started_by_a_reader(self) -> None:
        world = World()
        refuse(world, 2, StartUnclear())
        task = world.call(racing())
        world.workflows.start_fault = None
        world.clock.time += world.intervals.repair

        world.operations.get(ALICE, task.task_id)

        assert running(world) == "ab"
        assert len(world.workflows.starts) == 3  # the one that may not have begun

    def test_a_race_that_is_won_while_its_arms_start_is_stopped_there(self) -> None:
        world = World()
        world.workflows.on_start = lambda: win_at_the_third(world)

        task = world.call(racing(3))

        assert isinstance(task.status, Completed)
        assert world.workflows.running() == ()
        assert not world.stored(task).runs_pending(Pending.STOP)


def refuse(world: World, number: int, fault: Any) -> None:
    """Let the start with this number fail."""

    def fail() -> None:
        world.workflows.start_fault = fault if len(world.workflows.starts) == number else None

    world.workflows.on_start = fail


def busy() -> None:
    raise StoreBusy


def win_at_the_third(world: World) -> None:
    if len(world.workflows.starts) == 3:
        world.workflows.succeed(world.workflows.starts[0].execution, OUTPUT)
        world.deliver()


def text_of(world: World, task: Task) -> str:
    return result(world, task)["content"][0]["text"]


class TestTheEnd:
    # R18, R23
    def test_the_first_success_wins_says_so_and_the_others_are_stopped(self) -> None:
        world, task = begun(racing(3))
        world.store.calls.clear()

        world.end_arm(task, "b", WON)

        assert world.stored(task).has_ended
        assert world.workflows.running() == ()
        assert [one.execution.name[-2:] for one in world.workflows.stops] == ["-a", "-c"]
        assert world.store.calls[1:] == ["load", "save", "release", "save"]
        assert not world.stored(task).runs_pending(Pending.STOP)
        answer = result(world, task)
        assert answer["structuredContent"] == OUTPUT
        assert answer["_meta"][META_RACE] == {
            "winner": "slow",
            "arms": [
                {"name": "fast", "outcome": "stopped"},
                {"name": "slow", "outcome": "succeeded"},
                {"name": "spare", "outcome": "stopped"},
            ],
        }

    def test_an_arm_that_was_to_start_later_never_does(self) -> None:
        world, task = begun(racing(2, 0, 5))

        world.end_arm(task, "a", WON)
        world.wake()

        assert world.workflows.stops == []
        assert len(world.workflows.starts) == 1
        assert not world.stored(task).runs_pending(Pending.STOP)
        assert result(world, task)["_meta"][META_RACE]["arms"][1] == {"name": "slow", "outcome": "not_started"}

    # R20
    def test_all_failures_are_one_error_with_each(self) -> None:
        world, task = begun()

        world.end_arm(task, "b", BROKEN)
        assert world.stored(task).status == Working("slow failed with Busy; left: fast.")
        world.end_arm(task, "a", TimedOut())

        ended = world.stored(task)
        assert isinstance(ended.status, Completed)
        assert text_of(world, task).split("\n") == [
            "The race was lost: one arm had to succeed, and none did.",
            "- fast: The workflow did not finish within its time limit (States.Timeout) and was stopped.",
            "- slow: The workflow failed with Busy: no seat left",
        ]
        assert result(world, task)["isError"]
        assert [one.action for one in world.audit].count(AuditAction.ENDED) == 1

    # R18
    def test_a_quorum_needs_as_many_successes(self) -> None:
        world, task = begun(racing(3, quorum=2))

        world.end_arm(task, "c", Succeeded('{"answer":1}'))
        assert world.stored(task).status == Working("spare succeeded: 1 of 2 successes.")
        world.end_arm(task, "a", WON)

        assert world.workflows.running() == ()
        answer = result(world, task)
        assert answer["structuredContent"] == OUTPUT
        assert answer["_meta"][META_RACE]["winner"] == "fast"
        assert [one["outcome"] for one in answer["_meta"][META_RACE]["arms"]] == ["succeeded", "stopped", "succeeded"]

    def test_a_quorum_that_only_some_have_filled_names_them(self) -> None:
        world, task = begun(racing(3, quorum=2))

        for letter, end in (("b", WON), ("a", BROKEN), ("c", BROKEN)):
            world.end_arm(task, letter, end)

        failure = "The workflow failed with Busy: no seat left"
        assert text_of(world, task) == (
            "The race was lost: 2 of its 3 arms had to succeed, and 1 did.\n"
            f"- fast: {failure}\n- slow: succeeded.\n- spare: {failure}"
        )

    def test_a_quorum_that_is_out_of_reach_ends_the_race(self) -> None:
        world, task = begun(racing(3, quorum=2))

        world.end_arm(task, "a", BROKEN)
        world.end_arm(task, "c", BROKEN)

        assert world.workflows.running() == ()
        assert text_of(world, task).startswith(
            "The race was lost: 2 of its 3 arms had to succeed, and none did.\n- fast: "
        )
        assert "- slow: was stopped, because the others had failed." in text_of(world, task)

    def test_a_failure_starts_the_arm_that_waits(self) -> None:
        """Nobody uses the head start any more."""
        world, task = begun(racing(3, 0, 30, 60))
        world.wake_ups.scheduled.clear()

        world.end_arm(task, "a", BROKEN)

        assert running(world) == "b"
        assert world.stored(task).status == Working("fast failed with Busy; left: slow, spare.")
        world.end_arm(task, "b", ExecutionFailed("", "why"))
        assert world.stored(task).status == Working("slow failed with an unnamed error; left: spare.")

    def test_arms_that_an_operator_stopped_cancel_the_task(self) -> None:
        world, task = begun()

        world.end_arm(task, "a", Aborted())
        assert world.stored(task).status == Working("fast was stopped; left: slow.")
        world.end_arm(task, "b", Aborted())

        assert world.stored(task).status == Cancelled("The executions were stopped.")

    def test_one_arm_that_was_stopped_is_named_among_the_failures(self) -> None:
        world, task = begun()

        world.end_arm(task, "a", Aborted())
        world.end_arm(task, "b", BROKEN)

        assert "- fast: was stopped by an operator." in text_of(world, task)

    def test_a_large_result_is_fetched_from_the_winner(self) -> None:
        world, task = begun()

        world.end_arm(task, "b", Succeeded(f'"{"x" * 200_000}"'))

        assert "xxx" in str(result(world, task)["content"])
        assert world.stored(task).execution.name.endswith("-b")

    def test_a_result_of_the_workflow_cannot_name_another_winner(self) -> None:
        world, task = begun()
        forged = '{"content": [], "_meta": {"stepwire/race": {"winner": "slow"}, "own": 1}}'

        world.end_arm(task, "a", Succeeded(forged))

        assert result(world, task)["_meta"]["own"] == 1
        assert result(world, task)["_meta"][META_RACE]["winner"] == "fast"


class TestLateAndDoubledEvents:
    # R19
    def test_of_two_successes_at_once_one_wins_and_each_stop_is_made_once(self) -> None:
        world, task = begun(racing(3))
        world.workflows.succeed(execution_of(task, "a"), OUTPUT)
        world.workflows.succeed(execution_of(task, "b"), {"answer": 2})
        first, second = world.workflows.undelivered
        world.workflows.undelivered.clear()
        world.store.before_save = lambda: world.events.record(second)

        world.events.record(first)

        assert result(world, task)["_meta"][META_RACE]["winner"] == "slow"
        assert result(world, task)["structuredContent"] == {"answer": 2}
        assert world.workflows.running() == ()
        assert [one.execution.name[-1] for one in world.workflows.stops] == ["a", "c"]

    def test_a_doubled_failure_counts_once(self) -> None:
        world, task = begun(racing(3, quorum=2))
        change = ExecutionStatusChange(execution_of(task, "a"), BROKEN)
        world.end_arm(task, "a", BROKEN)
        after = world.stored(task)

        world.events.record(change)

        assert world.stored(task) == after

    def test_a_doubled_success_counts_once(self) -> None:
        world, task = begun(racing(3, quorum=2))
        world.end_arm(task, "a", WON)

        world.events.record(ExecutionStatusChange(execution_of(task, "a"), WON))

        assert isinstance(world.stored(task).status, Working)

    def test_the_ends_of_losers_change_nothing(self) -> None:
        world, task = begun()
        world.end_arm(task, "a", WON)
        ended = world.stored(task)

        for end in (Aborted(), BROKEN, WON):
            world.events.record(ExecutionStatusChange(execution_of(task, "b"), end))

        assert world.stored(task) == ended
        assert len(world.workflows.stops) == 1

    def test_an_event_that_comes_again_after_a_crash_stops_the_losers(self) -> None:
        world, task = begun(racing(3))
        world.workflows.stop_fault = StopRefused("a crash")
        with pytest.raises(StopRefused):
            world.end_arm(task, "a", WON)
        assert running(world) == "bc"
        world.workflows.stop_fault = None

        world.events.record(ExecutionStatusChange(execution_of(task, "a"), WON))

        assert running(world) == ""
        assert not world.stored(task).runs_pending(Pending.STOP)


class TestRepair:
    def crashed(self) -> tuple[World, Task]:
        """Return a race that is won, and whose losers still run."""
        world, task = begun(racing(3))
        world.workflows.stop_fault = StopRefused("a crash")
        with pytest.raises(StopRefused):
            world.end_arm(task, "a", WON)
        world.workflows.stop_fault = None
        return world, task

    def test_a_reader_stops_what_a_crash_has_left(self) -> None:
        world, task = self.crashed()
        world.operations.get(ALICE, task.task_id)
        assert running(world) == "bc"

        world.clock.time += world.intervals.repair
        world.operations.get(ALICE, task.task_id)

        assert running(world) == ""
        assert not world.stored(task).runs_pending(Pending.STOP)

    def test_a_reader_gets_the_result_where_nothing_can_be_stopped(self) -> None:
        world, task = self.crashed()
        world.workflows.stop_fault = StopRefused("not allowed")
        world.clock.time += world.intervals.repair

        read = world.operations.get(ALICE, task.task_id)

        assert isinstance(read.status, Completed)
        assert world.stored(task).runs_pending(Pending.STOP)
        assert len(world.troubles) == 1

    def test_an_arm_that_starts_after_the_end_is_stopped_by_who_started_it(self) -> None:
        world, task = begun(racing(2, 0, 5))
        world.clock.advance(seconds=5)
        world.workflows.on_start = lambda: win(world, task)

        world.engine.runs.wake(task.key, 1)

        assert running(world) == ""
        assert not world.stored(task).runs_pending(Pending.STOP)

    def test_a_reader_records_an_end_whose_event_was_lost(self) -> None:
        world, task = begun(racing(3))
        world.workflows.succeed(execution_of(task, "b"), OUTPUT)
        world.workflows.undelivered.clear()
        world.clock.time += world.intervals.repair

        read = world.operations.get(ALICE, task.task_id)

        assert isinstance(read.status, Completed)
        assert running(world) == ""

    def test_a_reader_starts_an_arm_whose_wake_up_was_lost(self) -> None:
        world, task = begun(racing(2, 0, 5))
        world.clock.time += world.intervals.repair

        world.operations.get(ALICE, task.task_id)

        assert running(world) == "ab"

    def test_an_arm_that_a_failure_was_to_start_begins_with_its_own_wake_up_after_a_crash(self) -> None:
        world, task = begun(racing(2, 0, 5))
        ended = run_ended(task, 0, BROKEN, world.recorder.event_of_end(task, BROKEN))
        world.recorder.advanced(task, ended)  # and the process dies before it performs what follows
        assert running(world) == "a"

        world.wake()

        assert running(world) == "ab"

    def test_a_reader_describes_each_arm_that_runs_and_writes_once(self) -> None:
        world, task = begun(racing(3, 0, 0, 3600))
        world.clock.time += world.intervals.repair
        world.store.calls.clear()

        world.operations.get(ALICE, task.task_id)

        assert [one.name[-1] for one in world.workflows.described] == ["a", "b"]
        assert world.store.calls == ["load", "save"]


def start_and_refuse(world: World, task: Task) -> None:
    """Let another request start the arm, and refuse the first one's start."""
    world.workflows.on_start = lambda: None
    world.engine.runs.wake(task.key, 1)
    world.workflows.start_fault = StartRefused("not allowed")


def cancel(world: World, task: Task) -> None:
    world.operations.cancel(ALICE, task.task_id)


def expire(world: World, task: Task) -> None:
    world.expirations.record(world.stored(task))


def win(world: World, task: Task) -> None:
    world.workflows.on_start = lambda: None
    world.workflows.succeed(execution_of(task, "a"), OUTPUT)
    world.deliver()


class TestCancelling:
    # R21
    def test_a_cancellation_stops_every_arm_that_runs(self) -> None:
        world, task = begun(racing(3, 0, 0, 5))

        cancelled = world.operations.cancel(ALICE, task.task_id)
        world.deliver()
        world.wake()

        assert isinstance(cancelled.status, Cancelled)
        assert world.workflows.stops == [
            Stop(execution_of(task, letter), "Cancelled by the caller.") for letter in ("a", "b")
        ]
        assert running(world) == ""
        assert not world.stored(task).runs_pending(Pending.STOP)

    # R21
    def test_an_arm_that_begins_while_the_task_is_cancelled_is_stopped(self) -> None:
        world, task = begun(racing(2, 0, 5))
        world.store.before_save = world.wake

        world.operations.cancel(ALICE, task.task_id)

        assert running(world) == ""

    def test_an_arm_that_was_not_found_is_left_to_the_sweep(self) -> None:
        world = World()
        refuse(world, 2, StartUnclear())
        task = world.call(racing())

        world.operations.cancel(ALICE, task.task_id)

        assert world.stored(task).runs_pending(Pending.STOP)

    @pytest.mark.parametrize("ends", [win, cancel, expire])
    def test_an_arm_is_stopped_that_one_request_started_and_another_was_refused(
        self, ends: Callable[[World, Task], None]
    ) -> None:
        world, task = begun(racing(2, 0, 5))
        world.clock.advance(seconds=5)
        world.workflows.on_start = lambda: start_and_refuse(world, task)
        world.engine.runs.wake(task.key, 1)
        world.workflows.start_fault = None
        assert running(world) == "ab"
        assert world.stored(task).status == Working("slow could not be started; left: fast.")

        ends(world, task)

        assert running(world) == ""

    def test_a_refused_stop_leaves_the_task(self) -> None:
        world, task = begun()
        world.workflows.stop_fault = StopRefused("not allowed")

        with pytest.raises(WorkflowNotStopped):
            world.operations.cancel(ALICE, task.task_id)

        assert isinstance(world.stored(task).status, Working)

    @pytest.mark.parametrize("stop", [cancel, expire])
    def test_an_arm_that_cannot_be_stopped_keeps_no_other_one_running(
        self, stop: Callable[[World, Task], object]
    ) -> None:
        world, task = begun()

        def refuse_the_first() -> None:
            world.workflows.stop_fault = StopRefused("not allowed") if len(world.workflows.stops) == 1 else None

        world.workflows.before_stop = refuse_the_first

        with pytest.raises((WorkflowNotStopped, StopRefused)):
            stop(world, task)

        assert running(world) == "a"


class TestRetriesOfArms:
    def test_each_arm_has_its_attempts(self) -> None:
        world, task = begun(racing(retry=RETRY))

        world.end_arm(task, "a", BROKEN)
        assert world.stored(task).status == Working("fast: attempt 2 of 3 after Busy.")
        world.wake()

        names = [one.name.rpartition("-")[2] for one in world.workflows.running()]
        assert names == ["b", "ar2"]
        assert max(len(start.execution.name) for start in world.workflows.starts) <= 80
        world.end_arm(task, "a", WON)
        assert world.stored(task).execution.name.endswith("-ar2")
        assert world.workflows.running() == ()

    def test_arms_and_tasks_with_jitter_begin_at_times_of_their_own(self) -> None:
        world = World()
        retry = replace(RETRY, has_jitter=True)
        tasks = [world.call(racing(retry=retry)), world.call(replace(OPTIONAL, retry=retry))]
        tasks.append(world.call(replace(OPTIONAL, retry=retry)))

        for letter in ("a", "b"):
            world.end_arm(tasks[0], letter, BROKEN)
        for task in tasks[1:]:
            world.fail(task.task_id, "Busy")

        assert len({run.attempt.begins_at for task in tasks for run in world.stored(task).runs}) == 4

    def test_a_redriven_arm_keeps_its_execution(self) -> None:
        world, task = begun(racing(retry=replace(RETRY, redrives=True)))

        world.end_arm(task, "b", BROKEN)
        world.wake()

        assert running(world) == "ab"
        assert [one.token for one in world.workflows.redrives] == [f"{task.task_id}-1-1-1"]
        world.end_arm(task, "a", WON)
        assert running(world) == ""
        assert world.stored(task).runs_pending(Pending.STOP)  # somebody may redrive it at this moment

    def test_arms_whose_redrives_were_throttled_begin_with_the_next_poll(self) -> None:
        world, task = begun(racing(retry=replace(RETRY, redrives=True, delay=timedelta())))
        world.workflows.redrive_fault = WorkflowsUnavailable()
        for letter in ("a", "b"):
            world.end_arm(task, letter, BROKEN)
        world.workflows.redrive_fault = None

        world.operations.get(ALICE, task.task_id)

        assert running(world) == "ab"
        assert not world.stored(task).runs_pending(Pending.START)

    def test_the_next_attempt_of_an_arm_leaves_the_start_of_another_to_the_next_poll(self) -> None:
        world = World()
        refuse(world, 2, StartRefusedForNow("too many"))
        task = world.call(racing(retry=replace(RETRY, delay=timedelta())))
        world.workflows.start_fault = None

        world.end_arm(task, "a", BROKEN)
        assert world.stored(task).runs_pending(Pending.START) == (1,)
        world.operations.get(ALICE, task.task_id)

        assert running(world) == "ab"

    def test_a_race_is_lost_after_the_last_attempt_of_each_arm(self) -> None:
        world, task = begun(racing(retry=replace(RETRY, attempts=2)))

        for letter in ("a", "b"):
            world.end_arm(task, letter, BROKEN)
        world.wake()
        for letter in ("b", "a"):
            world.end_arm(task, letter, BROKEN)

        assert isinstance(world.stored(task).status, Completed)
        assert len(world.workflows.starts) == 4


class TestQuestionsAndProgress:
    def ask(self, world: World, task: Task, letter: str, key: str) -> None:
        world.workflows.waiting.add(f"token of {key}")
        world.requests.record(Question(execution_of(task, letter), f"token of {key}", key, FORM))

    # R22
    def test_the_question_of_any_arm_shows_and_a_losers_disappears(self) -> None:
        world, task = begun(racing(3))
        self.ask(world, task, "a", "first")
        self.ask(world, task, "b", "second")
        assert [one.key for one in world.stored(task).input_requests] == ["first", "second"]

        world.end_arm(task, "a", BROKEN)
        assert [one.key for one in world.stored(task).input_requests] == ["second"]
        assert isinstance(world.stored(task).status, InputRequired)
        world.end_arm(task, "c", WON)

        assert world.stored(task).input_requests == ()

    def test_an_arm_that_has_ended_asks_nothing(self) -> None:
        world, task = begun()
        world.end_arm(task, "a", BROKEN)

        self.ask(world, task, "a", "late")

        assert world.stored(task).input_requests == ()
        assert world.workflows.waiting == set()

    # R22
    def test_the_progress_of_the_furthest_arm_shows(self) -> None:
        world, task = begun()
        for letter, progress, message in (
            ("a", Progress(10, 50), "ten rows"),
            ("b", Progress(1, 2), "half"),
            ("a", Progress(20, 50), "twenty rows"),
            ("b", Progress(4, 7), None),
        ):
            world.events.record_progress(ExecutionProgress(execution_of(task, letter), progress, message))

        assert world.stored(task).progress == Progress(57.14, 100)
        assert world.stored(task).status == Working("slow: half")


def test_a_confirmed_race_begins_with_its_confirmation() -> None:
    world = World()
    tool = replace(racing(2, 0, 5), confirmation=CONFIRMED.confirmation)
    assert tool.confirmation is not None
    call = _call(tool)
    task = world.calls.begin(call, tool.confirmation).task
    world.clock.advance(minutes=2)

    world.answers.respond(ALICE, task.task_id, {"confirm": {"action": "accept", "content": {}}})

    assert running(world) == "a"
    assert world.wake_ups.scheduled == [(task.key, timedelta(seconds=5))]


def test_a_confirmed_race_that_cannot_start_ends_with_an_error() -> None:
    world = World()
    tool = replace(racing(), confirmation=CONFIRMED.confirmation)
    assert tool.confirmation is not None
    task = world.calls.begin(_call(tool), tool.confirmation).task
    world.workflows.start_fault = StartRefused("its state machine no longer exists")

    world.answers.respond(ALICE, task.task_id, {"confirm": {"action": "accept", "content": {}}})

    assert isinstance(world.stored(task).status, Failed)


def _call(tool: Tool) -> ToolCall:
    return ToolCall(ALICE, tool, ARGUMENTS)
