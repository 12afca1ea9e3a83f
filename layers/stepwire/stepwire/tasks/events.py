"""Task events: facts about a task that are already true. `lifecycle.advance` decides what each changes.

Not to be confused with `background.execution_events` (what Step Functions reports), `background.status_changes` (what
Stepwire publishes) and `aws.workflows.status_events` (EventBridge's JSON).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stepwire.tasks.client_tasks import ClientTask
from stepwire.tasks.inputs import Answer, Asked, Callback
from stepwire.tasks.task import ItemCount, Progress, StoredResult, TaskError, Terms, ToolResult

if TYPE_CHECKING:
    from stepwire.tasks.races import Arm, ArmEnd


class StateEntered(Struct, frozen=True):
    """The workflow entered the named state."""

    name: str
    items: ItemCount | None = None
    """How far the state is, if it is a Distributed Map."""
    passed: tuple[str, ...] = ()
    """The names of the states that the same look at the history has shown, oldest first."""


class WorkChecked(Struct, frozen=True):
    """Step Functions was asked about the execution, which has not ended: no reader asks again within the interval."""

    state: StateEntered | None = None
    """The state that the workflow is in, if that was asked."""


class ProgressReported(Struct, frozen=True):
    """The workflow reported its progress."""

    progress: Progress
    message: str | None = None


def progress_of_arm(reported: ProgressReported, arm: "Arm") -> ProgressReported:
    """Return the progress of an arm as that of its task: that of the furthest arm is shown, so it is a percentage."""
    progress, message = reported.progress, reported.message
    if progress.total:
        progress = replace(progress, done=round(100 * progress.done / progress.total, 2), total=100)
    return ProgressReported(progress, None if message is None else f"{arm.name}: {message}")


class InputRequested(Struct, frozen=True):
    """The workflow asked a question and waits for the answer."""

    key: str
    """The author's key for the question; a later question with the same key gets a suffix."""
    asked: Asked
    destination: Callback
    expires_at: datetime | None = None
    dead: frozenset[str] = frozenset()
    """Tokens with which no state waits any more: what was asked with them may be asked by this state."""


class InputAnswered(Struct, frozen=True):
    """The caller answered questions. Keys without an open question are ignored."""

    answers: Mapping[str, Answer]


class InputRefused(Struct, frozen=True):
    """Answers did not conform to their questions, which are therefore asked again."""

    reasons: Mapping[str, str]
    """By the question's key: what is wrong with the answer, and what would be right."""


class AnswersDelivered(Struct, frozen=True):
    """The workflow received the answers, or no longer waits for them."""

    tokens: frozenset[str]
    unclaimed: frozenset[str] = frozenset()
    """Tokens with which nobody waited, so that the answers may belong to retries of the states that asked."""


class StartPostponed(Struct, frozen=True):
    """The work may not have begun: a start was throttled, or got no answer."""


class WorkBegun(Struct, frozen=True):
    """The work has begun after its start was postponed."""


class ClientTaskNoted(Struct, frozen=True):
    """A client has made a task of a question, or its task has ended."""

    client_task: ClientTask


class ClientTaskClosed(Struct, frozen=True):
    """A client's task needs no more of us: it was cancelled, or its client has lost it."""

    client_task: ClientTask


class WorkConfirmed(Struct, frozen=True):
    """The user confirmed the call, so the workflow may start."""

    terms: Terms
    """With the workflow's input, including the user's answer."""
    waited: timedelta = timedelta()
    """How long the confirmation took; the ttl grows by as much, so that the workflow has its full time."""


class WorkDeclined(Struct, frozen=True):
    """The user did not confirm the call, so the workflow never starts."""

    result: ToolResult


class WorkCompleted(Struct, frozen=True):
    """The workflow ended with a tool result, which may report an error."""

    result: StoredResult
    message: str | None = None
    shaping_fault: str | None = None
    """Why the output could not be shaped, for the operator; without any part of the output."""


class WorkFailed(Struct, frozen=True):
    """The workflow ended with a JSON-RPC error, or could not be started."""

    error: TaskError
    may_begin: bool = False
    """Whether its start was refused, so that a concurrent request may have started it all the same."""


class WorkStopped(Struct, frozen=True):
    """The execution was stopped, by the caller or by an operator."""

    message: str
    may_begin: bool = False
    """Whether no execution was found, so that a concurrent request may still start it."""
    stopped: frozenset[str] = frozenset()
    """Of a race: the letters of the arms whose executions were found and stopped."""


WorkEnded: TypeAlias = WorkCompleted | WorkFailed | WorkStopped


class AttemptEnded(Struct, frozen=True):
    """An attempt of a task with a retry policy ended; the policy decides whether the task does."""

    run: int
    """Number of the execution among those of the task."""
    redrives: int
    """How often it had been redriven."""
    error: str | None
    """Name of the error that a policy may match; None: the attempt succeeded, or was stopped."""
    shown: str
    """The name as the caller may read it."""
    end: WorkEnded
    """The end of the task, if no further attempt follows."""


class ArmEnded(Struct, frozen=True):
    """An attempt of an arm of a race ended; the race decides whether the task does."""

    arm: "ArmEnd"
    end: WorkEnded
    """The end of the task, if the arm succeeded and completes the quorum."""


class RedriveRefused(Struct, frozen=True):
    """Step Functions does not redrive the execution of the attempt."""

    run: int
    end: "WorkEnded | ArmEnded"
    """The end of the task or of the arm, if the attempt may not begin in a new execution."""
    arm: str = ""
    """Letter of the arm whose attempt it is; empty: the task is no race."""


TaskEvent: TypeAlias = (
    WorkChecked
    | StateEntered
    | ProgressReported
    | InputRequested
    | InputAnswered
    | InputRefused
    | AnswersDelivered
    | StartPostponed
    | WorkBegun
    | ClientTaskNoted
    | ClientTaskClosed
    | WorkConfirmed
    | WorkDeclined
    | WorkEnded
    | AttemptEnded
    | ArmEnded
    | RedriveRefused
)
