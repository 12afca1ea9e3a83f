"""The operations of a caller on tasks that are there, independent of a protocol era: read, watch, cancel and list them.

`get` and `watch` do the upkeep of the task that they read (`upkeep`). How a call becomes a task is in `calls`.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.engine.ports import TaskPage, Workflows
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Upkeep
from stepwire.engine.waiting import Waiting
from stepwire.errors import (
    InternalError,
    StopRefused,
    TaskAlreadyEnded,
    UnknownTask,
    WorkflowNotStopped,
    WorkflowsThrottled,
)
from stepwire.json_text import JsonObject, as_object, write
from stepwire.principal import Principal
from stepwire.tasks.events import WorkCompleted, WorkStopped
from stepwire.tasks.ids import TaskId
from stepwire.tasks.objects import Sign, result_location_of, with_presigned_links
from stepwire.tasks.outcomes import ExecutionState, Succeeded, Unreadable
from stepwire.tasks.runs import Pending, result_meta
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    ResultElsewhere,
    ResultInExecution,
    StoredResult,
    Task,
    TaskError,
    ToolResult,
    Working,
)

PAGE_SIZE: Final = 50
_RETRY_PAUSES: Final = (0.3, 1.0)  # seconds; between attempts to fetch a result


class Operations(Struct, frozen=True):
    """The operations, on top of the ports."""

    recorder: Recorder
    workflows: Workflows
    upkeep: Upkeep
    sign: Sign
    report: Callable[[Exception], None]
    """Receives faults that do not keep the caller from getting an answer."""
    waiting: Waiting

    def get(self, owner: Principal, task_id: object) -> Task:
        """Return a task after its upkeep (`Upkeep.after_upkeep`). This is a poll, and audited as one.

        Raises:
            UnknownTask: the caller has no such task.
        """
        task = self.upkeep.after_upkeep(self.recorder.require(owner, task_id))
        self.recorder.note(AuditAction.POLLED, task)
        return task

    def watch(
        self, task: Task, patience: timedelta, until: Callable[[Task], bool], deadline: datetime | None = None
    ) -> Iterator[Task]:
        """Yield the task now and after each change, until `until(task)` holds or the wait ends (`Waiting.watch`)."""
        return self.waiting.watch(task, patience, until, deadline)

    def cancel(self, owner: Principal, task_id: object) -> Task:
        """Stop the execution, record the task as cancelled, and return it (T23: before the response).

        Raises:
            UnknownTask: the caller has no such task.
            TaskAlreadyEnded: the task had ended, or ended meanwhile; it is unchanged.
        """
        task = self.recorder.require(owner, task_id)
        if task.has_ended:
            raise TaskAlreadyEnded
        stopped = WorkStopped("The task was cancelled by its caller.")
        if task.awaits_confirmation:
            # Only if nobody confirmed the call meanwhile: then there is an execution to stop.
            cancelled_first = self.recorder.save_if_unchanged(task, stopped)
            if cancelled_first is None:
                return self.cancel(owner, task_id)
            self.recorder.note(AuditAction.CANCELLED, cancelled_first)
            return cancelled_first
        running = [task.execution_of(run) for run in task.due_runs(self.recorder.clock.now())]
        try:
            there = frozenset(one.name for one in running if self.workflows.stop(one, "Cancelled by the caller."))
        except StopRefused as refusal:
            self.report(refusal)
            raise WorkflowNotStopped(f"The task goes on: {refusal.reason}.") from None
        cancelled = self.recorder.record(task, replace(stopped, stopped=there))
        if cancelled is None:
            raise UnknownTask
        if not isinstance(cancelled.status, Cancelled):
            raise TaskAlreadyEnded
        cancelled = self._stop_what_began_meanwhile(cancelled, frozenset(one.name for one in running))
        self.recorder.note(AuditAction.CANCELLED, cancelled)
        return cancelled

    def _stop_what_began_meanwhile(self, task: Task, stopped: frozenset[str]) -> Task:
        """Stop the executions that began between the read of the task and its end."""
        if not any(task.execution_of(run).name not in stopped for run in task.runs_pending(Pending.STOP)):
            return task
        try:
            return self.upkeep.runs.stop_pending(task, but=stopped)
        except Exception as fault:  # noqa: BLE001 - the task is cancelled; the sweep repeats this
            self.report(fault)
            return task

    def page(self, owner: Principal, after: TaskId | None) -> TaskPage:
        """Return one page of the caller's tasks, newest first."""
        return self.recorder.page(owner, after, PAGE_SIZE)

    def result_of(self, task: Task) -> ToolResult | TaskError:
        """Return the result or error of an ended task; a large result is read now."""
        self.recorder.note(AuditAction.RETRIEVED, task)
        match task.status:
            case Completed(result):
                whole = with_presigned_links(self._whole(task, result), result_location_of(task), self.sign)
                return _with_meta(whole, result_meta(task.runs, task.quorum, task.last_updated_at))
            case Failed(error):
                return error
            case Working() | InputRequired() | Cancelled():
                raise AssertionError("the task has no result")

    def _whole(self, task: Task, result: StoredResult) -> ToolResult:
        match result:
            case ToolResult():
                return result
            case ResultElsewhere():
                return self.recorder.store.parts.result_of(task, result)
            case ResultInExecution():
                return self._fetch_result(task)

    def _fetch_result(self, task: Task) -> ToolResult:
        match self._describe_with_retries(task):
            case Succeeded() as end:
                event = self.recorder.event_of_end(task, end)
            case Unreadable():
                raise InternalError(
                    "The workflow succeeded, but its result cannot be read: this server may not use the key that "
                    "encrypts it. Its operator can allow that; ask again then."
                )
            case _:
                event = None
        if not (isinstance(event, WorkCompleted) and isinstance(event.result, ToolResult)):
            raise InternalError("The result was not stored with the task, and Step Functions no longer has it.")
        return event.result

    def _describe_with_retries(self, task: Task) -> ExecutionState:
        """Return the state of an execution, with retries when throttled: without it there is no result to return."""
        for pause in _RETRY_PAUSES:
            with suppress(WorkflowsThrottled):
                return self.workflows.describe(task.execution)
            self.recorder.clock.sleep(pause)
        return self.workflows.describe(task.execution)


def _with_meta(result: ToolResult, added: JsonObject) -> ToolResult:
    if not added:
        return result
    value = result.value()
    return replace(result, text=write({**value, "_meta": {**as_object(value.get("_meta")), **added}}))
