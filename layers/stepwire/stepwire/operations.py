"""What a caller can ask for, in terms of tasks and of no protocol era: call a tool, look, follow, cancel, list.

Write, then start, then answer: a task is durable before its handle leaves, and whatever breaks in between is repaired
by the next reader, because starting the same execution again is harmless.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from stepwire.catalog import Confirmation, Tool
from stepwire.errors import (
    InternalError,
    StartRefused,
    StartUnclear,
    TaskAlreadyEnded,
    UnknownTask,
    WorkflowNotStarted,
)
from stepwire.json_text import JsonObject, write
from stepwire.ports import Randomness, TaskPage, Workflows
from stepwire.principal import Principal
from stepwire.recorder import Recorder
from stepwire.schemas import Violation, violations_of
from stepwire.tasks.events import WorkCompleted, WorkStopped
from stepwire.tasks.ids import RANDOM_BYTES, TaskId, new_task_id
from stepwire.tasks.inputs import InputRequest, WorkflowInput
from stepwire.tasks.outcomes import Succeeded, event_of
from stepwire.tasks.task import (
    LARGEST_INPUT,
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Inputs,
    Origin,
    Status,
    Task,
    TaskError,
    ToolResult,
    Work,
    Working,
)
from stepwire.upkeep import Upkeep

LONGEST_TTL: Final = timedelta(days=30)
PAGE_SIZE: Final = 50
_MILLISECOND: Final = timedelta(milliseconds=1)
_FIRST_PAUSE: Final = 0.1  # seconds
_LONGEST_PAUSE: Final = 1.0


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool. The arguments have been checked (`faults_of`)."""

    owner: Principal
    tool: Tool
    arguments: JsonObject
    """The workflow's input."""
    ttl_ms: int | None = None
    """How many milliseconds the caller asks to keep the task; see `_granted`."""
    origin: Origin = field(default_factory=Origin)


@dataclass(frozen=True)
class Operations:
    """The operations, over the ports."""

    recorder: Recorder
    workflows: Workflows
    randomness: Randomness
    upkeep: Upkeep
    report: Callable[[Exception], None]
    """Told of what went wrong where the caller is served all the same."""

    def call(self, call: ToolCall, task_id: TaskId | None = None) -> Task:
        """Record a task and start its workflow.

        Args:
            call: what to run, for whom.
            task_id: the task's id, where that was given out before; else it gets a new one.

        Raises:
            WorkflowNotStarted: Step Functions refused; there is no task.
            TaskExists: the id has been used.
        """
        task = self.recorder.store.create(self._new_task(call, task_id or self.new_task_id(), Working()))
        try:
            self.workflows.start(task.execution, task.work.input)
        except StartRefused as refusal:
            self.recorder.store.delete(task)
            raise WorkflowNotStarted(
                f"The workflow of {call.tool.name} could not be started: {refusal.reason}"
            ) from None
        except StartUnclear as error:
            self.report(error)
            # The task is durable: whoever looks at it next starts its execution if that has not begun.
            return task
        return task

    def ask_first(self, call: ToolCall, confirmation: Confirmation) -> Task:
        """Record a task whose workflow begins when its caller has confirmed it."""
        question = confirmation_request(confirmation, call.arguments)
        task = self._new_task(call, self.new_task_id(), InputRequired((question,)))
        return self.recorder.store.create(replace(task, inputs=Inputs(asked=1, used_keys=(question.key,))))

    def new_task_id(self) -> TaskId:
        """Make the id of a task."""
        return new_task_id(self.recorder.now(), self.randomness(RANDOM_BYTES))

    def get(self, owner: Principal, task_id: object) -> Task:
        """Read a task, and do for it what a reader does (`Upkeep`).

        Raises:
            UnknownTask: no such task for this caller.
        """
        return self.upkeep.kept(self.recorder.known(owner, task_id))

    def follow(self, task: Task, patience: timedelta, until: Callable[[Task], bool]) -> Iterator[Task]:
        """Give a task as it was read, and again whenever it has changed, until it is so or patience ends."""
        yield task
        deadline = self.recorder.now() + patience
        pause = _FIRST_PAUSE
        while not until(task) and (left := deadline - self.recorder.now()) > timedelta():
            self.recorder.clock.sleep(min(pause, left.total_seconds()))
            pause = min(pause * 2, _LONGEST_PAUSE)
            latest = self.get(task.owner, task.task_id)
            if latest != task:
                yield latest
            task = latest

    def cancel(self, owner: Principal, task_id: object) -> Task:
        """Stop the work of a task and record it as cancelled (T23: before the answer).

        Raises:
            UnknownTask: no such task for this caller.
            TaskAlreadyEnded: it had ended, or ended meanwhile; it stays as it is.
        """
        task = self.recorder.known(owner, task_id)
        if task.has_ended:
            raise TaskAlreadyEnded
        stopped = WorkStopped("The task was cancelled by its caller.")
        if task.awaits_confirmation:
            # Only as the first: whoever has confirmed it meanwhile has begun what is to be stopped.
            return self.recorder.claim(task, stopped) or self.cancel(owner, task_id)
        self.workflows.stop(task.execution, "Cancelled by the caller.")
        cancelled = self.recorder.record(task, stopped)
        if cancelled is None:
            raise UnknownTask
        if not isinstance(cancelled.status, Cancelled):
            raise TaskAlreadyEnded
        return cancelled

    def page(self, owner: Principal, after: TaskId | None) -> TaskPage:
        """List some of the caller's tasks, newest first."""
        return self.recorder.page(owner, after, PAGE_SIZE)

    def answer_of(self, task: Task) -> ToolResult | TaskError:
        """Give what an ended task answered; a result too large for its item is fetched from Step Functions."""
        match task.status:
            case Completed(result):
                return result if isinstance(result, ToolResult) else self._fetched(task)
            case Failed(error):
                return error
            case Working() | InputRequired() | Cancelled():
                raise AssertionError("the task has no answer")

    def _new_task(self, call: ToolCall, task_id: TaskId, status: Status) -> Task:
        now = self.recorder.now()
        tool = call.tool
        return Task(
            owner=call.owner,
            task_id=task_id,
            work=Work(tool.name, tool.state_machine_arn, write(call.arguments), tool.output_schema, tool.shows_state),
            status=status,
            created_at=now,
            last_updated_at=now,
            ttl=_granted(tool, call.ttl_ms),
            poll_interval=tool.poll_interval,
            checked_at=now,
            origin=call.origin,
        )

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


def confirmation_request(confirmation: Confirmation, arguments: JsonObject) -> InputRequest:
    """Make the question that comes before a call with these arguments."""
    return InputRequest(
        confirmation.key,
        number=1,
        elicitation=confirmation.elicitation(arguments),
        destination=WorkflowInput(confirmation.input_key),
    )


def faults_of(tool: Tool, arguments: JsonObject) -> tuple[Violation, ...]:
    """List what is wrong with the arguments of a call; empty where they can be used."""
    if len(write(arguments).encode()) > LARGEST_INPUT:
        return (
            Violation("", f"the arguments are larger than {LARGEST_INPUT} bytes of JSON, the most a workflow takes"),
        )
    return violations_of(tool.input_schema, arguments)
