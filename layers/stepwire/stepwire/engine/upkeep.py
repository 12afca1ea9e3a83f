"""The upkeep that every reader of a task does, so that no background process is needed: deliver, repair, check.

Recorded answers that were not delivered are delivered. An execution that was never started is started, an end whose
event was lost is recorded, and the name of the current state is refreshed. Per task and interval, only one reader
calls Step Functions, whose quotas are low and shared by the whole account. A throttled check is postponed, and
refreshing the state's name never prevents the detection of an end.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from stepwire.audit import EndSource
from stepwire.engine.allowance import Allowance
from stepwire.engine.ports import Workflows
from stepwire.engine.recorder import Recorder, is_check_due
from stepwire.errors import (
    InternalError,
    KeyDenied,
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    WorkflowsThrottled,
    WorkflowsUnavailable,
)
from stepwire.lean_dataclasses import dataclass, field
from stepwire.tasks.events import AnswersDelivered, StateEntered, WorkChecked, WorkFailed, WorkStopped
from stepwire.tasks.inputs import InputResponse, UndeliveredAnswer
from stepwire.tasks.outcomes import Missing, Running
from stepwire.tasks.task import Task, TaskError, reports_progress

REQUEST_RETENTION: Final = timedelta(days=1)
"""How long the task of a request is remembered: longer than any client waits for its response."""
NOT_SUPPORTED: Final = "Stepwire.InputNotSupported"
"""The error name of a state whose question cannot be answered."""


@dataclass(frozen=True)
class Intervals:
    """The minimum time between two checks of Step Functions for one task."""

    repair: timedelta = timedelta(seconds=60)
    state: timedelta = timedelta(seconds=60)
    """For tasks that show their current state, if shorter than `repair`; zero: no task shows it."""


@dataclass(frozen=True)
class Upkeep:
    """Does the upkeep of tasks that are read."""

    recorder: Recorder
    workflows: Workflows
    intervals: Intervals
    report: Callable[[Exception], None]
    """Receives faults that postpone the upkeep; the caller gets the recorded state."""
    history_calls: Allowance = field(default_factory=Allowance)
    """Limits the calls of GetExecutionHistory by this function instance."""

    def after_upkeep(self, task: Task) -> Task:
        """Return the task after delivering pending answers and, if due, checking Step Functions."""
        task = self.after_delivery(task)
        shows_state = self._may_look_at_state(task)
        if task.awaits_confirmation or not (
            shows_state or is_check_due(task, self.recorder.now(), self.intervals.repair)
        ):
            return task
        # The conditional save comes first: of all concurrent readers, only one calls Step Functions.
        checked = self.recorder.save_if_unchanged(task, WorkChecked())
        if checked is None:
            return task
        try:
            state = self._state_of(checked) if shows_state else None
            if state is not None:
                return self.recorder.record(checked, state) or checked
            return self._repair(checked)
        except (WorkflowsUnavailable, StartUnclear, StartRefusedForNow) as error:
            self.report(error)
            return checked

    def after_delivery(self, task: Task) -> Task:
        """Return the task after delivering the answers that its workflow may not have received."""
        done = frozenset(one.token for one in task.inputs.undelivered if self._deliver(one))
        if not done:
            return task
        return self.recorder.record(task, AnswersDelivered(done)) or task

    def after_start(self, task: Task) -> Task:
        """Return the task after starting its execution; a refused start ends the task with an error."""
        try:
            self.workflows.start(task.execution, self.recorder.store.terms_of(task).input)
        except StartRefusedForNow:
            raise
        except StartRefused as refusal:
            error = TaskError(InternalError.code, f"The workflow could not be started: {refusal.reason}")
            # Only if the task is unchanged: a concurrent reader may have started the execution.
            return self.recorder.save_if_unchanged(task, WorkFailed(error)) or self.recorder.load(task.key) or task
        return self.stop_if_ended(task)

    def _may_look_at_state(self, task: Task) -> bool:
        """Tell whether to refresh the current state: only if shown, due, and within this instance's rate limit."""
        # Progress that the workflow reports itself says more than the name of a state.
        if not task.work.shows_state or reports_progress(task) or self.intervals.state <= timedelta():
            return False
        now, interval = self.recorder.now(), min(self.intervals.state, self.intervals.repair)
        return not task.awaits_confirmation and is_check_due(task, now, interval) and self.history_calls.take(now)

    def _state_of(self, task: Task) -> StateEntered | None:
        """Return the current state; None if unknown, in which case the execution itself must be checked."""
        try:
            return self.workflows.current_state(task.execution)
        except KeyDenied as error:
            self.report(error)
            return None
        except WorkflowsThrottled as error:
            self.report(error)
            self.history_calls.pause(self.recorder.now())
            return None

    def _repair(self, task: Task) -> Task:
        match self.workflows.describe(task.execution):
            case Running():
                return task
            case Missing():
                return self.after_start(task) if self._is_wanted(task) else self._cancel_unstarted(task)
            case end:
                return self.recorder.record_end(task, end, EndSource.CHECK) or task

    def _is_wanted(self, task: Task) -> bool:
        """Tell whether the client has not cancelled the request; the call itself may have died before this check."""
        request, until = task.origin.request, self.recorder.now() + REQUEST_RETENTION
        return request is None or self.recorder.store.begin_request(task.owner, request, task.task_id, until)

    def _cancel_unstarted(self, task: Task) -> Task:
        stopped = WorkStopped("The request was cancelled before its work began.", may_begin=True)
        return self.recorder.record(task, stopped) or task

    def stop_if_ended(self, task: Task) -> Task:
        """Return the current task after a start; if it has ended meanwhile, stop its execution."""
        current = self.recorder.load(task.key)
        if current is not None and not current.has_ended:
            return current
        self.workflows.stop(task.execution, "The task had ended before its execution began.")
        return current or task

    def _deliver(self, one: UndeliveredAnswer) -> bool:
        try:
            if isinstance(one.answer, InputResponse):
                self.workflows.complete_callback(one.token, one.answer.text())
            else:
                self.workflows.fail_callback(one.token, NOT_SUPPORTED, "The client cannot ask its user.")
        except WorkflowsUnavailable as error:
            self.report(error)
            return False
        return True
