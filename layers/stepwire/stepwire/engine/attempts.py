"""The attempts of tasks with a retry policy: record the end of one, begin the next one.

What follows an end is decided by `lifecycle.advance` and saved; only then does the next attempt begin. So whoever finds
that it has not begun may begin it: a wake-up, a reader or the sweep. Starting is idempotent by name and redriving by
token, so the attempt begins once. A task without a policy ends with its execution.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

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
from stepwire.lean_dataclasses import dataclass
from stepwire.tasks import events
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.outcomes import ExecutionEnd, ExecutionState, Missing, Running, attempt_ended, redrives_of
from stepwire.tasks.retries import Attempt
from stepwire.tasks.task import Task, TaskError

_SECOND_TRY: Final = timedelta(seconds=10)
"""When an attempt is begun again that could not be begun now."""
_GONE: Final = "The workflow failed, and its execution is no longer there to be redriven."


class NoWakeUps:
    """Wakes nobody: the next reader or the sweep begins an attempt."""

    def schedule(self, key: TaskKey, delay: timedelta) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Attempts:
    """Records the ends of executions, and begins the attempts that follow."""

    recorder: Recorder
    workflows: Workflows
    wake_ups: WakeUps
    report: Callable[[Exception], None]
    """Receives faults that delay the next attempt."""

    def record_end(self, task: Task, end: ExecutionEnd, source: EndSource) -> Task:
        """Record the end of a task's execution; if another attempt follows, begin or schedule it. Return the task."""
        event = attempt_ended(task, end, self.recorder.event_of_end(task, end))
        recorded = self.recorder.record(task, event, source)
        if recorded is None or not _has_new_attempt(task, recorded):
            return recorded or task
        self._audit(recorded)
        return self._begin_or_schedule(recorded)

    def wake(self, key: TaskKey) -> None:
        """Begin the attempt of a task that is due. Does nothing for a task that has ended, or that has one attempt.

        Raises:
            WorkflowsUnavailable, StartUnclear, StartRefusedForNow: it may not have begun; wake the task again.
            WakeUpsUnavailable: it is not due yet, and could not be scheduled again.
        """
        task = self.recorder.load(key)
        if task is None or task.has_ended or not task.is_retried:
            return
        left = self._time_left(task)
        if left > timedelta():
            self.wake_ups.schedule(key, left)
        else:
            self.begin(task)

    def begin(self, task: Task) -> Task:
        """Start or redrive the execution of a task's attempt, and return the task. Idempotent.

        Raises:
            WorkflowsUnavailable, StartUnclear, StartRefusedForNow: it may not have begun.
        """
        attempt = task.attempt
        return self._redrive(task, attempt) if attempt and attempt.is_redriven else self._start(task)

    def has_begun(self, task: Task, end: ExecutionEnd) -> bool:
        """Tell whether an execution that has ended did so in the task's attempt, and not before it was redriven."""
        return task.attempt is None or redrives_of(end) >= task.attempt.redrives

    def stop_if_ended(self, task: Task) -> Task:
        """Return the current task after a start; if it has ended meanwhile, stop its execution."""
        current = self.recorder.load(task.key)
        if current is not None and not current.has_ended:
            return current
        self.workflows.stop(task.execution, "The task had ended before its execution began.")
        return current or task

    def _begin_or_schedule(self, task: Task) -> Task:
        left = self._time_left(task)
        if left <= timedelta():
            try:
                return self.begin(task)
            except (WorkflowsUnavailable, StartUnclear, StartRefusedForNow) as fault:
                self.report(fault)
                left = _SECOND_TRY
        try:
            self.wake_ups.schedule(task.key, left)
        except WakeUpsUnavailable as fault:
            self.report(fault)
        return task

    def _time_left(self, task: Task) -> timedelta:
        begins_at = None if task.attempt is None else task.attempt.begins_at
        return timedelta() if begins_at is None else begins_at - self.recorder.now()

    def _start(self, task: Task) -> Task:
        try:
            self.workflows.start(task.execution, self.recorder.store.terms_of(task).input)
        except StartRefusedForNow:
            raise
        except StartRefused as refusal:
            error = TaskError(InternalError.code, f"The workflow could not be started: {refusal.reason}")
            # Only if the task is unchanged: a concurrent reader may have started the execution.
            failed = self.recorder.save_if_unchanged(task, events.WorkFailed(error))
            return failed or self.recorder.load(task.key) or task
        return self.stop_if_ended(task)

    def _redrive(self, task: Task, attempt: Attempt) -> Task:
        try:
            self.workflows.redrive(task.execution, f"{task.task_id}-{attempt.run}-{attempt.redrives}")
        except RedriveRefused:
            return self._after_refusal(task, attempt, self.workflows.describe(task.execution))
        return self.stop_if_ended(task)

    def _after_refusal(self, task: Task, attempt: Attempt, state: ExecutionState) -> Task:
        """Find out why an execution is not redriven: because it runs again already, or because it cannot be."""
        match state:
            case Running():
                return self.stop_if_ended(task)
            case Missing():
                end: events.WorkEnded = events.WorkFailed(TaskError(InternalError.code, _GONE))
            case ended if self.has_begun(task, ended):
                return self.record_end(task, ended, EndSource.CHECK)
            case ended:
                end = self.recorder.event_of_end(task, ended)
        recorded = self.recorder.record(task, events.RedriveRefused(attempt.run, end), EndSource.CHECK) or task
        return recorded if recorded.has_ended else self._begin_or_schedule(recorded)

    def _audit(self, task: Task) -> None:
        attempt = task.attempt
        outcome = f"attempt {attempt.number} of {attempt.policy.attempts}" if attempt else None
        with suppress(Exception):
            self.recorder.audit(AuditEntry(AuditAction.RETRIED, task.owner, task.work.tool, task.task_id, outcome))


def _has_new_attempt(before: Task, after: Task) -> bool:
    return not after.has_ended and after.attempt is not None and after.attempt != before.attempt
