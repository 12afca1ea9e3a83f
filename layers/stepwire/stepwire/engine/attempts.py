"""The attempts of tasks with a retry policy or a race: record the end of one, begin the next one.

What follows an end is decided by `lifecycle.advance` and saved; only then does the next attempt begin. So whoever finds
that it has not begun may begin it: a wake-up, a reader or the sweep. Starting is idempotent by name and redriving by
token, so the attempt begins once. A task without a policy ends with its execution.

Each arm of a race (`stepwire.tasks.races`) has attempts; a letter says whose are meant, and is empty without a race.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from stepwire.audit import AuditAction, AuditEntry, EndSource
from stepwire.engine.ports import WakeUps, Workflows
from stepwire.engine.recorder import Recorder
from stepwire.errors import (
    InternalError,
    RedriveRefused,
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    WakeUpsUnavailable,
    WorkflowsUnavailable,
)
from stepwire.tasks import events
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.outcomes import (
    ExecutionEnd,
    ExecutionState,
    Missing,
    Running,
    arm_ended_for_good,
    attempt_ended,
    redrives_of,
)
from stepwire.tasks.retries import Attempt
from stepwire.tasks.task import Execution, Task, TaskError

if TYPE_CHECKING:
    from stepwire.engine.races import Races

_SECOND_TRY: Final = timedelta(seconds=10)
"""When an attempt is begun again that could not be begun now."""
_PAUSES: Final = (0.2, 0.5, 0.0)  # seconds, after a mark that could not be written
_TIME_TO_NOTE: Final = timedelta(seconds=2)
_GONE: Final = "The workflow failed, and its execution is no longer there to be redriven."


class NoWakeUps:
    """Wakes nobody: the next reader or the sweep begins an attempt."""

    def schedule(self, key: TaskKey, delay: timedelta, arm: str = "") -> None:
        """Do nothing."""


class Attempts(Struct, frozen=True):
    """Records the ends of executions, and begins the attempts that follow."""

    recorder: Recorder
    workflows: Workflows
    wake_ups: WakeUps
    report: Callable[[Exception], None]
    """Receives faults that delay the next attempt."""

    @property
    def races(self) -> "Races":
        """What begins races, and stops the arms that have lost."""
        from stepwire.engine.races import Races  # noqa: PLC0415 - few tasks are races

        return Races(self)

    def record_end(self, task: Task, execution: Execution, end: ExecutionEnd, source: EndSource) -> Task:
        """Record the end of a task's execution; if another attempt follows, begin or schedule it. Return the task."""
        letter = task.letter_of(execution)
        if letter is None:
            return task  # of an attempt that is over
        return self.record(task, attempt_ended(task, letter, end, self.recorder.event_of_end(task, end)), source)

    def record(self, task: Task, event: events.TaskEvent, source: EndSource | None = None) -> Task:
        """Record an event that attempts may follow; begin or schedule these. Return the task."""
        recorded = self.recorder.record(task, event, source)
        if recorded is None:
            return task
        if isinstance(event, events.ArmEnded) and recorded.has_ended:
            return self.races.after_end(recorded, event.arm.letter)
        for letter in _new_attempts(task, recorded):
            self._audit(recorded, letter)
            recorded = self.begin_or_schedule(recorded, letter)
        return recorded

    def finish(self, task: Task, execution: Execution) -> None:
        """Finish what a process that died after it had recorded the end of an execution has left to be done."""
        if task.race is not None and task.may_begin and task.letter_of(execution) is None:  # of an arm that has ended
            self.races.stop_losers(task)

    def wake(self, key: TaskKey, arm: str = "") -> None:
        """Begin the attempt of a task that is due. Does nothing for a task that has ended, or that has one attempt.

        Raises:
            WorkflowsUnavailable, StartUnclear, StartRefusedForNow: it may not have begun; wake the task again.
            WakeUpsUnavailable: it is not due yet, and could not be scheduled again.
        """
        task = self.recorder.load(key)
        if task is None or task.has_ended or arm not in task.executions or not (arm or task.is_retried):
            return
        left = self._time_left(task, arm)
        if left > timedelta():
            self.wake_ups.schedule(key, left, arm)
        else:
            self.begin(task, arm)

    def begin(self, task: Task, letter: str = "") -> Task:
        """Start or redrive the execution of a task's attempt, and return the task. Idempotent.

        Raises:
            WorkflowsUnavailable, StartUnclear, StartRefusedForNow: it may not have begun.
        """
        attempt = task.attempt_of(letter)
        if attempt and attempt.is_redriven:
            return self._redrive(task, letter, attempt)
        return self._start(task, letter)

    def begin_work(self, task: Task) -> Task:
        """Start the work of a task, and return the task; a refused start ends it with an error. Idempotent.

        Raises:
            WorkflowsUnavailable, StartUnclear, StartRefusedForNow: it may not have begun.
        """
        if task.race is None:
            begun = self.begin(task)
            return (self.recorder.record(begun, events.WorkBegun()) or begun) if begun.is_unbegun else begun
        try:
            return self.races.begin(task)
        except StartRefusedForNow:
            raise
        except StartRefused as refusal:
            return self._refused(task, refusal)

    def postpone(self, task: Task, fault: Exception) -> Task:
        """Note that the work of a task may not have begun: the next reader starts it, without a look first."""
        self.report(fault)
        began = self.recorder.now()
        for pause in _PAUSES:
            try:
                return self.recorder.record(task, events.StartPostponed()) or task
            except Exception as unnoted:  # noqa: BLE001 - the next check of Step Functions finds it too
                self.report(unnoted)
            if self.recorder.now() - began > _TIME_TO_NOTE:
                break
            self.recorder.clock.sleep(pause)
        return task

    def is_due(self, task: Task) -> bool:
        """Tell whether an attempt of a task should run by now."""
        return any(self._time_left(task, letter) <= timedelta() for letter in task.executions)

    def has_begun(self, task: Task, execution: Execution, end: ExecutionEnd) -> bool:
        """Tell whether an execution that has ended did so in the task's attempt, and not before it was redriven."""
        letter = task.letter_of(execution)
        attempt = None if letter is None else task.attempt_of(letter)
        return attempt is None or redrives_of(end) >= attempt.redrives

    def stop_if_ended(self, task: Task, letter: str = "") -> Task:
        """Return the current task after a start; if it has ended meanwhile, stop its execution."""
        current = self.recorder.load(task.key)
        if current is not None and not current.has_ended:
            return current
        self.workflows.stop(task.executions[letter], "The task had ended before its execution began.")
        return current or task

    def begin_or_schedule(self, task: Task, letter: str = "") -> Task:
        """Begin an attempt if it is due, else schedule it; if it cannot begin now, schedule a second try."""
        left = self._time_left(task, letter)
        if left <= timedelta():
            try:
                return self.begin(task, letter)
            except (WorkflowsUnavailable, StartUnclear, StartRefusedForNow) as fault:
                task, left = self.postpone(task, fault), _SECOND_TRY
        self.schedule(task, left, letter)
        return task

    def schedule(self, task: Task, delay: timedelta = _SECOND_TRY, letter: str = "") -> None:
        """Let a task be woken after a delay; a fault is reported, because readers and the sweep begin what is due."""
        try:
            self.wake_ups.schedule(task.key, delay, letter)
        except WakeUpsUnavailable as fault:
            self.report(fault)

    def _time_left(self, task: Task, letter: str) -> timedelta:
        attempt = task.attempt_of(letter)
        begins_at = None if attempt is None else attempt.begins_at
        return timedelta() if begins_at is None else begins_at - self.recorder.now()

    def _start(self, task: Task, letter: str) -> Task:
        common = self.recorder.store.terms_of(task).input
        text = common if task.race is None else task.race.arm(letter).input_text(common)
        try:
            self.workflows.start(task.executions[letter], text)
        except StartRefusedForNow:
            raise
        except StartRefused as refusal:
            return self._refused(task, refusal) if task.race is None else self.record_refusal(task, letter, refusal)
        return self.stop_if_ended(task, letter)

    def record_refusal(self, task: Task, letter: str, refusal: StartRefused) -> Task:
        """Record that an arm of a race cannot be started, and return the task."""
        return self.record(task, arm_ended_for_good(task, letter, events.WorkFailed(_not_started(refusal))))

    def _refused(self, task: Task, refusal: StartRefused) -> Task:
        # Only if the task is unchanged, and with a mark: a concurrent request may have started the execution, because
        # permissions do not change everywhere at once. The sweep stops it.
        failed = events.WorkFailed(_not_started(refusal), may_begin=True)
        return self.recorder.save_if_unchanged(task, failed) or self.recorder.load(task.key) or task

    def _redrive(self, task: Task, letter: str, attempt: Attempt) -> Task:
        execution, run = task.executions[letter], f"{letter}{attempt.run}"
        try:
            self.workflows.redrive(execution, f"{task.task_id}-{run}-{attempt.redrives}")
        except RedriveRefused:
            return self._after_refusal(task, letter, attempt, self.workflows.describe(execution))
        return self.stop_if_ended(task, letter)

    def _after_refusal(self, task: Task, letter: str, attempt: Attempt, state: ExecutionState) -> Task:
        """Find out why an execution is not redriven: because it runs again already, or because it cannot be."""
        execution = task.executions[letter]
        match state:
            case Running():
                return self.stop_if_ended(task, letter)
            case Missing():
                end: events.WorkEnded = events.WorkFailed(TaskError(InternalError.code, _GONE))
            case ended if self.has_begun(task, execution, ended):
                return self.record_end(task, execution, ended, EndSource.CHECK)
            case ended:
                end = self.recorder.event_of_end(task, ended)
        last = end if task.race is None else arm_ended_for_good(task, letter, end)
        return self.record(task, events.RedriveRefused(attempt.run, last, letter), EndSource.CHECK)

    def _audit(self, task: Task, letter: str) -> None:
        attempt = task.attempt_of(letter)
        outcome = f"attempt {attempt.number} of {attempt.policy.attempts}" if attempt else None
        with suppress(Exception):
            self.recorder.audit(AuditEntry(AuditAction.RETRIED, task.owner, task.work.tool, task.task_id, outcome))


def _not_started(refusal: StartRefused) -> TaskError:
    return TaskError(InternalError.code, f"The workflow could not be started: {refusal.reason}")


def _new_attempts(before: Task, after: Task) -> Iterator[str]:
    """Yield the letters of the attempts that follow a change, and that no process has begun before."""
    if after.has_ended:
        return
    if after.race is not None:
        yield from (arm.letter for arm in after.race.new_attempts(before.race))
    elif after.attempt is not None and after.attempt != before.attempt:
        yield ""
