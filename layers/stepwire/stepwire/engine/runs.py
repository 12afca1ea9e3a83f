"""The runs of tasks: begin them, stop them, record their ends, and do what follows. All effects are performed here.

What follows an event is decided by `lifecycle.advance` and saved; only then is it done. So whoever finds that it was
not done may do it: a wake-up, a reader or the sweep. Starting is idempotent by the execution's name and redriving by a
token, so an attempt begins once. The end of a task is saved before its other runs are stopped, and says which of them
may run on (`Pending.STOP`) until they are known to be stopped. No other module starts, redrives or stops an execution;
only calls that are no tasks (`express`) start theirs themselves.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.audit import AuditAction, EndSource
from stepwire.engine.ports import WakeUps, Workflows
from stepwire.engine.recorder import Recorder
from stepwire.errors import (
    InternalError,
    LimitReached,
    RedriveRefused,
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    WakeUpsUnavailable,
    WorkflowsUnavailable,
)
from stepwire.tasks.events import (
    Advanced,
    Begin,
    GiveBack,
    LineChecked,
    RunEnded,
    RunNotRedriven,
    RunsStopped,
    StartPostponed,
    WorkBegun,
    WorkEnded,
    WorkFailed,
)
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.limits import InLine
from stepwire.tasks.outcomes import ExecutionEnd, Missing, Running, end_without_execution, redrives_of, run_ended
from stepwire.tasks.runs import Pending, RunState, may_have_started
from stepwire.tasks.task import Task, TaskError

if TYPE_CHECKING:
    from stepwire.engine.turns import Called, Turns

_SECOND_TRY: Final = timedelta(seconds=10)
"""When a run is begun again that could not begin now."""
_PAUSES: Final = (0.2, 0.5, 0.0)  # seconds, after a mark that could not be written
_TIME_TO_NOTE: Final = timedelta(seconds=2)
_GONE: Final = "The workflow failed, and its execution is no longer there to be redriven."
BEGUN_TOO_LATE: Final = "The task had ended before its execution began."
_LOST: Final = "The task had ended before its execution did."


class NoWakeUps:
    """Wakes nobody: the next reader or the sweep begins an attempt."""

    def schedule(self, key: TaskKey, delay: timedelta, run: int = 0) -> None:
        """Do nothing."""


class _Starts(Struct, frozen=True):
    """What came of starting runs; all others have begun."""

    refusals: Mapping[int, StartRefused] = field(default_factory=dict[int, StartRefused])
    """By the index of the run: it cannot be started."""
    faults: Mapping[int, Exception] = field(default_factory=dict[int, Exception])
    """By the index of the run: it may not have begun, and can begin later."""
    not_redriven: Collection[int] = ()
    """The indices of the runs whose executions Step Functions does not redrive."""


class Runs(Struct, frozen=True):
    """Begins runs, records their ends, and stops those that nobody needs any more."""

    recorder: Recorder
    workflows: Workflows
    wake_ups: WakeUps
    report: Callable[[Exception], None]
    """Receives faults that delay what follows."""

    def begin(self, task: Task, common_input: str, at: datetime) -> Task:
        """Start the runs of a new task that are due, schedule the others, and return the task. Idempotent.

        Runs of a tool with a limit get their turns first, or their places in line. Their task has been saved by then:
        a refused start fails it.

        Raises:
            StartRefused: Step Functions refused to start any of the runs; none runs.
            LimitReached: no run may wait for its turn; none has a place.
        """
        due, waiting = task.due_runs(at), task.waiting_runs(at)
        starts = self._start(task, due, common_input)
        refused = {**starts.refusals, **{i: one for i, one in starts.faults.items() if isinstance(one, StartRefused)}}
        if due and len(refused) == len(due):
            raise min(refused.values(), key=lambda one: not isinstance(one, StartRefusedForNow))
        for index, run in enumerate(task.runs):
            if run.is_open and run.attempt.time_left(at):
                self.schedule(task, run.attempt.time_left(at), index)
        if waiting:
            return self._first_in_turn(task, waiting)
        try:
            return self._after_starts(task, starts)
        except Exception as fault:  # noqa: BLE001 - runs have begun; readers and the sweep do the rest
            self.report(fault)
            return task

    def start(self, task: Task, runs: Collection[int]) -> Task:
        """Start or redrive runs of a stored task, and return it. Idempotent.

        A refused start ends the run. One that may begin later is marked and scheduled. If the task has ended meanwhile,
        what has begun is stopped. A run that needs a turn starts if it has one.
        """
        waiting = frozenset(runs).intersection(task.runs_pending(Pending.TURN))
        if waiting:
            task, taken = self._in_turn(task, sorted(waiting))
            runs = frozenset(runs) - waiting | frozenset(taken)
        return self._begun(task, runs) if runs else task

    def _begun(self, task: Task, runs: Collection[int]) -> Task:
        starts = self._start(task, runs)
        is_marked = any(task.runs[index].pending is Pending.START for index in runs)
        after = self._after_starts(task, starts)
        begun = frozenset(runs) - starts.refusals.keys() - starts.faults.keys() - frozenset(starts.not_redriven)
        if not begun or (after.version > task.version and not after.has_ended and not starts.refusals and is_marked):
            return after  # a save has shown that the task goes on
        return self.stop_if_ended(task, begun)

    def stop_if_ended(self, task: Task, begun: Collection[int]) -> Task:
        """Return the current task after the start of some of its runs; if it has ended meanwhile, stop these."""
        current = self.recorder.load(task.key)
        if current is not None and not current.has_ended:
            return current
        if current is not None and current.runs_pending(Pending.STOP):
            return self.stop_pending(current)
        self.stop(task, begun, BEGUN_TOO_LATE)
        self.give_back(task, begun)
        return current or task

    def record_end(self, task: Task, run: int, end: ExecutionEnd, source: EndSource) -> Task:
        """Record the end of the execution of a run, do what follows, and return the task."""
        ended = run_ended(task, run, end, self.recorder.event_of_end(task, end))
        return self._followed(task, self.recorder.advanced(task, ended, source))

    def perform(self, after: Advanced) -> Task:
        """Do what follows an event, and return the task.

        Raises:
            StopRefused, Exception: a run could not be stopped; the others are.
        """
        task, starts = after.task, list[int]()
        for effect in after.effects:
            match effect:
                case GiveBack(run):
                    self.give_back(task, [run], is_retried=not task.has_ended)
                case Begin(run, at) if at is not None:
                    self.schedule(task, at - self.recorder.clock.now(), run)
                case Begin(run):
                    starts.append(run)
        if task.has_ended:
            return self.stop_pending(task)
        return self.start(task, starts) if starts else task

    def finish(self, task: Task, run: int) -> None:
        """Finish what a process that died after it had recorded the end of a run has left to be done."""
        self.give_back(task, [run])
        if not task.runs[run].is_open:
            self.stop_pending(task)

    def give_back(self, task: Task, runs: Collection[int], *, later: bool = False, is_retried: bool = False) -> None:
        """Give back the turns and the places of runs that need them no more, and begin who gets the turns. Idempotent.

        A fault is reported: what is left is found by the next look at the line.

        Args:
            task: the task.
            runs: the indices of the runs.
            later: whether whoever gets a turn is woken, and begins in another process.
            is_retried: whether those that are open give back what attempts before their next ones had.
        """
        if task.line is None:
            return
        from stepwire.engine.turns import tickets_of  # noqa: PLC0415 - few tools have a limit

        for ticket in tickets_of(task.key, sorted(runs)):
            run = task.runs[ticket.run]
            begins_at = run.attempt.begins_at if is_retried and run.is_open else None
            try:
                self.call(self.turns.give_back(task.line.line, ticket, begins_at), later=later)
            except Exception as fault:  # noqa: BLE001 - the end of the task is recorded
                self.report(fault)

    def hold(self, task: Task, run: int) -> None:
        """Count a run that runs already among those with a turn. Idempotent."""
        if task.line is not None:
            self.turns.hold(task, run)

    def mend_line(self, line: str) -> None:
        """Do what processes that died have left undone in a line."""
        self.call(self.turns.mend(line))

    def call(self, called: "Collection[Called]", *, later: bool = False) -> None:
        """Begin runs that have got their turns. One that cannot begin now is woken."""
        waiting = deque(called)
        while waiting:
            one = waiting.popleft()
            try:
                if later:
                    self.wake_ups.schedule(one.ticket.key, timedelta(), one.ticket.run)
                else:
                    waiting += self._begin_called(one)
            except Exception as fault:  # noqa: BLE001 - the others have nothing to do with it
                self.report(fault)
                self.turns.wake(one.ticket, _SECOND_TRY)

    def _begin_called(self, one: "Called") -> "Collection[Called]":
        """Begin a run that has got its turn; return who gets the turn if its task needs it no more."""
        task, run = self.recorder.load(one.ticket.key), one.ticket.run
        if task is not None and run in task.waiting_runs(self.recorder.clock.now()):
            after = self.recorder.advanced(task, LineChecked(frozenset({run})))
            if after is not None and after.task.runs[run].is_open and not after.task.has_ended:
                self._begun(after.task, [run])
                return ()
            task = None if after is None else after.task
        if task is None or task.has_ended or not task.runs[run].is_open:
            return () if self._may_run_on(task, run) else self.turns.give_back(one.line, one.ticket)
        return ()

    def _may_run_on(self, task: Task | None, run: int) -> bool:
        return task is not None and task.runs[run].pending is Pending.STOP

    @property
    def turns(self) -> "Turns":
        """What gives turns to runs."""
        from stepwire.engine.turns import Turns  # noqa: PLC0415 - few tools have a limit

        return Turns(self.recorder, self.workflows, self.wake_ups, self.report)

    def _first_in_turn(self, task: Task, runs: Sequence[int]) -> Task:
        """Let the runs of a new task ask for their turns, and begin those that have theirs.

        A fault postpones that: the task is written already.
        """
        try:
            task, taken = self._in_turn(task, runs, is_new=True)
            return self._begun(task, taken) if taken else task
        except LimitReached:
            raise
        except Exception as fault:  # noqa: BLE001 - they are woken; readers and the sweep ask for them too
            self.report(fault)
            for index in runs:
                self.schedule(task, run=index)
            return task

    def _in_turn(self, task: Task, runs: Sequence[int], *, is_new: bool = False) -> tuple[Task, tuple[int, ...]]:
        """Let runs ask for their turns; return the task, and the runs that have theirs and may begin.

        Raises:
            LimitReached: of a new task: no run may wait for its turn.
        """
        taken, standings, others = list[int](), list[InLine](), list[Any]()
        for index in runs:
            standing = self.turns.ask(task, index, together=len(runs) if is_new and index == runs[0] else 0)
            others += standing.called
            if standing.in_line is None:
                taken.append(index)
            else:
                standings.append(standing.in_line)
        after = self.recorder.advanced(task, LineChecked(frozenset(taken), standings[0] if standings else None))
        current = task if after is None else after.task
        if after is None or current.has_ended:
            self.give_back(task, [index for index in runs if not self._may_run_on(current, index)])
            taken.clear()
        self.call(others)
        return current, tuple(index for index in taken if current.runs[index].is_open)

    def wake(self, key: TaskKey, run: int = 0) -> None:
        """Begin a run that is due.

        Does nothing for a task or a run that has ended, or for a run that began with its task. But of a line one run is
        woken for all who wait, so its free turns are handed out whatever has become of that run.

        Raises:
            WakeUpsUnavailable: it is not due yet, and could not be scheduled again.
        """
        stored = self.recorder.store.load(key)
        task = self.recorder.load(key, stored) if stored else None
        if task is not None:
            self._wake_run(task, run)
        if stored is not None and stored.line is not None:  # also of a task that has expired
            self.call(self.turns.fill(stored.line.line))

    def _wake_run(self, task: Task, run: int) -> None:
        if task.has_ended or run >= len(task.runs) or not task.runs[run].is_open:
            return
        one = task.runs[run]
        left = one.attempt.time_left(self.recorder.clock.now())
        begins_with_task = task.line is None and one.attempt.is_first and one.attempt.begins_at is None
        if left:
            self.wake_ups.schedule(task.key, left, run)
        elif one.pending is Pending.START or not begins_with_task:
            self.start(task, [run])

    def postpone(self, task: Task, faults: Mapping[int, Exception]) -> Task:
        """Return the task with a mark that runs may not have begun, so that the next reader begins them.

        The faults are reported. If the mark cannot be written, the next check of Step Functions finds that too.
        """
        for fault in faults.values():
            self.report(fault)
        began = self.recorder.clock.now()
        for pause in _PAUSES:
            try:
                return self.recorder.record(task, StartPostponed(frozenset(faults))) or task
            except Exception as unnoted:  # noqa: BLE001 - the next check of Step Functions finds it too
                self.report(unnoted)
            if self.recorder.clock.now() - began > _TIME_TO_NOTE:
                break
            self.recorder.clock.sleep(pause)
        return task

    def has_begun(self, task: Task, run: int, end: ExecutionEnd) -> bool:
        """Tell whether an execution that has ended did so in the run's attempt, and not before it was redriven."""
        return redrives_of(end) >= task.runs[run].attempt.redrives

    def stop(self, task: Task, runs: Iterable[int], cause: str) -> frozenset[str]:
        """Stop the executions of runs, and return the names of those that exist. Idempotent.

        Raises:
            StopRefused, Exception: a run could not be stopped; the others are.
        """
        faults, stopped = list[Exception](), set[str]()
        for execution in map(task.execution_of, runs):
            try:
                if self.workflows.stop(execution, cause):
                    stopped.add(execution.name)
            except Exception as fault:  # noqa: BLE001 - the other runs must be stopped too
                faults.append(fault)
        if faults:
            raise faults[0]
        return frozenset(stopped)

    def stop_pending(self, task: Task, *, is_late: bool = False, but: frozenset[str] = frozenset()) -> Task:
        """Stop the runs that may run although their task has ended, and return the task.

        Args:
            task: the task.
            is_late: whether every request that may have started a run is over by now.
            but: names of the executions that were stopped before.

        Raises:
            StopRefused, Exception: a run could not be stopped; the others are.
        """
        pending = task.runs_pending(Pending.STOP)
        if not pending:
            return task
        now = self.recorder.clock.now()
        left = [index for index in pending if may_have_started(task.runs[index], task.last_updated_at, now)]
        stopped = but | self.stop(task, (index for index in left if task.execution_of(index).name not in but), _LOST)
        self.give_back(task, [index for index in left if is_late or task.is_stopped(index, stopped)])
        if not (is_late or all(task.is_stopped(index, stopped) for index in left)):
            return task
        return self.recorder.save_if_unchanged(task, RunsStopped()) or task

    def schedule(self, task: Task, delay: timedelta = _SECOND_TRY, run: int = 0) -> None:
        """Wake a run after a delay; a fault is reported, because readers and the sweep do what is due."""
        try:
            self.wake_ups.schedule(task.key, delay, run)
        except WakeUpsUnavailable as fault:
            self.report(fault)

    def _start(self, task: Task, runs: Collection[int], common: str | None = None) -> _Starts:
        refusals, faults, not_redriven = dict[int, StartRefused](), dict[int, Exception](), list[int]()
        for index in runs:
            run = task.runs[index]
            try:
                if run.attempt.is_redriven:
                    token = f"{task.task_id}-{index}-{run.attempt.execution}-{run.attempt.redrives}"
                    self.workflows.redrive(task.execution_of(index), token)
                    continue
                common = self.recorder.store.parts.terms_of(task).input if common is None else common
                self.workflows.start(task.execution_of(index), run.input_text(common), task.trace_header)
            except RedriveRefused:
                not_redriven.append(index)
            except (StartRefusedForNow, StartUnclear, WorkflowsUnavailable) as fault:
                faults[index] = fault
            except StartRefused as refusal:
                refusals[index] = refusal
        return _Starts(refusals, faults, not_redriven)

    def _after_starts(self, task: Task, starts: _Starts) -> Task:
        """Return the task after recording which runs have not begun, and why."""
        marked = frozenset(task.runs_pending(Pending.START)) - starts.faults.keys() - starts.refusals.keys()
        if marked:
            task = self.recorder.record(task, WorkBegun(marked)) or task
        if starts.faults:
            task = self.postpone(task, starts.faults)
            for index in starts.faults:
                self.schedule(task, run=index)
        for index in starts.not_redriven:
            task = self._after_refused_redrive(task, index)
        for index, refusal in starts.refusals.items():
            task = self._refused(task, index, refusal)
        return task

    def _refused(self, task: Task, index: int, refusal: StartRefused) -> Task:
        # Only if the task is unchanged: a concurrent request may have started the execution, because permissions do not
        # change everywhere at once.
        error = WorkFailed(TaskError(InternalError.code, f"The workflow could not be started: {refusal.reason}"))
        end = RunEnded(end_without_execution(task, index, RunState.REFUSED, error), error)
        after = self.recorder.advanced_if_unchanged(task, end)
        if after is None:
            return self.recorder.load(task.key) or task
        # The next in line may be refused too, and the one after it: each in a process of its own.
        self.give_back(after.task, after.given_back, later=True)
        return self._followed(task, replace(after, effects=after.begins))

    def _after_refused_redrive(self, task: Task, index: int) -> Task:
        """Find out why an execution is not redriven: because it runs again already, or because it cannot be."""
        match self.workflows.describe(task.execution_of(index)):
            case Running():
                return task
            case Missing():
                then: WorkEnded = WorkFailed(TaskError(InternalError.code, _GONE))
            case ended if self.has_begun(task, index, ended):
                return self.record_end(task, index, ended, EndSource.CHECK)
            case ended:
                then = self.recorder.event_of_end(task, ended)
        end = end_without_execution(task, index, RunState.FAILED, then)
        return self._followed(task, self.recorder.advanced(task, RunNotRedriven(end, then), EndSource.CHECK))

    def _followed(self, task: Task, after: Advanced | None) -> Task:
        """Do what follows the end of a run, and return the task; as it was, if it no longer exists."""
        if after is None:
            return task
        for effect in after.begins:
            outcome = f"attempt {after.task.runs[effect.run].attempt.number} of {after.task.retry.attempts}"
            with suppress(Exception):
                self.recorder.note(AuditAction.RETRIED, after.task, outcome)
        return self.perform(after)
