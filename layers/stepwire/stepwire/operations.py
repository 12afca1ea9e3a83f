"""What a caller can ask for, in terms of tasks and of no protocol era: call a tool, look, wait, cancel, list.

Write, then start, then answer: a task is durable before its handle leaves, and whatever breaks in between is repaired
by the next reader, because starting the same execution again is harmless.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from stepwire.catalog import Tool
from stepwire.errors import (
    InternalError,
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    TaskAlreadyEnded,
    UnknownTask,
    WorkflowNotStarted,
    WorkflowsUnavailable,
)
from stepwire.json_text import JsonObject, write
from stepwire.ports import Randomness, TaskPage, Workflows
from stepwire.principal import Principal
from stepwire.recorder import Recorder, is_due
from stepwire.schemas import Violation, violations_of
from stepwire.tasks.events import WorkChecked, WorkCompleted, WorkFailed, WorkStopped
from stepwire.tasks.ids import RANDOM_BYTES, TaskId, TaskKey, new_task_id, task_id_of
from stepwire.tasks.outcomes import Missing, Running, Succeeded, event_of, fitted
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    Failed,
    Task,
    TaskError,
    ToolResult,
    Work,
    Working,
)

LARGEST_INPUT: Final = 262_144  # bytes; what Step Functions takes
LONGEST_TTL: Final = timedelta(days=30)
PAGE_SIZE: Final = 50
_MILLISECOND: Final = timedelta(milliseconds=1)
_FIRST_PAUSE: Final = 0.1  # seconds
_LONGEST_PAUSE: Final = 1.0


@dataclass(frozen=True)
class Patience:
    """How long to wait, and how often to look."""

    wait: timedelta = timedelta(seconds=20)
    """How long a call is held for the end of its task: below API Gateway's 30 seconds."""
    repair_after: timedelta = timedelta(seconds=60)
    """How long nobody has looked at Step Functions before somebody does."""


@dataclass(frozen=True)
class Operations:
    """The operations, over the ports."""

    recorder: Recorder
    workflows: Workflows
    randomness: Randomness
    patience: Patience
    report: Callable[[Exception], None]
    """Told of what kept a task from being looked after; its caller is served with what is known."""

    def call(self, owner: Principal, tool: Tool, arguments: JsonObject, ttl_ms: int | None) -> Task:
        """Record a task and start its workflow. The arguments have been checked (`faults_of`).

        Args:
            owner: who calls.
            tool: what to run.
            arguments: the workflow's input.
            ttl_ms: how many milliseconds the caller asks to keep the task; see `_granted`.

        Raises:
            WorkflowNotStarted: Step Functions refused; there is no task.
        """
        task = self.recorder.store.create(self._new_task(owner, tool, arguments, ttl_ms))
        try:
            self.workflows.start(task.execution, task.work.input)
        except StartRefused as refusal:
            self.recorder.store.delete(task)
            raise WorkflowNotStarted(f"The workflow of {tool.name} could not be started: {refusal.reason}") from None
        except StartUnclear as error:
            self.report(error)
            # The task is durable: whoever looks at it next starts its execution if that has not begun.
            return task
        return task

    def get(self, owner: Principal, task_id: object) -> Task:
        """Read a task, and look at Step Functions if its end is overdue.

        Raises:
            UnknownTask: no such task for this caller.
        """
        return self._refreshed(self._known(owner, task_id))

    def wait(self, task: Task) -> Task:
        """Hold on until the task has ended, or patience has."""
        deadline = self.recorder.now() + self.patience.wait
        pause = _FIRST_PAUSE
        while not task.has_ended and (left := deadline - self.recorder.now()) > timedelta():
            self.recorder.clock.sleep(min(pause, left.total_seconds()))
            pause = min(pause * 2, _LONGEST_PAUSE)
            task = self.get(task.owner, task.task_id)
        return task

    def cancel(self, owner: Principal, task_id: object) -> Task:
        """Stop the work of a task and record it as cancelled (T23: before the answer).

        Raises:
            UnknownTask: no such task for this caller.
            TaskAlreadyEnded: it had ended, or ended meanwhile; it stays as it is.
        """
        task = self._known(owner, task_id)
        if task.has_ended:
            raise TaskAlreadyEnded
        self.workflows.stop(task.execution, "Cancelled by the caller.")
        cancelled = self.recorder.record(task, WorkStopped("The task was cancelled by its caller."))
        if cancelled is None:
            raise UnknownTask
        if not isinstance(cancelled.status, Cancelled):
            raise TaskAlreadyEnded
        return cancelled

    def page(self, owner: Principal, after: TaskId | None) -> TaskPage:
        """List some of the caller's tasks, newest first."""
        page = self.recorder.store.page(owner, after, PAGE_SIZE)
        now = self.recorder.now()
        return TaskPage(tuple(task for task in page.tasks if task.expires_at > now), page.next_after)

    def answer_of(self, task: Task) -> ToolResult | TaskError:
        """Give what an ended task answered; a result too large for its item is fetched from Step Functions."""
        match task.status:
            case Completed(result):
                return result if isinstance(result, ToolResult) else self._fetched(task)
            case Failed(error):
                return error
            case Working() | Cancelled():
                raise AssertionError("the task has no answer")

    def _new_task(self, owner: Principal, tool: Tool, arguments: JsonObject, ttl_ms: int | None) -> Task:
        now = self.recorder.now()
        return Task(
            owner=owner,
            task_id=new_task_id(now, self.randomness(RANDOM_BYTES)),
            work=Work(tool.name, tool.state_machine_arn, write(arguments), tool.output_schema),
            status=Working(),
            created_at=now,
            last_updated_at=now,
            ttl=_granted(tool, ttl_ms),
            poll_interval=tool.poll_interval,
            checked_at=now,
        )

    def _known(self, owner: Principal, task_id: object) -> Task:
        wellformed = task_id_of(task_id)
        task = self.recorder.load(TaskKey(owner, wellformed)) if wellformed else None
        if task is None:
            raise UnknownTask
        return task

    def _refreshed(self, task: Task) -> Task:
        if not is_due(task, self.recorder.now(), self.patience.repair_after):
            return task
        # Claimed before looking: of all who poll this task, one asks Step Functions.
        claimed = self.recorder.claim(task, WorkChecked())
        if claimed is None:
            return task
        try:
            return self._repaired(claimed)
        except (WorkflowsUnavailable, StartUnclear, StartRefusedForNow) as error:
            self.report(error)
            return claimed

    def _repaired(self, task: Task) -> Task:
        match self.workflows.describe(task.execution):
            case Running():
                return task
            case Missing():
                return self._started_again(task)
            case end:
                event = fitted(event_of(end, task.work.output_schema))
                return self.recorder.record(task, event) or task

    def _started_again(self, task: Task) -> Task:
        try:
            self.workflows.start(task.execution, task.work.input)
        except StartRefusedForNow:
            raise
        except StartRefused as refusal:
            error = TaskError(InternalError.code, f"The workflow could not be started: {refusal.reason}")
            return self.recorder.record(task, WorkFailed(error)) or task
        return self._still_wanted(task)

    def _still_wanted(self, task: Task) -> Task:
        """Stop again what was started for a task that somebody has cancelled meanwhile."""
        current = self.recorder.load(task.key)
        if current is not None and not current.has_ended:
            return current
        self.workflows.stop(task.execution, "The task had ended before its execution began.")
        return current or task

    def _fetched(self, task: Task) -> ToolResult:
        match self.workflows.describe(task.execution):
            case Succeeded() as end:
                event = event_of(end, task.work.output_schema)
            case _:
                event = None
        if not (isinstance(event, WorkCompleted) and isinstance(event.result, ToolResult)):
            raise InternalError("The result is too large to be kept with the task, and Step Functions has lost it.")
        return event.result


def _granted(tool: Tool, asked_ms: int | None) -> timedelta:
    """T12: never shorter than the tool's own, which its longest run fits into; never longer than the limit."""
    asked = 0 if asked_ms is None else min(asked_ms, LONGEST_TTL // _MILLISECOND)
    return max(tool.ttl, asked * _MILLISECOND)


def faults_of(tool: Tool, arguments: JsonObject) -> tuple[Violation, ...]:
    """List what is wrong with the arguments of a call; empty where they can be used."""
    if len(write(arguments).encode()) > LARGEST_INPUT:
        return (
            Violation("", f"the arguments are larger than {LARGEST_INPUT} bytes of JSON, the most a workflow takes"),
        )
    return violations_of(tool.input_schema, arguments)
