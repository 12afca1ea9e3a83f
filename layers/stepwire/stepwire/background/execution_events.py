"""Record what Step Functions and workflows report about executions: their ends and their progress.

Delivery is at least once and unordered, and some events belong to foreign executions; all of that is harmless. An event
that cannot be recorded raises, so that it is delivered again. An execution that was redriven after its task had ended
gets a new task: the ended one stays as it is.
"""

from msgspec import Struct

from stepwire.audit import EndSource
from stepwire.engine.assembly import Engine
from stepwire.engine.follow_ups import was_redriven
from stepwire.engine.recorder import RunOfTask
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
from stepwire.tasks.task import Execution, Progress


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
        found = self._found_after_redrive(change)
        if found is None:
            return
        task, run = found.task, found.run
        if task.has_ended:
            self.engine.runs.finish(task, run)
            return
        if not task.runs[run].is_open:
            return
        state = change.state
        match state:
            case Succeeded(None) | ExecutionFailed("", ""):
                # Events of a state machine with a key of its own have neither outputs nor errors.
                state = self._described(task.execution_of(run))
            case Running(redrives) if redrives >= task.runs[run].attempt.redrives:
                self.engine.runs.hold(task, run)  # redriven elsewhere, perhaps
            case _:
                pass
        if not isinstance(state, Running | Missing):
            self.engine.runs.record_end(task, run, state, EndSource.EVENT)

    def record_progress(self, made: ExecutionProgress) -> None:
        """Record progress in the task of a running execution; progress that decreases is ignored by the lifecycle."""
        found = self.engine.recorder.load_for(made.execution)
        if found is None or found.task.has_ended or not found.task.runs[found.run].is_open:
            return
        reported = ProgressReported(made.progress, made.message)
        self.engine.recorder.record(found.task, progress_of(reported, found.task.runs[found.run]))

    def _found_after_redrive(self, change: ExecutionStatusChange) -> RunOfTask | None:
        """Return the task that an execution works for, or worked for beside others; None if there is none."""
        found, state = self.engine.recorder.load_for(change.execution), change.state
        if found is None or not found.task.has_ended or len(found.task.runs) > 1:
            return found
        if isinstance(state, Missing | Unreadable) or not was_redriven(found.task, state):
            return None
        follow_up = self.engine.follow_ups.after_redrive(found.task, state.redrives)
        run = None if follow_up is None else follow_up.run_of(change.execution)
        return None if follow_up is None or run is None else RunOfTask(follow_up, run)

    def _described(self, execution: Execution) -> ExecutionState:
        state = self.engine.ports.workflows.describe(execution)
        if isinstance(state, Running | Missing):
            raise WorkflowsUnavailable  # DescribeExecution lags behind the event
        return state
