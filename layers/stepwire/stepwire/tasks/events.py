"""What can happen to a task. Each event is a fact that is already true outside; the lifecycle decides what follows."""

from dataclasses import dataclass
from typing import TypeAlias

from stepwire.tasks.task import ResultInExecution, TaskError, ToolResult


@dataclass(frozen=True)
class WorkChecked:
    """Somebody looks at Step Functions now, so nobody else needs to for a while."""


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


TaskEvent: TypeAlias = WorkChecked | WorkCompleted | WorkFailed | WorkStopped
