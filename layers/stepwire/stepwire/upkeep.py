"""What every reader of a task does on the side, so that nothing else has to run: deliver, repair, look.

An answer that was recorded and not delivered is delivered. An execution that should have begun, or whose end was never
reported, is looked after; and the state that runs now is named. Of all who poll a task, one asks Step Functions, at
most once in an interval.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from stepwire.audit import Source
from stepwire.errors import (
    InternalError,
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    WorkflowsUnavailable,
)
from stepwire.ports import Workflows
from stepwire.recorder import Recorder, is_due
from stepwire.tasks.events import AnswersDelivered, StateEntered, WorkChecked, WorkFailed, WorkStopped
from stepwire.tasks.inputs import InputResponse, UndeliveredAnswer
from stepwire.tasks.outcomes import Missing, Running, event_of, fitted
from stepwire.tasks.task import Task, TaskError

REQUEST_KEPT: Final = timedelta(days=1)
"""How long it is kept which task does the work of a request: longer than any client waits for its response."""
NOT_SUPPORTED: Final = "Stepwire.InputNotSupported"
"""The error with which a state fails whose question nobody can answer."""


@dataclass(frozen=True)
class Intervals:
    """How long nobody has looked at Step Functions for a task before somebody does."""

    repair: timedelta = timedelta(seconds=60)
    state: timedelta = timedelta(seconds=30)
    """The same, for tasks that show the state that runs; zero: none does."""


@dataclass(frozen=True)
class Upkeep:
    """Looks after tasks that are being read."""

    recorder: Recorder
    workflows: Workflows
    intervals: Intervals
    report: Callable[[Exception], None]
    """Told of what kept a task from being looked after; its caller is served with what is known."""

    def kept(self, task: Task) -> Task:
        """Give a task that was read, after whatever it needs."""
        task = self.delivered(task)
        if task.awaits_confirmation or not is_due(task, self.recorder.now(), self._interval(task)):
            return task
        # Claimed before looking: of all who poll this task, one asks Step Functions.
        claimed = self.recorder.claim(task, WorkChecked())
        if claimed is None:
            return task
        try:
            return self._looked_at(claimed)
        except (WorkflowsUnavailable, StartUnclear, StartRefusedForNow) as error:
            self.report(error)
            return claimed

    def delivered(self, task: Task) -> Task:
        """Give the workflow the answers that it may not have got yet; whoever waits no more needs none."""
        done = frozenset(one.token for one in task.inputs.undelivered if self._deliver(one))
        if not done:
            return task
        return self.recorder.record(task, AnswersDelivered(done)) or task

    def started(self, task: Task) -> Task:
        """Start the execution of a task that nobody waits for; a refusal ends the task, if nobody else has it."""
        try:
            self.workflows.start(task.execution, task.work.input)
        except StartRefusedForNow:
            raise
        except StartRefused as refusal:
            error = TaskError(InternalError.code, f"The workflow could not be started: {refusal.reason}")
            # Only as the first: whoever has looked at it meanwhile may have started its execution.
            return self.recorder.claim(task, WorkFailed(error)) or self.recorder.load(task.key) or task
        return self.still_wanted(task)

    def _interval(self, task: Task) -> timedelta:
        intervals = self.intervals
        return min(intervals.state, intervals.repair) if self._shows_state(task) else intervals.repair

    def _shows_state(self, task: Task) -> bool:
        # A workflow that reports its own progress has said all that the name of a state could.
        return task.work.shows_state and task.progress is None and self.intervals.state > timedelta()

    def _looked_at(self, task: Task) -> Task:
        state = self.workflows.current_state(task.execution) if self._shows_state(task) else None
        if state is not None:
            return self.recorder.record(task, StateEntered(state)) or task
        match self.workflows.describe(task.execution):
            case Running():
                return task
            case Missing():
                return self.started(task) if self._is_wanted(task) else self._given_up(task)
            case end:
                event = fitted(event_of(end, task.work.output_schema, task.work.causes))
                return self.recorder.record(task, event, Source.LOOK) or task

    def _is_wanted(self, task: Task) -> bool:
        """Tell whether the request that a task is for goes on; its call may have died before it looked."""
        request, until = task.origin.request, self.recorder.now() + REQUEST_KEPT
        return request is None or self.recorder.store.begin_request(task.owner, request, task.task_id, until)

    def _given_up(self, task: Task) -> Task:
        stopped = WorkStopped("The request was cancelled before its work began.", may_begin=True)
        return self.recorder.record(task, stopped) or task

    def still_wanted(self, task: Task) -> Task:
        """Return a task as it is after its execution was started; stop that if the task has ended meanwhile."""
        current = self.recorder.load(task.key)
        if current is not None and not current.has_ended:
            return current
        self.workflows.stop(task.execution, "The task had ended before its execution began.")
        return current or task

    def _deliver(self, one: UndeliveredAnswer) -> bool:
        try:
            if isinstance(one.answer, InputResponse):
                self.workflows.resume(one.token, one.answer.text())
            else:
                self.workflows.break_off(one.token, NOT_SUPPORTED, "The client cannot ask its user.")
        except WorkflowsUnavailable as error:
            self.report(error)
            return False
        return True
