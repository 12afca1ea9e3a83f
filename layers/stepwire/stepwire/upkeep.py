"""What every reader of a task does on the side, so that nothing else has to run: deliver, repair, look.

An answer that was recorded and not delivered is delivered. An execution that should have begun, or whose end was never
reported, is looked after; and the state that runs now is named. Of all who poll a task, one asks Step Functions, at
most once in an interval. Step Functions allows few looks a second, to the whole account: a look that it refuses is put
off, and the name of a state never keeps an end from being found.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from stepwire.allowance import Allowance
from stepwire.audit import Source
from stepwire.errors import (
    InternalError,
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    WorkflowsThrottled,
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
    state: timedelta = timedelta(seconds=60)
    """The same, for tasks that show the state that runs, where that is shorter; zero: none shows it."""


@dataclass(frozen=True)
class Upkeep:
    """Looks after tasks that are being read."""

    recorder: Recorder
    workflows: Workflows
    intervals: Intervals
    report: Callable[[Exception], None]
    """Told of what kept a task from being looked after; its caller is served with what is known."""
    history: Allowance = field(default_factory=Allowance)
    """The looks at histories that this function instance may make."""

    def kept(self, task: Task) -> Task:
        """Give a task that was read, after whatever it needs."""
        task = self.delivered(task)
        shows_state = self._may_look_at_state(task)
        if task.awaits_confirmation or not (shows_state or is_due(task, self.recorder.now(), self.intervals.repair)):
            return task
        # Claimed before looking: of all who poll this task, one asks Step Functions.
        claimed = self.recorder.claim(task, WorkChecked())
        if claimed is None:
            return task
        try:
            state = self._state_of(claimed) if shows_state else None
            if state is not None:
                return self.recorder.record(claimed, StateEntered(state)) or claimed
            return self._repaired(claimed)
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

    def _may_look_at_state(self, task: Task) -> bool:
        """Tell whether to ask for the state that runs; not where it is too early, or others need the quota."""
        # A workflow that reports its own progress has said all that the name of a state could.
        if not task.work.shows_state or task.progress is not None or self.intervals.state <= timedelta():
            return False
        now, interval = self.recorder.now(), min(self.intervals.state, self.intervals.repair)
        return not task.awaits_confirmation and is_due(task, now, interval) and self.history.take(now)

    def _state_of(self, task: Task) -> str | None:
        """Name the state that runs; None where that is not known, so that the execution itself is to be looked at."""
        try:
            return self.workflows.current_state(task.execution)
        except WorkflowsThrottled as error:
            self.report(error)
            self.history.pause(self.recorder.now())
            return None

    def _repaired(self, task: Task) -> Task:
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
