"""Record what Step Functions and workflows report about executions: their ends and their progress.

Delivery is at least once and unordered, and some events belong to foreign executions; all of that is harmless. An event
that cannot be recorded raises, so that it is delivered again.
"""

from stepwire.audit import EndSource
from stepwire.engine.ports import Workflows
from stepwire.engine.recorder import Recorder
from stepwire.errors import WorkflowsUnavailable
from stepwire.lean_dataclasses import dataclass
from stepwire.tasks.events import ProgressReported
from stepwire.tasks.ids import task_key_from_execution
from stepwire.tasks.outcomes import (
    ExecutionFailed,
    ExecutionState,
    Missing,
    Running,
    Succeeded,
)
from stepwire.tasks.task import Execution, Progress, Task


@dataclass(frozen=True)
class ExecutionStatusChange:
    """Step Functions reported a new status of an execution."""

    execution: Execution
    state: ExecutionState


@dataclass(frozen=True)
class ExecutionProgress:
    """A workflow reported the progress of an execution."""

    execution: Execution
    progress: Progress
    message: str | None = None


@dataclass(frozen=True)
class ExecutionEvents:
    """Records events of executions in their tasks."""

    recorder: Recorder
    workflows: Workflows

    def record(self, change: ExecutionStatusChange) -> None:
        """Record the end of an execution in its task; other status changes and foreign executions are ignored.

        Raises:
            WorkflowsUnavailable: the event lacks the output, and Step Functions does not return it yet.
        """
        task = self._task(change.execution)
        if task is None:
            return
        state = self._with_output(change, task.execution)
        if isinstance(state, (Running, Missing)):
            return
        self.recorder.record_end(task, state, EndSource.EVENT)

    def record_progress(self, made: ExecutionProgress) -> None:
        """Record progress in the task of a running execution; progress that decreases is ignored by the lifecycle."""
        task = self._task(made.execution)
        if task is not None:
            self.recorder.record(task, ProgressReported(made.progress, made.message))

    def _task(self, execution: Execution) -> Task | None:
        """Return the task of an execution; None if there is none or it has ended."""
        key = task_key_from_execution(execution.name)
        task = self.recorder.load(key) if key else None
        return task if task is not None and not task.has_ended and task.execution == execution else None

    def _with_output(self, change: ExecutionStatusChange, execution: Execution) -> ExecutionState:
        # Events of a state machine with a key of its own have neither outputs nor errors.
        if change.state not in {Succeeded(None), ExecutionFailed("", "")}:
            return change.state
        state = self.workflows.describe(execution)
        if isinstance(state, (Running, Missing)):
            raise WorkflowsUnavailable  # DescribeExecution lags behind the event
        return state
