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
from typing import Final

from msgspec import Struct, field

from stepwire.audit import AuditAction, EndSource
from stepwire.engine.ports import Asked, Gate, Turn, WakeUps, Workflows
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
from stepwire.tasks.outcomes import ExecutionEnd, Missing, Running, end_without_execution, redrives_of, run_ended
from stepwire.tasks.runs import Pending, RunState, may_have_started
from stepwire.tasks.task import Task, TaskError
from stepwire.tracing import follow

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


class OpenGate:
    """Lets each run begin at once."""

    def ask(self, _task: Task, runs: Sequence[int], /, *, is_new: bool) -> Asked:  # noqa: ARG002 - all begin alike
        """Let them begin."""
        return Asked(frozenset(runs))

    def hold(self, _task: Task, _run: int, /) -> None:
        """Do nothing."""

    def over(self, _turn: Turn, _begins_at: datetime | None = None, /) -> tuple[Turn, ...]:
        """Do nothing: nobody waits."""
        return ()

    def due(self, _line: str, /) -> tuple[Turn, ...]:
        """Do nothing: nobody waits."""
        return ()

    def sweep(self, _begin: Callable[[Collection[Turn]], None], /) -> timedelta:
        """Do nothing: nobody waits."""
        return timedelta()


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
    gate: Gate = OpenGate()
    """Decides when runs of tasks with a limit begin."""

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
                self.schedule(task.key, run.attempt.time_left(at), index)
        if waiting:
            return self._first_in_turn(task, waiting)
        try:
            return self._after_starts(task, due, starts)
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
        return self._begun(task, runs)

    def _begun(self, task: Task, runs: Collection[int]) -> Task:
        starts = self._start(task, runs)
        is_marked = any(task.runs[index].pending is Pending.START for index in runs)
        after = self._after_starts(task, runs, starts)
        begun = frozenset(runs) - starts.refusals.keys() - starts.faults.keys() - frozenset(starts.not_redriven)
        if not begun or (after.version > task.version and not after.has_ended and not starts.refusals and is_marked):
            return after  # a save has shown that the task goes on
        return self.stop_if_ended(task, begun)

    def stop_if_ended(self, task: Task, begun: Collection[int]) -> Task:
        """Return the current task after the start of some of its runs; if it has ended meanwhile, stop these."""
        current = self.recorder.load(task.key)
        if current is not None:
            return self.stop_pending(current) if current.has_ended else current
        self.stop(task, begun, BEGUN_TOO_LATE)
        self._give_back(task, begun)
        return task

    def record_end(self, task: Task, run: int, end: ExecutionEnd, source: EndSource) -> Task:
        """Record the end of the execution of a run, do what follows, and return the task."""
        ended = run_ended(task, run, end, self.recorder.event_of_end(task, end))
        return self._followed(task, self.recorder.advanced(task, ended, source))

    def perform(self, after: Advanced, *, later: bool = False, but: frozenset[str] = frozenset()) -> Task:
        """Do what follows an event, and return the task.

        Args:
            after: the task after the event, and what follows.
            later: whether whoever gets a turn is woken, and begins in another process.
            but: names of the executions that are stopped already.

        Raises:
            StopRefused, Exception: a run could not be stopped; the others are.
        """
        task, starts = after.task, list[int]()
        for effect in after.effects:
            match effect:
                case GiveBack(run):
                    self._give_back(task, [run], later=later, is_retried=not task.has_ended)
                case Begin(run, at) if at is not None:
                    self.schedule(task.key, at - self.recorder.clock.now(), run)
                case Begin(run):
                    starts.append(run)
        return self.stop_pending(task, but=but) if task.has_ended else self.start(task, starts)

    def finish(self, task: Task, run: int) -> None:
        """Finish what a process that died after it had recorded the end of a run has left to be done."""
        self._give_back(task, [run])
        if not task.runs[run].is_open:
            self.stop_pending(task)

    def abandon(self, task: Task, runs: Iterable[int], cause: str) -> None:
        """Stop runs of a task that is gone, and give back all turns and places; who gets a turn is woken.

        Raises:
            StopRefused, Exception: a run could not be stopped; the others are.
        """
        self.stop(task, runs, cause)
        self._give_back(task, range(len(task.runs)), later=True)

    def hold(self, task: Task, run: int) -> None:
        """Count a run that runs already among those with a turn. Idempotent."""
        if task.line is not None:
            self.gate.hold(task, run)

    def sweep_lines(self) -> timedelta:
        """Do what processes that died have left undone in lines; return how long somebody has waited at most."""
        return self.gate.sweep(self.begin_turns)

    def begin_turns(self, turns: Collection[Turn], *, later: bool = False) -> None:
        """Begin the runs that have got these turns. One that cannot begin now is woken.

        `later`: whether all are woken, and begin in other processes.
        """
        waiting = deque(turns)
        while waiting:
            turn = waiting.popleft()
            try:
                if later:
                    self.wake_ups.schedule(turn.key, timedelta(), turn.run)
                else:
                    waiting += self._begin_turn(turn)
            except Exception as fault:  # noqa: BLE001 - the others have nothing to do with it
                self.report(fault)
                self.schedule(turn.key, run=turn.run)

    def _begin_turn(self, turn: Turn) -> Collection[Turn]:
        """Begin a run that has got its turn; return who gets the turn if its task needs it no more."""
        task, run = self.recorder.load(turn.key), turn.run
        begins = task is not None and run in task.waiting_runs(self.recorder.clock.now())
        if task is not None and begins:
            task = self.recorder.record(task, LineChecked(frozenset({run})))
        if task is None or task.has_ended or not task.runs[run].is_open:
            return () if _may_run_on(task, run) else self.gate.over(turn)
        if begins:
            self._begun(task, [run])
        return ()

    def _give_back(self, task: Task, runs: Collection[int], *, later: bool = False, is_retried: bool = False) -> None:
        """Give back the turns and the places of runs that need them no more, and begin who gets the turns. Idempotent.

        A fault is reported: what is left is found by the next look at the line.

        Args:
            task: the task.
            runs: the indices of the runs.
            later: whether whoever gets a turn is woken.
            is_retried: whether those that are open give back what attempts before their next ones had.
        """
        if task.line is None:
            return
        for index in sorted(runs):
            run = task.runs[index]
            begins_at = run.attempt.begins_at if is_retried and run.is_open else None
            try:
                others = self.gate.over(Turn(task.line.line, task.key, index), begins_at)
                self.begin_turns(others, later=later)
            except Exception as fault:  # noqa: BLE001 - the end of the task is recorded
                self.report(fault)

    def _first_in_turn(self, task: Task, runs: Sequence[int]) -> Task:
        """Let the runs of a new task ask for their turns, and begin those that have theirs.

        A fault postpones that: the task is written already.
        """
        try:
            task, taken = self._in_turn(task, runs, is_new=True)
            return self._begun(task, taken)
        except LimitReached:
            raise
        except Exception as fault:  # noqa: BLE001 - they are woken; readers and the sweep ask for them too
            self.report(fault)
            for index in runs:
                self.schedule(task.key, run=index)
            return task

    def _in_turn(self, task: Task, runs: Sequence[int], *, is_new: bool = False) -> tuple[Task, Sequence[int]]:
        """Let runs ask for their turns; return the task, and the runs that have theirs and may begin.

        Raises:
            LimitReached: of a new task: no run may wait for its turn.
        """
        asked = self.gate.ask(task, runs, is_new=is_new)
        after = self.recorder.record(task, LineChecked(asked.taken, asked.in_line))
        current, taken = after or task, asked.taken
        if after is None or current.has_ended:
            self._give_back(task, [index for index in runs if not _may_run_on(current, index)])
            taken = frozenset[int]()
        self.begin_turns(asked.others)
        return current, [index for index in sorted(taken) if current.runs[index].is_open]

    def wake(self, key: TaskKey, run: int = 0) -> None:
        """Begin a run that is due.

        Does nothing for a task or a run that has ended, or for a run that began with its task. But of a line one run is
        woken for all who wait, so its free turns are handed out whatever has become of that run.

        Raises:
            WakeUpsUnavailable: it is not due yet, and could not be scheduled again.
        """
        stored = self.recorder.store.load(key)
        follow(None if stored is None else stored.origin.trace)
        task = self.recorder.visible(key.owner, stored)
        if task is not None:
            self._wake_run(task, run)
        if stored is not None and stored.line is not None:  # also of a task that has expired
            self.begin_turns(self.gate.due(stored.line.line))

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
        if all(task.execution_of(index).name in but for index in pending):
            return task
        now = self.recorder.clock.now()
        left = [index for index in pending if may_have_started(task.runs[index], task.last_updated_at, now)]
        stopped = but | self.stop(task, (index for index in left if task.execution_of(index).name not in but), _LOST)
        self._give_back(task, [index for index in left if is_late or task.is_stopped(index, stopped)])
        if not (is_late or all(task.is_stopped(index, stopped) for index in left)):
            return task
        return self.recorder.save_if_unchanged(task, RunsStopped()) or task

    def schedule(self, key: TaskKey, delay: timedelta = _SECOND_TRY, run: int = 0) -> None:
        """Wake a run after a delay; a fault is reported, because readers and the sweep do what is due."""
        try:
            self.wake_ups.schedule(key, delay, run)
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
                else:
                    common = self.recorder.store.parts.terms_of(task).input if common is None else common
                    self.workflows.start(task.execution_of(index), run.input_text(common), task.trace_header)
            except RedriveRefused:
                not_redriven.append(index)
            except (StartRefusedForNow, StartUnclear, WorkflowsUnavailable) as fault:
                faults[index] = fault
            except StartRefused as refusal:
                refusals[index] = refusal
        return _Starts(refusals, faults, not_redriven)

    def _after_starts(self, task: Task, runs: Collection[int], starts: _Starts) -> Task:
        """Return the task after recording which of these runs have not begun, and why."""
        tried = frozenset(runs) - starts.faults.keys() - starts.refusals.keys()
        marked = tried.intersection(task.runs_pending(Pending.START))
        if marked:
            task = self.recorder.record(task, WorkBegun(marked)) or task
        if starts.faults:
            task = self.postpone(task, starts.faults)
            for index in starts.faults:
                self.schedule(task.key, run=index)
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
        return self._followed(task, after, later=True)

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

    def _followed(self, task: Task, after: Advanced | None, *, later: bool = False) -> Task:
        """Do what follows the end of a run (`perform`), and return the task; as it was, if it no longer exists."""
        if after is None:
            return task
        for run in (one.run for one in after.effects if isinstance(one, Begin)):
            outcome = f"attempt {after.task.runs[run].attempt.number} of {after.task.retry.attempts}"
            with suppress(Exception):
                self.recorder.note(AuditAction.RETRIED, after.task, outcome)
        return self.perform(after, later=later)


def _may_run_on(task: Task | None, run: int) -> bool:
    return task is not None and task.runs[run].pending is Pending.STOP
