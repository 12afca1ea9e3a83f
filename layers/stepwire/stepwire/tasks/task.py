"""The task: a record of one tool call and of its state.

Each status carries exactly its payload, so a completed task without a result cannot be built. All values are frozen;
only `lifecycle` derives a changed task. Others write what is no part of its life: `engine.limiter` says which shard
counts a task that is about to be created, and `aws.storage` its version and the places of its large parts.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct

from stepwire.codec import Keyed
from stepwire.json_text import Json, JsonObject, load_json, write
from stepwire.principal import Principal
from stepwire.tasks.answers import Decision
from stepwire.tasks.ids import LETTERS, TaskId, TaskKey, execution_name_of
from stepwire.tasks.inputs import InputRequest, Mode, UndeliveredAnswer, WorkflowInput
from stepwire.tasks.line import InLine, LineTerms
from stepwire.tasks.runs import ONCE, Pending, Retry, Run
from stepwire.tracing import Trace

LARGEST_INPUT: Final = 262_144  # bytes; what Step Functions takes
LONGEST_TTL: Final = timedelta(days=365)  # an execution of Step Functions runs no longer
LONGEST_KEPT: Final = timedelta(days=30)  # after its end; results in S3 are kept a day longer
AFTER_ANY_TASK: Final = LONGEST_TTL + timedelta(days=31)  # of what counts tasks, from its last change
_HINT_PART: Final = 10  # polls at the hinted interval notice an end after at most a tenth of the task's run time
LONGEST_MESSAGE: Final = 1_000  # characters of a status message
MOST_STATES: Final = 50
_LARGEST_STATES: Final = 1_000  # bytes of names: what a poll reads stays small


class ToolResult(Struct, frozen=True, tag="inside"):
    """A CallToolResult as JSON text, with its `isError`."""

    text: str
    is_error: bool

    def value(self) -> JsonObject:
        """Return the CallToolResult."""
        return load_json(self.text)


def tool_error(text: str) -> ToolResult:
    """Return a CallToolResult for a tool that failed, with the reason."""
    return ToolResult(write({"content": [{"type": "text", "text": text}], "isError": True}), is_error=True)


class ResultElsewhere(Struct, frozen=True, tag="elsewhere"):
    """A result that the store keeps beside the task, and reads on demand."""

    is_error: bool
    place: str
    """Where the store keeps it; only the store understands this."""
    size: int
    """Bytes of its JSON text."""


class ResultInExecution(Struct, frozen=True, tag="in_execution"):
    """A result that is not stored: it stays in Step Functions and is fetched on demand, as after a denied key."""

    is_error: bool


StoredResult: TypeAlias = ToolResult | ResultElsewhere | ResultInExecution


class TaskError(Struct, frozen=True, omit_defaults=True):
    """A JSON-RPC error that the work ended with."""

    code: int
    message: str
    data: Json = None


class Working(Struct, frozen=True, tag="working", omit_defaults=True):
    """The workflow runs, or will be started."""

    message: str | None = None


class InputRequired(Struct, frozen=True, tag="input_required", omit_defaults=True):
    """The task waits for answers; other branches of its workflow may keep running."""

    requests: tuple[InputRequest, ...]
    """The open questions, oldest first; at least one."""
    message: str | None = None
    """What the workflow does at the moment."""


class Completed(Struct, frozen=True, tag="completed", omit_defaults=True):
    """The tool returned a result, which may report an error (`result.is_error`)."""

    result: StoredResult
    message: str | None = None


class Failed(Struct, frozen=True, tag="failed", omit_defaults=True):
    """The work ended with a JSON-RPC error instead of a result."""

    error: TaskError
    message: str | None = None


class Cancelled(Struct, frozen=True, tag="cancelled", omit_defaults=True):
    """The caller, or an operator in Step Functions, stopped the execution."""

    message: str | None = None


Status: TypeAlias = Working | InputRequired | Completed | Failed | Cancelled


class Causes(Enum):
    """How much of a failure's cause the caller may see."""

    HIDDEN = "names"
    """Only the error name."""
    REDACTED = "redacted"
    """The cause, without ARNs and account numbers."""
    SHOWN = "causes"
    """The cause as it is."""


class Terms(Struct, frozen=True, tag="inside", omit_defaults=True):
    """The input of the workflow, and the required form of its output. Large terms are read only at start and end."""

    input: str
    """JSON text, byte for byte as sent to Step Functions: a start is idempotent only with the same input."""
    output_schema: str | None = None
    """JSON text of the output schema advertised at the time of the call."""
    output_shape: str | None = None
    """JSON text of how the output becomes the result (see `tool_results`); None: as it is."""


class TermsElsewhere(Struct, frozen=True, tag="elsewhere"):
    """Terms that the store keeps beside the task, and reads on demand."""

    place: str
    """Where the store keeps them; only the store understands this."""


class Work(Struct, frozen=True, omit_defaults=True):
    """What the task runs: everything needed to start it later and to interpret its end."""

    tool: str
    terms: Terms | TermsElsewhere
    execution_prefix: str
    """Start of its executions' names."""
    shows_state: bool = False
    """Whether the caller may see the names of the workflow's states."""
    result_bucket: str | None = None
    """The S3 bucket that results may link to."""
    result_prefix: str | None = None
    """Key prefix of those links, with variables (see `objects`); None: the name of the execution."""
    causes: Causes = Causes.REDACTED
    routes: Mapping[str, JsonObject] = {}
    """What extras that put questions of the work to others keep of its tool, by their names; empty: all questions are
    the caller's."""


class Person(Struct, frozen=True):
    """The caller, as others see them to whom questions of the work are put."""

    digest: str
    """The same for every client of the person."""
    name: str


class Origin(Struct, frozen=True, omit_defaults=True):
    """The client, and the request that created the task."""

    modes: frozenset[Mode] = frozenset()
    """The kinds of questions that the client declared; questions of other kinds are refused."""
    progress_token: str | int | None = None
    """The progress token of a legacy client (T32: valid for the life of the task)."""
    request: str | None = None
    """Digest of a legacy call without a task, by which the client can cancel it; None for all other calls."""
    trace: Trace | None = None
    """The trace that the call, and all work for the task, continues."""
    person: Person | None = None
    """The caller; only if questions of the work are put to others (`Work.routes`)."""


class Inputs(Struct, frozen=True, omit_defaults=True):
    """The history of the task's questions."""

    asked: int = 0
    """How many questions were asked; also the sequence number of the last."""
    used_keys: tuple[str, ...] = ()
    undelivered: tuple[UndeliveredAnswer, ...] = ()
    decisions: tuple[Decision, ...] = ()
    """What others than the caller have decided, newest last."""
    has_asked_others: bool = False
    """Whether a question was put to others than the caller."""


class Progress(Struct, frozen=True, omit_defaults=True):
    """How far the workflow has come."""

    done: int | float
    total: int | float | None = None
    is_counted: bool = False
    """Whether Stepwire has counted the items of a Distributed Map; a workflow's own report replaces it."""


def reports_progress(task: "Task") -> bool:
    """Tell whether the workflow reports its progress itself."""
    return task.progress is not None and not task.progress.is_counted


class ItemCount(Struct, frozen=True):
    """How far a Distributed Map has come."""

    done: int
    """Items that have ended, well or not."""
    total: int
    failed: int = 0
    """Items among them that failed, timed out or were aborted."""


class Execution(Keyed, frozen=True):
    """One run of a state machine. Its name derives from the task, so it is known before the start."""

    state_machine_arn: str
    """Without version and alias, as Step Functions itself reports it."""
    name: str
    qualifier: str = ""
    """Version or alias to start; empty: the current state machine."""
    role: str = ""
    """ARN of the role for calls about it; empty: the functions' own."""

    def _key(self) -> Hashable:
        return self.state_machine_arn, self.name  # what Step Functions knows it by

    @property
    def started_arn(self) -> str:
        """ARN to start: with the version or alias."""
        return f"{self.state_machine_arn}:{self.qualifier}" if self.qualifier else self.state_machine_arn


def newest_states(names: Iterable[str]) -> tuple[str, ...]:
    """Return the newest names of states, oldest first, each once at its latest position."""
    newest, room = list[str](), _LARGEST_STATES
    for name in dict.fromkeys(reversed(list(names))):
        room -= len(name.encode())
        if room < 0 or len(newest) == MOST_STATES:
            break
        newest.append(name)
    return tuple(reversed(newest))


def unqualified(state_machine_arn: str) -> tuple[str, str]:
    """Split the ARN of a state machine from its version or alias, which is empty where there is none."""
    arn, name, rest = state_machine_arn.partition(":stateMachine:")
    machine, _, qualifier = rest.partition(":")
    return f"{arn}{name}{machine}", qualifier


class Follows(Struct, frozen=True, omit_defaults=True):
    """What a follow-up task continues: the execution of a task that had ended was redriven."""

    task_id: TaskId
    """The task that had ended."""
    first: TaskId
    """The task of the caller's own call, whose execution goes on: its name and its input contain this id."""


class Task(Struct, frozen=True, omit_defaults=True):
    """A task. Times are aware, in UTC and in whole milliseconds."""

    owner: Principal
    task_id: TaskId
    work: Work
    status: Status
    created_at: datetime
    last_updated_at: datetime
    ttl: timedelta
    poll_interval: timedelta
    longest_poll_interval: timedelta
    checked_at: datetime
    """Time of the last check of Step Functions for this task; initially its creation."""
    runs: tuple[Run, ...]
    """The state machines that work on it, in the order of the manifest; at least one."""
    quorum: int = 1
    """How many runs must succeed."""
    retry: Retry = ONCE
    """When another attempt of a run follows a failed one."""
    origin: Origin = Origin()
    inputs: Inputs = Inputs()
    progress: Progress | None = None
    notes: Mapping[str, JsonObject] = {}
    """What extras note with it, by their names; each bounds its note."""
    keep_result: timedelta = timedelta()
    """Minimum retention of the task after its end; extends `ttl` if necessary."""
    follows: Follows | None = None
    """Of a follow-up task: what it continues."""
    follow_up: TaskId | None = None
    """The task that continues this one; a terminal status stays as it is."""
    usage_shard: int = 0
    """Which part of its owner's usage counts it as active (see `usage`)."""
    line: LineTerms | None = None
    """The line in which its runs wait for their turns; None: its tool has no limit."""
    in_line: InLine | None = None
    """Its place in that line; None: it does not wait, or another run's state is shown."""
    states: tuple[str, ...] | None = None
    """Names of the states that the workflow has passed (`newest_states`); None: not recorded."""
    version: int = 0
    """Number of saves, for optimistic locking; only the store changes it."""

    @property
    def key(self) -> TaskKey:
        """The key of this task."""
        return TaskKey(self.owner, self.task_id)

    def poll_hint(self, at: datetime) -> timedelta:
        """Return the recommended time until the next poll; it grows with the age of the task."""
        grown = max(self.poll_interval, (at - self.created_at) / _HINT_PART)
        return min(grown, max(self.poll_interval, self.longest_poll_interval))

    @property
    def execution(self) -> Execution:
        """The execution that the result comes from: of the run that won or, before, of the first one."""
        winner = self.winner
        return self.execution_of(0 if winner is None else self.runs.index(winner))

    def execution_of(self, index: int, number: int | None = None) -> Execution:
        """Return an execution of a run: of this number, else of its current attempt, or of its next one."""
        run = self.runs[index]
        letter, number = LETTERS[index] if len(self.runs) > 1 else "", number or run.attempt.execution
        again = f"r{number}" if number > 1 else ""
        suffix = f"-{letter}{again}" if letter or again else ""
        arn, qualifier = unqualified(run.state_machine_arn)
        # A task that continues another one's execution uses that one's name.
        named_after = self.follows.first if self.follows else self.task_id
        name = execution_name_of(TaskKey(self.owner, named_after), self.work.execution_prefix, suffix)
        return Execution(arn, name, qualifier, run.role)

    def executions_of(self, index: int) -> tuple[Execution, ...]:
        """Return all executions of a run, in the order of its attempts."""
        return tuple(self.execution_of(index, number) for number in range(1, self.runs[index].attempt.execution + 1))

    def due_runs(self, at: datetime) -> tuple[int, ...]:
        """Return the indices of the runs whose executions must exist by this time."""
        return tuple(index for index, run in enumerate(self.runs) if run.is_due(at))

    def ready_runs(self, at: datetime) -> tuple[int, ...]:
        """Return the indices of the runs whose executions must exist by now, or begin with their next turns."""
        return tuple(index for index, run in enumerate(self.runs) if run.is_ready(at))

    def waiting_runs(self, at: datetime) -> tuple[int, ...]:
        """Return the indices of the runs that begin with their next turns."""
        return tuple(index for index in self.runs_pending(Pending.TURN) if self.runs[index].is_ready(at))

    def run_of(self, execution: Execution) -> int | None:
        """Return the index of the run with this execution, which may have ended; None if there is none."""
        return next((index for index in range(len(self.runs)) if self.execution_of(index) == execution), None)

    def is_stopped(self, index: int, stopped: Collection[str]) -> bool:
        """Tell whether a run is among the executions that were stopped, and stays so.

        A redrive of a stopped execution at this moment revives it, like a start.
        """
        return self.execution_of(index).name in stopped and not self.runs[index].attempt.is_redriven

    def runs_pending(self, pending: Pending) -> tuple[int, ...]:
        """Return the indices of the runs with this pending action."""
        return tuple(index for index, run in enumerate(self.runs) if run.pending is pending)

    @property
    def winner(self) -> Run | None:
        """The run whose success completed the quorum."""
        return next((run for run in self.runs if run.place == self.quorum), None)

    @property
    def is_retried(self) -> bool:
        """Tell whether an attempt has failed, and another one runs or is about to begin."""
        return not all(run.attempt.is_first for run in self.runs)

    @property
    def expires_at(self) -> datetime:
        """The time from which no reader sees the task, even if DynamoDB has not deleted it yet."""
        return self.created_at + self.kept

    @property
    def kept(self) -> timedelta:
        """How long the task is kept from its creation: the `ttl` in responses.

        Once it has ended in time, its result is kept as long as its tool promises, and not much longer.
        """
        age = self.last_updated_at - self.created_at
        if isinstance(self.status, Working | InputRequired) or age >= self.ttl:
            return self.ttl
        return age + min(max(self.ttl - age, self.keep_result), LONGEST_KEPT)

    @property
    def trace_header(self) -> str | None:
        """The trace of the call that made the task, as an AWS X-Ray header; None without one."""
        return None if self.origin.trace is None else self.origin.trace.x_ray_header

    @property
    def has_ended(self) -> bool:
        """Tell whether the status is final."""
        return not isinstance(self.status, Working | InputRequired)

    @property
    def needs_checks(self) -> bool:
        """Tell whether an execution of the task may run or start, so that the sweep must check it."""
        if self.has_ended:
            return bool(self.runs_pending(Pending.STOP))
        return not self.awaits_confirmation

    @property
    def questions(self) -> tuple[InputRequest, ...]:
        """All open questions, oldest first."""
        return self.status.requests if isinstance(self.status, InputRequired) else ()

    @property
    def input_requests(self) -> tuple[InputRequest, ...]:
        """The open questions to the caller, oldest first."""
        return tuple(one for one in self.questions if one.audience.is_caller)

    @property
    def shown_status(self) -> Status:
        """The status that the caller sees: a task that waits for others alone is working.

        Every response, event and listing has this one.
        """
        waits_for_others = isinstance(self.status, InputRequired) and not self.input_requests
        return Working(self.status.message) if waits_for_others else self.status

    @property
    def asked_by(self) -> str:
        """The digest of the caller, as other people see them."""
        return self.origin.person.digest if self.origin.person else self.owner

    @property
    def awaits_confirmation(self) -> bool:
        """Tell whether the workflow starts only after the user has confirmed the call."""
        return any(isinstance(request.destination, WorkflowInput) for request in self.questions)
