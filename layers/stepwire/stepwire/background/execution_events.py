"""Record what Step Functions and workflows report about executions: their ends and their progress.

Delivery is at least once and unordered, and some events belong to foreign executions; all of that is harmless. An event
that cannot be recorded raises, so that it is delivered again. An execution that was redriven after its task had ended
gets a new task: the ended one stays as it is.
"""

import os
from collections.abc import Callable

from msgspec import Struct, field

from stepwire.audit import EndSource
from stepwire.engine.admission import Admission
from stepwire.engine.attempts import Attempts, NoWakeUps
from stepwire.engine.follow_ups import FollowUps, was_redriven
from stepwire.engine.ports import Randomness, WakeUps, Workflows
from stepwire.engine.recorder import Recorder
from stepwire.errors import WorkflowsUnavailable
from stepwire.tasks.events import ProgressReported, progress_of_arm
from stepwire.tasks.outcomes import (
    ExecutionFailed,
    ExecutionState,
    Missing,
    Running,
    Succeeded,
    Unreadable,
)
from stepwire.tasks.task import Execution, Progress, Task
from stepwire.tasks.usage import Limits


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

    recorder: Recorder
    workflows: Workflows
    report: Callable[[Exception], None] = lambda _fault: None
    """Receives faults that delay the next attempt of a task."""
    wake_ups: WakeUps = field(default_factory=NoWakeUps)
    randomness: Randomness = os.urandom
    limits: Limits = field(default_factory=Limits)
    """What an operator's commands may take of the active tasks of a caller."""

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
            self.attempts.finish(task, change.execution)
            return
        letter = task.letter_of(change.execution)
        if letter is None:
            return
        execution = task.executions[letter]
        state = self._with_output(change, execution)
        if isinstance(state, (Running, Missing)):
            return
        self.attempts.record_end(task, execution, state, EndSource.EVENT)

    def record_progress(self, made: ExecutionProgress) -> None:
        """Record progress in the task of a running execution; progress that decreases is ignored by the lifecycle."""
        task = self.recorder.load_for(made.execution)
        letter = None if task is None or task.has_ended else task.letter_of(made.execution)
        if task is None or letter is None:
            return
        reported = ProgressReported(made.progress, made.message)
        self.recorder.record(task, reported if task.race is None else progress_of_arm(reported, task.race.arm(letter)))

    @property
    def attempts(self) -> Attempts:
        """What begins the attempts of tasks, and records their ends."""
        return Attempts(self.recorder, self.workflows, self.wake_ups, self.report)

    @property
    def follow_ups(self) -> FollowUps:
        """What makes the tasks that follow ended ones."""
        return FollowUps(self.recorder, self.attempts, self.randomness, Admission(self.recorder, self.limits))

    def _task_after_redrive(self, change: ExecutionStatusChange) -> Task | None:
        """Return the task that an execution works for, or worked for in a race; None if there is none."""
        task, state = self.recorder.load_for(change.execution), change.state
        if task is None or not task.has_ended or task.race is not None:
            return task
        if isinstance(state, Missing | Unreadable) or not was_redriven(task, state):
            return None
        return self.follow_ups.after_redrive(task, state.redrives)

    def _with_output(self, change: ExecutionStatusChange, execution: Execution) -> ExecutionState:
        # Events of a state machine with a key of its own have neither outputs nor errors.
        if change.state not in {Succeeded(None), ExecutionFailed("", "")}:
            return change.state
        state = self.workflows.describe(execution)
        if isinstance(state, (Running, Missing)):
            raise WorkflowsUnavailable  # DescribeExecution lags behind the event
        return state
