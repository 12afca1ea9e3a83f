"""The task: a record of one piece of work that a caller asked for, and of how it stands.

A status carries exactly its payload: a completed task without a result cannot be built. All values are frozen; what
changes a task is `lifecycle.advance` and nothing else.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeAlias

from stepwire.json_text import Json, JsonObject, read_back
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey, execution_name_of
from stepwire.tasks.inputs import InputRequest, Mode, UndeliveredAnswer, WorkflowInput

LARGEST_INPUT: Final = 262_144  # bytes; what Step Functions takes
LONGEST_TTL: Final = timedelta(days=30)
_HINT_PART: Final = 20  # who polls as hinted learns of an end at most a twentieth of its time later
LONGEST_MESSAGE: Final = 1_000  # characters of a status message


@dataclass(frozen=True)
class ToolResult:
    """What the tool answers: a CallToolResult as JSON text, and whether it says that the tool failed."""

    text: str
    is_error: bool

    def value(self) -> JsonObject:
        """Read the CallToolResult."""
        return read_back(self.text)


@dataclass(frozen=True)
class ResultInExecution:
    """A result that is too large for the task's item; Step Functions still has it, and it is fetched on demand."""

    is_error: bool


@dataclass(frozen=True)
class TaskError:
    """A JSON-RPC error that the work ended with."""

    code: int
    message: str
    data: Json = None


@dataclass(frozen=True)
class Working:
    """The workflow runs, or is about to."""

    message: str | None = None


@dataclass(frozen=True)
class InputRequired:
    """The task waits for answers; the rest of its workflow may go on meanwhile."""

    requests: tuple[InputRequest, ...]
    """All that are open, the oldest first; at least one."""
    message: str | None = None
    """What the workflow does meanwhile."""


@dataclass(frozen=True)
class Completed:
    """The tool answered; its answer may be that it failed (`result.is_error`)."""

    result: ToolResult | ResultInExecution
    message: str | None = None


@dataclass(frozen=True)
class Failed:
    """The work ended with a JSON-RPC error instead of an answer."""

    error: TaskError
    message: str | None = None


@dataclass(frozen=True)
class Cancelled:
    """The caller, or an operator in Step Functions, stopped the work."""

    message: str | None = None


Status: TypeAlias = Working | InputRequired | Completed | Failed | Cancelled


class Causes(Enum):
    """How much of the cause of a failure reaches the caller."""

    HIDDEN = "names"
    """The name of the error alone."""
    REDACTED = "redacted"
    """The cause, without ARNs and account numbers."""
    SHOWN = "causes"
    """The cause as it is."""


@dataclass(frozen=True)
class Work:
    """What the task runs. All that a later reader needs to start it, or to understand its end, is here."""

    tool: str
    state_machine_arn: str
    input: str
    """JSON text, exactly as it goes to Step Functions: another byte would be another execution."""
    output_schema: str | None = None
    """JSON text of the schema that was advertised when the tool was called."""
    shows_state: bool = False
    """Whether the caller may read the names of the workflow's states."""
    result_bucket: str | None = None
    """The bucket in S3 into which its results may link."""
    result_prefix: str | None = None
    """What the keys of such links begin with, with variables (`links`); None: the default."""
    causes: Causes = Causes.REDACTED


@dataclass(frozen=True)
class Origin:
    """What is known of the client and of the request that asked for the task."""

    modes: frozenset[Mode] = frozenset()
    """How the client can be asked for input; nothing else is ever asked."""
    progress_token: str | int | None = None
    """Where a legacy client wants to hear of progress (T32: for the life of the task)."""
    request: str | None = None
    """A digest that names a legacy call without a task, so that the client can cancel it; None for all others."""


@dataclass(frozen=True)
class Inputs:
    """What is left of questions after they were asked."""

    asked: int = 0
    """How many; the number of the last."""
    used_keys: tuple[str, ...] = ()
    undelivered: tuple[UndeliveredAnswer, ...] = ()


@dataclass(frozen=True)
class Progress:
    """How far the workflow says it is."""

    done: float
    total: float | None = None


@dataclass(frozen=True)
class Execution:
    """One run of a state machine. Its name is the task's, so it is known before it begins."""

    state_machine_arn: str
    name: str


@dataclass(frozen=True)
class Task:
    """A task. Times are aware and in UTC, in whole milliseconds."""

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
    """When somebody last looked at Step Functions for this task, or its creation."""
    origin: Origin = Origin()
    inputs: Inputs = Inputs()
    progress: Progress | None = None
    may_begin: bool = False
    """Whether the execution of a task that was cancelled may still begin, as somebody may be about to start it."""
    keep_result: timedelta = timedelta()
    """How long the task is kept after its end at least; then `ttl` grows where that is longer."""
    version: int = 0
    """How often it has been saved; only the store changes it."""

    @property
    def key(self) -> TaskKey:
        """What leads to this task."""
        return TaskKey(self.owner, self.task_id)

    def poll_hint(self, at: datetime) -> timedelta:
        """Say how long to wait before the next poll: the longer, the longer the task has run."""
        grown = max(self.poll_interval, (at - self.created_at) / _HINT_PART)
        return min(grown, max(self.poll_interval, self.longest_poll_interval))

    @property
    def execution(self) -> Execution:
        """The run that does the work."""
        return Execution(self.work.state_machine_arn, execution_name_of(self.key))

    @property
    def expires_at(self) -> datetime:
        """When the task is gone for every reader, even where DynamoDB has not deleted it yet."""
        return self.created_at + self.ttl

    @property
    def has_ended(self) -> bool:
        """Tell whether the status is final."""
        return not isinstance(self.status, Working | InputRequired)

    @property
    def needs_looking_after(self) -> bool:
        """Tell whether an execution may go on, or begin, that somebody must look at in time."""
        return self.may_begin or not (self.has_ended or self.awaits_confirmation)

    @property
    def input_requests(self) -> tuple[InputRequest, ...]:
        """The questions that are open, the oldest first."""
        return self.status.requests if isinstance(self.status, InputRequired) else ()

    @property
    def awaits_confirmation(self) -> bool:
        """Tell whether the workflow begins only after an answer."""
        return any(isinstance(request.destination, WorkflowInput) for request in self.input_requests)
