"""Record what Step Functions and workflows report about executions: their ends and their progress.

Delivery is at least once and unordered, and some events belong to foreign executions; all of that is harmless. An event
that cannot be recorded raises, so that it is delivered again. An execution that was redriven after its task had ended
gets a new task: the ended one stays as it is.
"""

from msgspec import Struct

from stepwire.audit import EndSource
from stepwire.engine.assembly import Engine
from stepwire.engine.follow_ups import was_redriven
from stepwire.errors import WorkflowsUnavailable
from stepwire.tasks.events import ProgressReported, progress_of
from stepwire.tasks.outcomes import (
    ExecutionFailed,
    ExecutionState,
    Missing,
    Running,
    Succeeded,
    Unreadable,
)
from stepwire.tasks.task import Execution, Progress, Task


class ExecutionStatusChange(Struct, frozen=True):
    """Step Functions reported a new status of an execution."""

    execution: Execution
    state: ExecutionState


class ExecutionProgress(Struct, frozen=True):
    """A workflow reported the progress of an execution."""

    execution: Execution
    progress: Progress
    message: str | None = None


class ExecutionEvents(Struct, frozen=True):
    """Records events of executions in their tasks."""

    engine: Engine

    def record(self, change: ExecutionStatusChange) -> None:
        """Record the end of an execution in its task, or the redrive of an execution whose task has ended in a new one.

        Other status changes and foreign executions are ignored.

        Raises:
            WorkflowsUnavailable: the event lacks the output, and Step Functions does not return it yet.
        """
        task = self._task_after_redrive(change)
        if task is None:
            return
        if task.has_ended:
            self.engine.runs.finish(task, change.execution)
            return
        run = task.open_run_of(change.execution)
        if run is None:
            return  # of an attempt that is over
        state = self._with_output(change, task.execution_of(run))
        if isinstance(state, (Running, Missing)):
            return
        self.engine.runs.record_end(task, run, state, EndSource.EVENT)

    def record_progress(self, made: ExecutionProgress) -> None:
        """Record progress in the task of a running execution; progress that decreases is ignored by the lifecycle."""
        task = self.engine.recorder.load_for(made.execution)
        run = None if task is None or task.has_ended else task.open_run_of(made.execution)
        if task is None or run is None:
            return
        reported = ProgressReported(made.progress, made.message)
        self.engine.recorder.record(task, progress_of(reported, task.runs[run]))

    def _task_after_redrive(self, change: ExecutionStatusChange) -> Task | None:
        """Return the task that an execution works for, or worked for beside others; None if there is none."""
        task, state = self.engine.recorder.load_for(change.execution), change.state
        if task is None or not task.has_ended or len(task.runs) > 1:
            return task
        if isinstance(state, Missing | Unreadable) or not was_redriven(task, state):
            return None
        return self.engine.follow_ups.after_redrive(task, state.redrives)

    def _with_output(self, change: ExecutionStatusChange, execution: Execution) -> ExecutionState:
        # Events of a state machine with a key of its own have neither outputs nor errors.
        if change.state not in {Succeeded(None), ExecutionFailed("", "")}:
            return change.state
        state = self.engine.ports.workflows.describe(execution)
        if isinstance(state, (Running, Missing)):
            raise WorkflowsUnavailable  # DescribeExecution lags behind the event
        return state
