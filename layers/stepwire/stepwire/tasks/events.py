"""What can happen to a task. Each event is a fact that is already true outside; the lifecycle decides what follows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from stepwire.tasks.inputs import Answer, Callback, Elicitation
from stepwire.tasks.task import Progress, ResultInExecution, TaskError, ToolResult


@dataclass(frozen=True)
class WorkChecked:
    """Somebody looks at Step Functions now, so nobody else needs to for a while."""


@dataclass(frozen=True)
class StateEntered:
    """The workflow is in a state of that name."""

    name: str


@dataclass(frozen=True)
class ProgressReported:
    """The workflow says how far it is."""

    progress: Progress
    message: str | None = None


@dataclass(frozen=True)
class InputRequested:
    """The workflow asks, and waits."""

    key: str
    """As its author calls the question; a later one of the same name gets another key."""
    elicitation: Elicitation
    destination: Callback
    expires_at: datetime | None = None


@dataclass(frozen=True)
class InputAnswered:
    """Questions were answered, by their keys; those of others are none of ours."""

    answers: Mapping[str, Answer]


@dataclass(frozen=True)
class InputRefused:
    """Answers were not what was asked for, so their questions are asked again."""

    reasons: Mapping[str, str]
    """What is wrong with each, and what would be right, by the key of its question."""


@dataclass(frozen=True)
class AnswersDelivered:
    """The workflow has got answers, or nobody waits for them any more."""

    tokens: frozenset[str]


@dataclass(frozen=True)
class WorkConfirmed:
    """The user said yes, so the workflow may begin."""

    input: str
    """Its input, with what the user answered."""
    waited: timedelta = timedelta()
    """How long the answer took; the task is kept so much longer, for its workflow needs the time that it was given."""


@dataclass(frozen=True)
class WorkDeclined:
    """The user did not say yes, so the workflow never begins."""

    result: ToolResult


@dataclass(frozen=True)
class WorkCompleted:
    """The workflow ended with an answer for the caller, good or bad."""

    result: ToolResult | ResultInExecution
    message: str | None = None


@dataclass(frozen=True)
class WorkFailed:
    """The workflow ended with a JSON-RPC error, or cannot end at all."""

    error: TaskError


@dataclass(frozen=True)
class WorkStopped:
    """The execution was stopped, by the caller or by an operator."""

    message: str
    may_begin: bool = False
    """Whether there was none to stop, so that somebody may still be about to start it."""


WorkEnded: TypeAlias = WorkCompleted | WorkFailed | WorkStopped
TaskEvent: TypeAlias = (
    WorkChecked
    | StateEntered
    | ProgressReported
    | InputRequested
    | InputAnswered
    | InputRefused
    | AnswersDelivered
    | WorkConfirmed
    | WorkDeclined
    | WorkEnded
)
