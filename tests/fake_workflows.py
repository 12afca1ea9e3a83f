"""Step Functions in memory: a test ends each execution and delivers its status change."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.errors import (
    KeyDenied,
    RedriveRefused,
    StarterUnproven,
    StartRefused,
    StartUnclear,
    StopRefused,
    WorkflowsThrottled,
    WorkflowsUnavailable,
)
from stepwire.json_text import Json, write
from stepwire.tasks.events import StateEntered
from stepwire.tasks.outcomes import (
    Aborted,
    ExecutionEnd,
    ExecutionFailed,
    ExecutionState,
    Missing,
    Running,
    Succeeded,
    TimedOut,
    Unreadable,
)
from stepwire.tasks.task import Execution, ItemCount
from tests.fakes import nothing


@dataclass(frozen=True)
class Start:
    """The arguments of one call to `start`, whether it succeeded or not."""

    execution: Execution
    input_text: str
    trace_header: str | None = None


@dataclass(frozen=True)
class Redrive:
    """The arguments of one call to `redrive`, whether it succeeded or not."""

    execution: Execution
    token: str


@dataclass(frozen=True)
class Stop:
    """The arguments of one call to `stop`, whether it succeeded or not."""

    execution: Execution
    cause: str


@dataclass(frozen=True)
class Resumption:
    """What a waiting state was resumed with: an output, or an error."""

    token: str
    output: str | None = None
    error: str | None = None
    cause: str | None = None


@dataclass
class FakeWorkflows:
    """Executions that end only when a test ends them.

    The fields at the top set how Step Functions answers; `starts`, `stops` and `described` record the calls.
    """

    start_fault: StartRefused | StartUnclear | None = None
    """Raised by every start. After StartRefused there is no execution; after StartUnclear there is one if
    `begins_unclear_starts`.
    """
    begins_unclear_starts: bool = False
    on_start: Callable[[], None] = nothing
    """Called by every start, before the execution exists."""
    is_available: bool = True
    """Whether calls other than `start` and `stop` succeed."""
    listed_at_once: int = 1_000
    throttled: set[str] = field(default_factory=set[str])
    """The names of the methods that raise WorkflowsThrottled."""

    denied: set[str] = field(default_factory=set[str])
    """The names of the methods that are refused, because they need a key that is denied."""
    stop_fault: StopRefused | None = None
    """Raised by every stop."""
    before_stop: Callable[[], object] = lambda: None
    """Called before an execution is stopped, to simulate what happens meanwhile."""

    redrive_fault: RedriveRefused | WorkflowsUnavailable | None = None
    """Raised by every redrive; nothing is redriven then."""

    redrives: list[Redrive] = field(default_factory=list[Redrive])
    _redriven: list[str] = field(default_factory=list[str])
    """The tokens of the redrives that were done."""
    redrive_counts: dict[Execution, int] = field(default_factory=dict[Execution, int])
    """How often each execution was redriven."""
    starts: list[Start] = field(default_factory=list[Start])
    stops: list[Stop] = field(default_factory=list[Stop])
    described: list[Execution] = field(default_factory=list[Execution])

    states: dict[Execution, ExecutionState] = field(default_factory=dict[Execution, ExecutionState])
    """What `describe` returns for each execution; a test may write to it, to simulate an outdated answer."""
    current_states: dict[Execution, str] = field(default_factory=dict[Execution, str])
    """The state that each execution entered last, as its history shows it."""
    passed: dict[Execution, tuple[str, ...]] = field(default_factory=dict[Execution, tuple[str, ...]])
    """The states that each execution entered before, oldest first."""
    items: dict[Execution, ItemCount] = field(default_factory=dict[Execution, ItemCount])
    """The progress of the Distributed Map that an execution is in."""
    starters: dict[Execution, Execution] = field(default_factory=dict[Execution, Execution])
    """The execution that started another one."""
    starters_asked: list[Execution] = field(default_factory=list[Execution])
    """The executions whose starter was looked up."""
    unproven: int = 0
    """How many more times a starter's history lacks the start."""
    looked_at: list[Execution] = field(default_factory=list[Execution])
    """The executions whose history was read."""
    listed: list[str] = field(default_factory=list[str])
    """The state machines whose running executions were listed."""
    waiting: set[str] = field(default_factory=set[str])
    """The callback tokens of the states that wait for an answer."""
    resumptions: list[Resumption] = field(default_factory=list[Resumption])
    """What waiting states were resumed with, in order."""
    undelivered: list[ExecutionStatusChange] = field(default_factory=list[ExecutionStatusChange])
    """The status changes that a test has not delivered yet."""

    def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
        self.starts.append(Start(execution, input_text, trace_header))
        self.on_start()
        if self.start_fault is None or (self.begins_unclear_starts and isinstance(self.start_fault, StartUnclear)):
            self.states.setdefault(execution, Running())
        if self.start_fault is not None:
            raise self.start_fault

    def redrive(self, execution: Execution, token: str) -> None:
        self.redrives.append(Redrive(execution, token))
        if self.redrive_fault is not None:
            raise self.redrive_fault
        if token in self._redriven:
            return
        if not isinstance(self.states.get(execution), ExecutionFailed | TimedOut | Aborted):
            raise RedriveRefused
        self._redriven.append(token)
        self.redrive_counts[execution] = self.redrive_counts.get(execution, 0) + 1
        self.states[execution] = Running(self.redrive_counts[execution])

    def describe(self, execution: Execution) -> ExecutionState:
        self.described.append(execution)
        self._check_quota("describe")
        if not self.is_available:
            raise WorkflowsUnavailable
        return self.states.get(execution, Missing())

    def current_state(self, execution: Execution) -> StateEntered | None:
        self.looked_at.append(execution)
        self._check_quota("current_state")
        if not self.is_available:
            raise WorkflowsUnavailable
        name = self.current_states.get(execution) if self.states.get(execution) == Running() else None
        return None if name is None else StateEntered(name, self.items.get(execution), self._passed(execution, name))

    def passed_states(self, execution: Execution) -> tuple[str, ...]:
        self.looked_at.append(execution)
        self._check_quota("passed_states")
        if not self.is_available:
            raise WorkflowsUnavailable
        return self._passed(execution, self.current_states.get(execution))

    def _passed(self, execution: Execution, name: str | None) -> tuple[str, ...]:
        before = self.passed.get(execution, ())
        return before if name is None or before[-1:] == (name,) else (*before, name)

    def starter_of(self, execution: Execution) -> Execution | None:
        self.starters_asked.append(execution)
        if self.unproven:
            self.unproven -= 1
            raise StarterUnproven
        return self.starters.get(execution)

    def list_running(self, state_machine_arn: str) -> Iterable[frozenset[str]]:
        self.listed.append(state_machine_arn)
        self._check_quota("list_running")
        if not self.is_available:
            raise WorkflowsUnavailable
        names = sorted(one.name for one in self.running() if one.state_machine_arn == state_machine_arn)
        for start in range(0, len(names), self.listed_at_once):
            yield frozenset(names[start : start + self.listed_at_once])

    def waits(self, token: str) -> bool:
        if not self.is_available:
            raise WorkflowsUnavailable
        return token in self.waiting

    def complete_callback(self, token: str, output: str) -> bool:
        is_waiting = token in self.waiting
        self._answer(Resumption(token, output=output))
        return is_waiting

    def fail_callback(self, token: str, error: str, cause: str) -> None:
        self._answer(Resumption(token, error=error, cause=cause))

    def _check_quota(self, method: str) -> None:
        if method in self.denied:
            raise KeyDenied
        if method in self.throttled:
            raise WorkflowsThrottled

    def _answer(self, resumption: Resumption) -> None:
        if not self.is_available:
            raise WorkflowsUnavailable
        if resumption.token in self.waiting:
            self.waiting.remove(resumption.token)
            self.resumptions.append(resumption)

    def stop(self, execution: Execution, cause: str) -> bool:
        self.stops.append(Stop(execution, cause))
        self.before_stop()
        if self.stop_fault is not None:
            raise self.stop_fault
        if self.states.get(execution) == Running():
            self.abort(execution)
        return execution in self.states

    def succeed(self, execution: Execution, output: Json) -> None:
        """End an execution successfully.

        Args:
            execution: a running execution.
            output: a JSON value; for text that is not JSON, use `end` with `Succeeded`.
        """
        self.end(execution, Succeeded(write(output)))

    def fail(self, execution: Execution, error: str = "Some.Error", cause: str = "it broke") -> None:
        self.end(execution, ExecutionFailed(error, cause))

    def time_out(self, execution: Execution) -> None:
        self.end(execution, TimedOut())

    def abort(self, execution: Execution) -> None:
        self.end(execution, Aborted())

    def end(self, execution: Execution, end: ExecutionEnd) -> None:
        """End a running execution; a test delivers its status change."""
        assert self.states.get(execution) == Running(), "only a running execution can end"
        if not isinstance(end, Unreadable):
            end = replace(end, redrives=self.redrive_counts.get(execution, 0))
        self.states[execution] = end
        self.undelivered.append(ExecutionStatusChange(execution, end))

    def running(self) -> tuple[Execution, ...]:
        """List the running executions, the oldest first."""
        return tuple(execution for execution, state in self.states.items() if state == Running())

    def execution_of(self, task_id: str) -> Execution:
        """Return the newest execution of the task with this id."""
        return next(execution for execution in reversed(self.states) if f"-{task_id}" in execution.name)
