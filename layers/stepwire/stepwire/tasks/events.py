"""Task events, and the effect that follows some of them.

An event is a fact about a task that is already true; `lifecycle.advance` decides what it changes, and returns which
runs begin, and which give their turns back, as effects: data that `engine.runs` performs, and nothing else does. Which
runs must be stopped is in the task itself (`Pending.STOP`), because that must happen even if the process dies. Two
events come after the end of a task (`AfterEnd`): they change what is noted beside its status, which is final.

These events are not to be confused with those of `background.execution_events` (what Step Functions reports),
`changes` (what Stepwire publishes) and `aws.workflow_events` (EventBridge's JSON).
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stepwire.json_text import JsonObject
from stepwire.tasks.answers import CALLER, Audience, Given
from stepwire.tasks.ids import TaskId
from stepwire.tasks.inputs import Asked, Callback
from stepwire.tasks.line import InLine
from stepwire.tasks.runs import Run, RunEnd
from stepwire.tasks.task import (
    LONGEST_MESSAGE,
    Cancelled,
    Completed,
    Failed,
    ItemCount,
    Progress,
    StoredResult,
    Task,
    TaskError,
    Terms,
    ToolResult,
)


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


def progress_of(reported: ProgressReported, run: Run) -> ProgressReported:
    """Return the progress of a run as that of its task. Of several, the furthest is shown, so it is a percentage."""
    if not run.name:
        return reported
    progress, message = reported.progress, reported.message
    if progress.total:
        progress = replace(progress, done=round(100 * progress.done / progress.total, 2), total=100)
    return ProgressReported(progress, None if message is None else f"{run.name}: {message}")


class InputRequested(Struct, frozen=True):
    """The workflow asked a question and waits for the answer."""

    key: str
    """The author's key for the question; a later question with the same key gets a suffix."""
    asked: Asked
    destination: Callback
    expires_at: datetime | None = None
    dead: frozenset[str] = frozenset()
    """Tokens with which no state waits any more: what was asked with them may be asked by this state."""
    audience: Audience = CALLER
    """Who answers it."""


class Answered(Struct, frozen=True):
    """Somebody answered questions; whether they may is checked before. What is not open to them is ignored."""

    answers: Mapping[int, Given]
    """By the sequence numbers of the questions: an update of a client has several."""
    extra: str = ""
    """Through which the answers come (`Audience.extra`); empty: they are the caller's."""


class Readdressed(Struct, frozen=True):
    """Questions have other audiences from now on, or are announced to the same ones again."""

    audiences: Mapping[int, Audience]
    """By the sequence numbers of the questions."""


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
    """Runs may not have begun: their start was throttled, or got no answer."""

    runs: frozenset[int]


class WorkBegun(Struct, frozen=True):
    """Runs have begun after their start was postponed."""

    runs: frozenset[int]


class LineChecked(Struct, frozen=True):
    """Runs asked for their turns: some have them, and the others wait."""

    taken: frozenset[int]
    """The runs that have their turns."""
    in_line: InLine | None = None
    """Where the first of the others stands."""


class Noted(Struct, frozen=True):
    """An extra notes something with the task."""

    by: str
    """Name of the extra."""
    note_of: Callable[[Task], JsonObject | None]
    """Returns its note of the task as it is now, of bounded size; None: there is nothing to note. Pure."""


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

    @property
    def status(self) -> Completed:
        """The status that it leads to."""
        return Completed(self.result, self.message)


class WorkFailed(Struct, frozen=True):
    """The workflow ended with a JSON-RPC error, or could not be started."""

    error: TaskError

    @property
    def status(self) -> Failed:
        """The status that it leads to."""
        return Failed(self.error, self.error.message[:LONGEST_MESSAGE])


class WorkStopped(Struct, frozen=True):
    """The work was stopped, by the caller or by an operator."""

    message: str
    stopped: frozenset[str] = frozenset()
    """Names of the executions that were found and stopped; another request may start any other one."""

    @property
    def status(self) -> Cancelled:
        """The status that it leads to."""
        return Cancelled(self.message)


WorkEnded: TypeAlias = WorkCompleted | WorkFailed | WorkStopped


class RunEnded(Struct, frozen=True):
    """An attempt of a run ended; the retry policy and the quorum decide whether the task does."""

    end: RunEnd
    then: WorkEnded
    """The end of the task, if this one decides it."""


class RunNotRedriven(Struct, frozen=True):
    """Step Functions does not redrive the execution of a run: the attempt begins in a new one, or the run has ended."""

    end: RunEnd
    then: WorkEnded
    """The end of the task, if the attempt may not begin in a new execution, and this decides it."""


class RunsStopped(Struct, frozen=True):
    """No execution of the ended task may run any more."""


class FollowedUp(Struct, frozen=True):
    """Another task was chosen to continue the ended one; of several, the first counts."""

    task_id: TaskId


AfterEnd: TypeAlias = RunsStopped | FollowedUp


TaskEvent: TypeAlias = (
    WorkChecked
    | StateEntered
    | ProgressReported
    | InputRequested
    | Answered
    | Readdressed
    | InputRefused
    | AnswersDelivered
    | StartPostponed
    | WorkBegun
    | LineChecked
    | Noted
    | WorkConfirmed
    | WorkDeclined
    | WorkEnded
    | RunEnded
    | RunNotRedriven
    | AfterEnd
)


class Begin(Struct, frozen=True):
    """The effect of an event: start or redrive the execution of a run, now or at a time to come."""

    run: int
    at: datetime | None = None


class GiveBack(Struct, frozen=True):
    """The effect of an event: a run needs its turn, or its place in line, no more."""

    run: int


class Advanced(Struct, frozen=True):
    """A task after an event, and what follows."""

    task: Task
    effects: tuple[Begin | GiveBack, ...] = ()
