"""Bring the end of an execution to its task, and what it says of its progress.

Events come late, twice, in any order, or for executions that are none of ours; all of that is harmless. What cannot be
recorded now raises, so that it is delivered again.
"""

from dataclasses import dataclass

from stepwire.audit import Source
from stepwire.errors import WorkflowsUnavailable
from stepwire.ports import Workflows
from stepwire.recorder import Recorder
from stepwire.tasks.events import ProgressReported
from stepwire.tasks.ids import task_key_of
from stepwire.tasks.outcomes import ExecutionState, Missing, Running, Succeeded, event_of, fitted
from stepwire.tasks.task import Execution, Progress, Task


@dataclass(frozen=True)
class StatusChange:
    """Step Functions says how an execution stands."""

    execution: Execution
    state: ExecutionState


@dataclass(frozen=True)
class ProgressMade:
    """A workflow says how far it is."""

    execution: Execution
    progress: Progress
    message: str | None = None


@dataclass(frozen=True)
class ExecutionEvents:
    """Records what status changes mean."""

    recorder: Recorder
    workflows: Workflows

    def record(self, change: StatusChange) -> None:
        """Record a status change in its task, if it has one that still waits for it.

        Raises:
            WorkflowsUnavailable: the event left its output out, and Step Functions does not give it yet.
        """
        task = self._task(change.execution)
        if task is None:
            return
        state = self._with_output(change)
        if isinstance(state, (Running, Missing)):
            return
        self.recorder.record(task, fitted(event_of(state, task.work.output_schema, task.work.causes)), Source.EVENT)

    def record_progress(self, made: ProgressMade) -> None:
        """Record progress in the task of an execution that still runs; the lifecycle lets none go back."""
        task = self._task(made.execution)
        if task is not None:
            self.recorder.record(task, ProgressReported(made.progress, made.message))

    def _task(self, execution: Execution) -> Task | None:
        """Find the task that still waits for an execution's news."""
        key = task_key_of(execution.name)
        task = self.recorder.load(key) if key else None
        return task if task is not None and not task.has_ended and task.execution == execution else None

    def _with_output(self, change: StatusChange) -> ExecutionState:
        if change.state != Succeeded(None):
            return change.state
        state = self.workflows.describe(change.execution)
        if isinstance(state, (Running, Missing)):
            raise WorkflowsUnavailable  # its word lags behind the event's
        return state
