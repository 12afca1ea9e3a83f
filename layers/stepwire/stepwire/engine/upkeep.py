"""The upkeep by every reader of a task, which replaces a background process: deliver, repair, check.

Recorded answers that were not delivered are delivered. An execution that was never started is started, an end whose
event was lost is recorded, and the name of the current state is refreshed. Step Functions' quotas are low and shared by
the whole account: a task is checked at most once per interval, which grows with its age, and an instance has a budget
of checks (`Allowance`). A check writes once, with what it found. A throttled check writes nothing, so the next poll
repeats it. Refreshing the state's name never prevents the detection of an end.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from stepwire.audit import EndSource
from stepwire.engine.limiter import Allowance
from stepwire.engine.ports import Workflows
from stepwire.engine.recorder import Recorder
from stepwire.engine.runs import Runs
from stepwire.errors import KeyDenied, StoreBusy, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.hooks import Router
from stepwire.tasks.events import AnswersDelivered, Readdressed, StartPostponed, StateEntered, WorkChecked, WorkStopped
from stepwire.tasks.inputs import UndeliveredAnswer
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.outcomes import ExecutionState, Missing, Running
from stepwire.tasks.runs import Pending
from stepwire.tasks.task import Execution, Task, newest_states, reports_progress

HISTORIES_PER_SECOND: Final = 0.5
"""For one instance. AWS allows an account 20 GetExecutionHistory a second."""
DESCRIPTIONS_PER_SECOND: Final = 2.0
"""For one instance. AWS allows an account 15 DescribeExecution a second; throttled instances pause."""
STARTS_PER_SECOND: Final = 10.0
"""For one instance. AWS allows an account 150 to 300 StartExecution a second."""
NOT_SUPPORTED: Final = "Stepwire.InputNotSupported"
"""The error name of a state whose question cannot be answered."""
_NOT_ASKED: Final = "The question cannot be put to the user of the client that called."
REQUEST_RETENTION: Final = timedelta(days=1)
"""How long the task of a request is remembered: longer than any client waits for its response."""


class Intervals(Struct, frozen=True):
    """The minimum time between two checks of Step Functions for one task."""

    repair: timedelta = timedelta(seconds=60)
    state: timedelta = timedelta(seconds=60)
    """For tasks that show their current state, if shorter than `repair`; zero: no task shows it."""
    share_of_age: float = 0.05
    """The interval is at least this share of the task's age: an old task is checked less often; 0: it does not grow."""
    first_state: timedelta = timedelta(seconds=10)
    """As `state`, before the first check, so that whoever looks at a new task soon reads what it waits for."""

    def of(self, task: Task, at: datetime, *, shows_state: bool) -> timedelta:
        """Return the interval for a task of this age."""
        interval = min(self.state, self.repair) if shows_state else self.repair
        if shows_state and task.checked_at <= task.created_at:
            interval = min(interval, self.first_state)
        return max(interval, (at - task.created_at) * self.share_of_age)


class _Look(Enum):
    """What is asked of Step Functions when a task is checked."""

    STATE = "the state that the workflow is in"
    EXECUTION = "whether the executions are there, and go on"


class Upkeep(Struct, frozen=True):
    """Does the upkeep of tasks that are read."""

    recorder: Recorder
    workflows: Workflows
    runs: Runs
    intervals: Intervals
    report: Callable[[Exception], None]
    """Receives faults that postpone the upkeep; the caller still gets the recorded state."""
    routers: Mapping[str, Router] = MappingProxyType({})
    history_calls: Allowance = field(default_factory=lambda: Allowance(HISTORIES_PER_SECOND, 5))
    """Limits the calls of GetExecutionHistory by this function instance."""
    describe_calls: Allowance | None = field(default_factory=lambda: Allowance(DESCRIPTIONS_PER_SECOND, 20))
    """Limits the calls of DescribeExecution by this function instance; None: the caller limits them."""
    starts: Allowance = field(default_factory=lambda: Allowance(STARTS_PER_SECOND, 50))
    """Limits this function instance's repaired starts."""

    def after_upkeep(self, task: Task) -> Task:
        """Return the task after delivering pending answers and, if due, checking Step Functions."""
        now = self.recorder.clock.now()
        if task.has_ended:
            return self._after_stops(task, now)
        postponed = [index for index in task.runs_pending(Pending.START) if task.runs[index].is_due(now)]
        if postponed and self.starts.take(now):
            # Without a check first: a start is idempotent.
            is_wanted = self.is_wanted(task)
            return self.runs.start(task, postponed) if is_wanted else self._cancel_unstarted(task, postponed)
        if task.inputs.undelivered or task.questions:
            task = self._readdressed(self.after_delivery(task))
        looks = self._look_due(task, now)
        if looks is None:
            return task
        try:
            state = self._state_of(task) if looks is _Look.STATE else None
            return self._repair(task) if state is None else self._checked(task, state)
        except WorkflowsUnavailable as error:
            self.report(error)
            if not isinstance(error, WorkflowsThrottled):
                return self._checked(task)
            if self.describe_calls is not None:
                self.describe_calls.pause(self.recorder.clock.now())
            return task

    def passed_states(self, task: Task) -> tuple[str, ...]:
        """Return the names of the states that a task's workflow has entered, read again after its end.

        A task that ended before a check has none. Without budget, the recorded names are returned.
        """
        known = task.states or ()
        if not (task.work.shows_state and task.has_ended and self.history_calls.take(self.recorder.clock.now())):
            return known
        try:
            return newest_states((*known, *self.workflows.passed_states(task.execution)))
        except WorkflowsUnavailable as error:
            self.report(error)
            if isinstance(error, WorkflowsThrottled):
                self.history_calls.pause(self.recorder.clock.now())
            return known

    def after_questions(self, task: Task) -> Task:
        """Return a running task after delivering answers, announcing questions again and removing expired ones.

        The write without an expired question announces its end through the table's stream.
        """
        task = self._readdressed(self.after_delivery(task))
        left = as_of(task, self.recorder.clock.now()).questions
        return self._checked(task) if len(left) < len(task.questions) else task

    def after_delivery(self, task: Task) -> Task:
        """Return the task after delivering the answers that its workflow may not have received, at least once.

        An answer for which nobody waited stays with the task, for the retry of the state that asked: Step Functions
        retries a state whose question was recorded, if the function's response was lost.
        """
        done, unclaimed = set[str](), set[str]()
        for one in task.inputs.undelivered:
            try:
                if not one.is_unclaimed:
                    (done if self._deliver(one) else unclaimed).add(one.token)
            except WorkflowsUnavailable as error:
                self.report(error)
        if not done and not unclaimed:
            return task
        return self.recorder.record(task, AnswersDelivered(frozenset(done), frozenset(unclaimed))) or task

    def delivered(self, task: Task) -> Task:
        """Return the task after delivering recorded answers; after a fault, as it was: readers and the sweep do it."""
        try:
            return self.after_delivery(task)
        except Exception as fault:  # noqa: BLE001 - the answers are recorded
            self.report(fault)
            return task

    def _readdressed(self, task: Task) -> Task:
        """Return the task after announcing again the questions to others for which it is time."""
        now = self.recorder.clock.now()
        readdressed = (router.readdressed(task, now) for router in self.routers.values())
        audiences = {number: audience for some in readdressed for number, audience in some.items()}
        # Without a retry: whoever saved first has announced them, or the next reader does.
        return self.recorder.save_if_unchanged(task, Readdressed(audiences)) or task if audiences else task

    def _deliver(self, one: UndeliveredAnswer) -> bool:
        """Deliver an answer; return False if certainly nobody waited for it."""
        text = one.text()
        if text is not None:
            return self.workflows.complete_callback(one.token, text)
        self.workflows.fail_callback(one.token, NOT_SUPPORTED, _NOT_ASKED)
        return True

    def secured(self, task: Task) -> Task:
        """Return the task of a repeated call after a save, and after starting its work if that has not begun.

        The first call may have died before the start, or may take the task back, but not after another save. If another
        process saves first, the task is returned as it is.
        """
        if task.has_ended or task.awaits_confirmation:  # nothing starts any more, or not yet
            return self.recorder.save_if_unchanged(task, WorkChecked()) or task
        try:
            repaired = self._repair(task)
        except WorkflowsUnavailable as error:
            self.report(error)
            due = frozenset(task.due_runs(self.recorder.clock.now()))
            return self.recorder.save_if_unchanged(task, StartPostponed(due)) or task
        is_saved = repaired.version > task.version
        return repaired if is_saved else self.recorder.save_if_unchanged(task, WorkChecked()) or task

    def _look_due(self, task: Task, now: datetime) -> "_Look | None":
        """Return the check that is due for a task, within this instance's budget; None: none is."""
        if task.has_ended or task.awaits_confirmation:
            return None
        unchecked = now - task.checked_at
        # The workflow's own progress takes precedence over the name of a state; with several runs, one run's state
        # would mislead.
        shows_state = task.work.shows_state and self.intervals.state > timedelta() and len(task.runs) == 1
        shows_state = shows_state and bool(task.due_runs(now))
        if shows_state and not reports_progress(task):
            if unchecked < self.intervals.of(task, now, shows_state=True):
                return None
            if self.history_calls.take(now):
                return _Look.STATE
        if unchecked < self.intervals.of(task, now, shows_state=False):
            return None
        if not task.due_runs(now):  # all wait in line: there is no execution to describe
            return _Look.EXECUTION
        return _Look.EXECUTION if self.describe_calls is None or self.describe_calls.take(now) else None

    def _checked(self, task: Task, state: StateEntered | None = None) -> Task:
        """Return the task after a check, written once; another reader's version if it was faster."""
        checked = self.recorder.save_if_unchanged(task, WorkChecked(state))
        return checked or self.recorder.load(task.key) or task

    def _state_of(self, task: Task) -> StateEntered | None:
        """Return the current state; None if unknown, in which case the execution itself must be checked."""
        try:
            state = self.workflows.current_state(task.execution)
        except KeyDenied as error:
            self.report(error)
            return None
        except WorkflowsThrottled as error:
            self.report(error)
            self.history_calls.pause(self.recorder.clock.now())
            return None
        self.history_calls.resume()
        return state

    def _repair(self, task: Task) -> Task:
        """Describe the task's executions, record an end, start what was never started; return the task."""
        now = self.recorder.clock.now()
        task, missing = self._examined(task, now)
        if task.has_ended:
            return task
        if missing:
            return self._begun(task, missing)
        waiting = task.waiting_runs(now)
        if waiting:
            return self._in_line(task, waiting)
        return task if task.checked_at >= now else self._checked(task)

    def _in_line(self, task: Task, waiting: Sequence[int]) -> Task:
        """Return the task after checking its line: runs that have a turn by now begin."""
        try:
            return self.runs.start(task, waiting)
        except StoreBusy as fault:
            self.report(fault)
            return task

    def _examined(self, task: Task, now: datetime) -> tuple[Task, list[int]]:
        """Describe the executions that must exist; return the task after their ends, and the runs without any."""
        missing = list[int]()
        for number, run in enumerate(task.due_runs(now)):
            if number and self.describe_calls is not None:
                self.describe_calls.take(now)  # one was taken before; each further run is a call
            match self._described(task.execution_of(run)):
                case Running():
                    pass
                case Missing():
                    missing.append(run)
                case end if self.runs.has_begun(task, run, end):
                    task = self.runs.record_end(task, run, end, EndSource.CHECK)
                case _:  # it has failed, and is to be redriven
                    missing.append(run)
            if task.has_ended:
                break
        return task, missing

    def _described(self, execution: Execution) -> ExecutionState:
        state = self.workflows.describe(execution)
        if self.describe_calls is not None:
            self.describe_calls.resume()
        return state

    def _begun(self, task: Task, runs: Sequence[int]) -> Task:
        """Return the task after starting or redriving what was never started; only one of several readers does so."""
        checked = self.recorder.save_if_unchanged(task, WorkChecked())
        if checked is None:
            return task
        if not self.is_wanted(checked):
            return self._cancel_unstarted(checked, runs)
        return self.runs.start(checked, [run for run in runs if checked.runs[run].is_open])

    def is_wanted(self, task: Task) -> bool:
        """Tell whether the client has not cancelled the request; the call itself may have died before this check."""
        request = task.origin.request
        if request is None:
            return True
        until = self.recorder.clock.now() + REQUEST_RETENTION
        return self.recorder.store.begin_request(task.owner, request, task.task_id, until)

    def _cancel_unstarted(self, task: Task, unstarted: Sequence[int]) -> Task:
        due = task.due_runs(self.recorder.clock.now())
        stopped = self.runs.stop(task, (run for run in due if run not in unstarted), "The request was cancelled.")
        event = WorkStopped("The request was cancelled before its work began.", stopped)
        after = self.recorder.advanced(task, event)
        if after is None:
            return task
        return self.runs.perform(after, but=frozenset(task.execution_of(run).name for run in range(len(task.runs))))

    def _after_stops(self, task: Task, now: datetime) -> Task:
        """Return an ended task after stopping executions that may still run, an interval after its end."""
        if not task.runs_pending(Pending.STOP):
            return task
        if now - task.checked_at < self.intervals.of(task, now, shows_state=False):
            return task
        try:
            return self.runs.stop_pending(task, is_late=True)
        except Exception as fault:  # noqa: BLE001 - the caller gets the result; the sweep tries again
            self.report(fault)
            return task
