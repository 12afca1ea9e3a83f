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
from stepwire.engine.limiter import TIME_TO_ANSWER, HeldPlace, WaitLimiter
from stepwire.engine.ports import TaskPage, Workflows
from stepwire.engine.recorder import Recorder, entry_of
from stepwire.engine.upkeep import Upkeep
from stepwire.errors import (
    InternalError,
    StopRefused,
    TaskAlreadyEnded,
    UnknownTask,
    WorkflowNotStopped,
    WorkflowsThrottled,
)
from stepwire.json_text import as_object, write
from stepwire.principal import Principal
from stepwire.tasks.events import WorkCompleted, WorkStopped
from stepwire.tasks.ids import TaskId
from stepwire.tasks.outcomes import (
    ExecutionState,
    Sign,
    Succeeded,
    Unreadable,
    result_location_of,
    with_presigned_links,
)
from stepwire.tasks.runs import result_meta
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

# The message of the task, and the cause that Step Functions shows.
_BY_CALLER: Final = ("The task was cancelled by its caller.", "Cancelled by the caller.")
_BY_OPERATOR: Final = ("The task was cancelled by the operator of this endpoint.", "Cancelled by the operator.")
_FIRST_PAUSE: Final = 0.1  # seconds; between reads of a task that is watched
_LONGEST_PAUSE: Final = 1.0


class Operations(Struct, frozen=True):
    """The operations, on top of the ports."""

    recorder: Recorder
    workflows: Workflows
    upkeep: Upkeep
    sign: Sign
    report: Callable[[Exception], None]
    """Receives faults that do not keep the caller from getting an answer."""
    limiter: WaitLimiter
    """Limits the requests that wait."""

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
        """Yield the task now and after each change, until `until(task)` holds or the wait ends.

        The wait ends after `patience`, and `TIME_TO_ANSWER` before the deadline. There is no wait if too many requests
        wait already. An error of the store does not end the wait: the caller keeps the task's handle.

        Raises:
            UnknownTask: the task expired during the wait.
        """
        yield task
        now = self.recorder.clock.now()
        ends_at = now + patience if deadline is None else min(now + patience, deadline - TIME_TO_ANSWER)
        if until(task) or ends_at <= now:
            return
        held = self.limiter.acquire(task.owner, ends_at)
        if not isinstance(held, HeldPlace):
            return
        try:
            yield from self._changes(task, ends_at, until)
        finally:
            self.limiter.release(held)

    def _changes(self, task: Task, ends_at: datetime, until: Callable[[Task], bool]) -> Iterator[Task]:
        pause = _FIRST_PAUSE
        while not until(task) and (left := ends_at - self.recorder.clock.now()) > timedelta():
            self.recorder.clock.sleep(min(pause, left.total_seconds()))
            pause = min(pause * 2, _LONGEST_PAUSE)
            try:
                # Not audited: this is not a poll.
                latest = self.upkeep.after_upkeep(self.recorder.require(task.owner, task.task_id))
            except UnknownTask:
                raise
            except Exception as fault:  # noqa: BLE001 - the next attempt may succeed
                self.report(fault)
                continue
            if latest != task:
                yield latest
            task = latest

    def cancel(self, owner: Principal, task_id: object, operator: str | None = None) -> Task:
        """Stop the execution, record the task as cancelled, and return it (T23: before the response).

        With an `operator`, they cancel it in the caller's place.

        Raises:
            UnknownTask: the caller has no such task.
            TaskAlreadyEnded: the task had ended, or ended meanwhile; it is unchanged.
        """
        task = self.recorder.require(owner, task_id)
        if task.has_ended:
            raise TaskAlreadyEnded
        words, cause = _BY_CALLER if operator is None else _BY_OPERATOR
        stopped = WorkStopped(words)
        if task.awaits_confirmation:
            # Only if nobody confirmed the call meanwhile: then there is an execution to stop.
            cancelled_first = self.recorder.save_if_unchanged(task, stopped)
            if cancelled_first is None:
                return self.cancel(owner, task_id, operator)
            self._note_cancel(cancelled_first, operator)
            return cancelled_first
        running = task.due_runs(self.recorder.clock.now())
        try:
            there = self.upkeep.runs.stop(task, running, cause)
        except StopRefused as refusal:
            self.report(refusal)
            raise WorkflowNotStopped(f"The task goes on: {refusal.reason}.") from None
        after = self.recorder.advanced(task, replace(stopped, stopped=there))
        if after is None:
            raise UnknownTask
        cancelled = after.task
        if not isinstance(cancelled.status, Cancelled):
            raise TaskAlreadyEnded
        try:  # what began between the read of the task and its end is stopped too
            cancelled = self.upkeep.runs.perform(after, but=frozenset(task.execution_of(run).name for run in running))
        except Exception as fault:  # noqa: BLE001 - the task is cancelled; the sweep repeats this
            self.report(fault)
        self._note_cancel(cancelled, operator)
        return cancelled

    def _note_cancel(self, task: Task, operator: str | None) -> None:
        self.recorder.audit(replace(entry_of(AuditAction.CANCELLED, task), operator=operator))

    def page(self, owner: Principal, after: TaskId | None) -> TaskPage:
        """Return one page of the caller's tasks, newest first."""
        return self.recorder.page(owner, after, PAGE_SIZE)

    def result_of(self, task: Task) -> ToolResult | TaskError:
        """Return the result or error of an ended task; a large result is read now."""
        self.recorder.note(AuditAction.RETRIEVED, task)
        match task.status:
            case Completed(result):
                whole = with_presigned_links(self._whole(task, result), result_location_of(task), self.sign)
                added = result_meta(task.runs, task.winner, task.last_updated_at)
                if not added:
                    return whole
                value = whole.value()
                return replace(whole, text=write({**value, "_meta": {**as_object(value.get("_meta")), **added}}))
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
