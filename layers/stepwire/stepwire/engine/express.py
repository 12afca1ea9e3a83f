"""Calls of tools whose state machine is of type EXPRESS: started, waited for, and answered in one request.

There is no task: Step Functions neither follows nor stops such an execution, and keeps nothing of it. So a call is sent
once and never repeated. Whoever gets no answer is told that the work may have been done.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.audit import AuditAction
from stepwire.engine.calls import Calls, ToolCall
from stepwire.engine.limiter import WaitLimiter
from stepwire.engine.ports import CallRate, SyncWorkflows
from stepwire.errors import (
    AtQuota,
    InvalidParams,
    NoEndInTime,
    StartRefused,
    StartUnclear,
    WorkflowNotStarted,
)
from stepwire.tasks.events import WorkCompleted, WorkFailed, WorkStopped
from stepwire.tasks.lifecycle import advance
from stepwire.tasks.limiter import Refused
from stepwire.tasks.line import span
from stepwire.tasks.outcomes import Succeeded, result_location_of, with_presigned_links
from stepwire.tasks.task import Task, TaskError, ToolResult, tool_error

TIME_TO_END: Final = timedelta(seconds=2)
"""Time that must remain of a request when its wait ends: to release what it holds, and to answer."""
_SHORTEST_WAIT: Final = timedelta(seconds=1)
_NO_OUTPUT: Final = "The workflow succeeded, but Step Functions did not return its output."
_STOPPED: Final = "The workflow was stopped before its end."


class ExpressCalls(Struct, frozen=True):
    """Runs tools whose state machine is of type EXPRESS."""

    calls: Calls
    rate: CallRate
    workflows: SyncWorkflows
    limiter: WaitLimiter
    """Slots for such calls alone."""
    patience: timedelta
    """How long a call waits for the end of its execution."""

    def run(self, call: ToolCall, deadline: datetime | None) -> ToolResult | TaskError:
        """Run the tool and return its result. At most one execution is started, and it is never retried.

        Raises:
            InvalidParams: the caller sent an idempotency key, which nothing would keep.
            LimitReached: the caller is at the limit of calls a minute, or too many such calls run.
            WorkflowNotStarted: nothing was started.
        """
        self._check(call, deadline)
        owner, now = call.owner, self.calls.recorder.clock.now()
        limits = self.calls.admission.limits
        refused = self.rate.count(owner, limits, now)
        if refused is not None:
            raise limits.error(refused)
        held = self.limiter.acquire(owner, now + self.patience)
        if isinstance(held, Refused):
            raise held.error(
                "waiting requests",
                "Too many calls of such tools run at the moment: nothing was started. "
                f"Try again in {span(held.retry_after)}.",
            )
        try:
            return self._result_of(self.calls.draft(call))
        finally:
            self.limiter.release(held)

    def _check(self, call: ToolCall, deadline: datetime | None) -> None:
        """Refuse what cannot be kept to, before anything is started."""
        name = call.tool.name
        if call.key is not None:
            raise InvalidParams(
                f"The tool {name} keeps no idempotency key: each call runs its workflow. Call it without one, and call "
                "again only where running twice does no harm.",
                {"unsupported": "idempotencyKey"},
            )
        if self.patience < _SHORTEST_WAIT:
            raise WorkflowNotStarted(
                f"The tool {name} needs a server that waits for results; its operator sets WaitSeconds to 1 or more."
            )
        if deadline is not None and deadline - self.calls.recorder.clock.now() < self.patience + TIME_TO_END:
            raise WorkflowNotStarted("Too little time was left for the workflow, and nothing was started: call again.")

    def _result_of(self, task: Task) -> ToolResult | TaskError:
        """Run the execution of a task that is never stored: it has the names and rules that any other has."""
        try:
            event = self._event_of(task)
        except StartRefused as refusal:
            if isinstance(refusal, AtQuota):
                self.calls.report(refusal)
            raise WorkflowNotStarted(
                f"The workflow of {task.work.tool} could not be started: {refusal.reason}"
            ) from None
        recorder = self.calls.recorder
        now = recorder.clock.now()
        recorder.note(AuditAction.CREATED, task)
        recorder.note_end(advance(task, event, now).task, event, None, now)
        if isinstance(event, WorkFailed):
            return event.error
        assert isinstance(event.result, ToolResult)  # noqa: S101 - nothing of an execution like this stays elsewhere
        return with_presigned_links(event.result, result_location_of(task), self.calls.operations.sign)

    def _event_of(self, task: Task) -> WorkCompleted | WorkFailed:
        try:
            input_text = self.calls.recorder.store.parts.terms_of(task).input
            end = self.workflows.run(task.execution, input_text, task.trace_header)
        except StartUnclear as error:
            if not isinstance(error, NoEndInTime):
                self.calls.report(error)
            return WorkCompleted(
                tool_error(
                    f"The workflow gave no answer within {self.patience.total_seconds():g} seconds. It may still run "
                    "and take effect; it can neither be stopped nor asked. Check what it has done before you call the "
                    "tool again."
                )
            )
        if isinstance(end, Succeeded) and end.output is None:
            return WorkCompleted(tool_error(_NO_OUTPUT))
        event = self.calls.recorder.event_of_end(task, end)
        return WorkCompleted(tool_error(_STOPPED)) if isinstance(event, WorkStopped) else event
