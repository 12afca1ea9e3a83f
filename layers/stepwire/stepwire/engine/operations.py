"""The operations of a caller, independent of a protocol era: call a tool, read, watch, cancel and list tasks.

The order is write, start, answer: a task is durable before the client gets its handle. If a request dies in between,
the next reader repairs the task, because starting the same execution is idempotent.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.catalog.tools import Caller, Confirmation, Tool
from stepwire.engine.admission import Admission
from stepwire.engine.arguments import input_text
from stepwire.engine.idempotency import Begun, IdempotentCalls
from stepwire.engine.ports import IdempotencyKey, Randomness, TaskPage, Workflows
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Upkeep
from stepwire.engine.waiting import Waiting
from stepwire.errors import (
    InternalError,
    StartRefused,
    StopRefused,
    TaskAlreadyEnded,
    TaskExists,
    UnknownTask,
    WorkflowNotStarted,
    WorkflowNotStopped,
    WorkflowsThrottled,
)
from stepwire.json_text import JsonObject, as_object, write
from stepwire.principal import Claims, Principal
from stepwire.tasks.events import WorkCompleted, WorkStopped
from stepwire.tasks.ids import RANDOM_BYTES, TaskId, new_task_id
from stepwire.tasks.inputs import LONGEST_CONFIRMATION, InputRequest, WorkflowInput
from stepwire.tasks.objects import Sign, result_location_of, with_presigned_links
from stepwire.tasks.outcomes import ExecutionState, Succeeded, Unreadable
from stepwire.tasks.runs import ONCE, Pending, begun, result_meta
from stepwire.tasks.task import (
    LONGEST_TTL,
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Inputs,
    Origin,
    ResultElsewhere,
    ResultInExecution,
    Status,
    StoredResult,
    Task,
    TaskError,
    Terms,
    ToolResult,
    Work,
    Working,
)

PAGE_SIZE: Final = 50
_MILLISECOND: Final = timedelta(milliseconds=1)
_RETRY_PAUSES: Final = (0.3, 1.0)  # seconds; between attempts to fetch a result
_SLOW_START: Final = timedelta(seconds=1)  # long enough that the caller may have cancelled meanwhile
# A key must outlive its task, whose ttl a confirmation or the retention of its result may extend.
_KEY_RETENTION_MARGIN: Final = LONGEST_TTL + timedelta(days=1)


class ToolCall(Struct, frozen=True):
    """A tool call with complete and validated arguments (`checked_arguments`)."""

    owner: Principal
    tool: Tool
    arguments: JsonObject
    """The workflow's input, but for what the tool adds to it."""
    ttl_ms: int | None = None
    """The ttl that the caller requests, in milliseconds; see `_granted_ttl`."""
    origin: Origin = field(default_factory=Origin)
    trace_header: str | None = None
    """The trace of the call, as an AWS X-Ray header."""
    key: IdempotencyKey | None = None
    """The key of this call, which makes retries idempotent (`idempotency_key_of`)."""
    claims: Mapping[str, str] = field(default_factory=Claims)
    """What the sign-in verified of the owner."""
    has_card: bool = False
    """Whether a card shows the task, so that the names of the states it passes are recorded."""


class Operations(Struct, frozen=True):
    """The operations, on top of the ports."""

    recorder: Recorder
    workflows: Workflows
    randomness: Randomness
    upkeep: Upkeep
    admission: Admission
    idempotent_calls: IdempotentCalls
    sign: Sign
    report: Callable[[Exception], None]
    """Receives faults that do not keep the caller from getting an answer."""
    waiting: Waiting
    execution_prefix: str
    """Start of the names of this endpoint's executions."""

    def call(self, call: ToolCall, task_id: TaskId | None = None) -> Task:
        """Create a task, start its workflow, and return the task.

        Args:
            call: the tool call.
            task_id: the task's id, if it is known already; None: a new one.

        Raises:
            LimitReached: the caller is at a limit.
            WorkflowNotStarted: Step Functions refused the start; no task was created.
            TaskExists: the id is taken.
        """
        now = self.recorder.clock.now()
        task_id = task_id or self.new_task_id(now)
        terms = self._terms(call, task_id)
        task = self._create(self._new_task(call, task_id, terms, Working(), now))
        if task.has_ended:
            return task
        began = self.recorder.clock.now()
        try:
            task = self.upkeep.runs.begin(task, terms.input, began, call.trace_header)
        except StartRefused as refusal:
            if self._undo(task):
                raise WorkflowNotStarted(
                    f"The workflow of {call.tool.name} could not be started: {refusal.reason}"
                ) from None
            self.report(refusal)  # a concurrent retry of the call has the task's handle, so it is started later
        self.recorder.note(AuditAction.CREATED, task)
        # Only if it took time, because it costs a read.
        if self.recorder.clock.now() - began > _SLOW_START or len(task.runs) > 1:
            return self._stop_if_ended_meanwhile(task)
        return task

    def _stop_if_ended_meanwhile(self, task: Task) -> Task:
        """Return the current task after its start; if it has ended meanwhile, stop its executions."""
        try:
            return self.upkeep.runs.stop_if_ended(task, task.due_runs(self.recorder.clock.now()))
        except Exception as fault:  # noqa: BLE001 - the caller must get the handle; the sweep repeats the check
            self.report(fault)
            return task

    def call_after_confirmation(
        self, call: ToolCall, confirmation: Confirmation, task_id: TaskId | None = None
    ) -> Task:
        """Create and return a task whose workflow starts when the user has confirmed the call."""
        now = self.recorder.clock.now()
        task_id = task_id or self.new_task_id(now)
        question = replace(confirmation_request(confirmation, call.arguments), expires_at=now + LONGEST_CONFIRMATION)
        task = self._new_task(call, task_id, self._terms(call, task_id), InputRequired((question,)), now)
        asking = self._create(replace(task, inputs=Inputs(asked=1, used_keys=(question.key,))))
        self.recorder.note(AuditAction.CREATED, asking)
        return asking

    def begin(self, call: ToolCall, confirmation: Confirmation | None = None, task_id: TaskId | None = None) -> Begun:
        """Return the task of a call, created once however often the call is sent, also concurrently.

        Args:
            call: the tool call; its idempotency key identifies it.
            confirmation: what the user must confirm before the work starts; None: it starts at once.
            task_id: the task's id, if it is known already, so that the task may exist.

        Raises:
            IdempotencyKeyReused: the key belongs to another call.
        """

        def begin(known: TaskId | None) -> Task:
            if confirmation is None:
                return self.call(call, known)
            return self.call_after_confirmation(call, confirmation, known)

        existing = None if task_id is None else self.idempotent_calls.existing_task(call.owner, task_id)
        if existing is not None:
            return Begun(existing, is_repeat=True)
        if call.key is not None:
            now = self.recorder.clock.now()
            until, new_id = now + self._key_retention(call, call.key), task_id or self.new_task_id(now)
            return self.idempotent_calls.begin_keyed(call.owner, call.key, new_id, until, begin)
        if task_id is None:
            return Begun(begin(None))
        return self.idempotent_calls.begin(call.owner, task_id, begin)

    def task_of_key(self, call: ToolCall) -> Task | None:
        """Return the task of the call's idempotency key; None if there is no key, no task yet, or the key has ended.

        Raises:
            IdempotencyKeyReused: the key belongs to another call.
        """
        return None if call.key is None else self.idempotent_calls.task_of_key(call.owner, call.key)

    def new_task_id(self, created_at: datetime) -> TaskId:
        """Return a new task id with this time of creation."""
        return new_task_id(created_at, self.randomness(RANDOM_BYTES))

    def draft(self, call: ToolCall) -> Task:
        """Return a task for a call, with an id of its own, that is nowhere stored."""
        now = self.recorder.clock.now()
        task_id = self.new_task_id(now)
        return self._new_task(call, task_id, self._terms(call, task_id), Working(), now)

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

    def _key_retention(self, call: ToolCall, key: IdempotencyKey) -> timedelta:
        if key.window is not None:
            return key.window
        return _granted_ttl(call.tool, call.ttl_ms, self.admission.limits.ttl) + _KEY_RETENTION_MARGIN

    def _create(self, task: Task) -> Task:
        """Reserve slots, then write the task. If the write fails, they are reclaimed when the owner is at the limit.

        If the client cancelled the request before it arrived, the task is cancelled here.
        """
        task = replace(task, usage_shard=self.admission.reserve(task, task.created_at))
        try:
            created = self.recorder.store.create(task)
        except TaskExists:
            self.admission.give_back_unless_active(task)
            raise
        return created if self.upkeep.is_wanted(created) else self.cancel(task.owner, task.task_id)

    def _undo(self, task: Task) -> bool:
        """Delete a task that could not be started, and return whether that worked: not if it was saved meanwhile."""
        is_gone = self.recorder.store.delete(task)
        if is_gone:
            self.admission.give_back(task)
        return is_gone

    def _terms(self, call: ToolCall, task_id: TaskId) -> Terms:
        tool = call.tool
        text = input_text(tool, call.arguments, Caller(call.owner, call.claims), task_id)
        return Terms(text, tool.output_schema, tool.output_shape)

    def _new_task(self, call: ToolCall, task_id: TaskId, terms: Terms, status: Status, now: datetime) -> Task:
        tool, plan = call.tool, call.tool.plan
        return Task(
            owner=call.owner,
            task_id=task_id,
            work=Work(
                tool.name,
                terms,
                self.execution_prefix,
                tool.shows_state,
                tool.result_bucket,
                tool.result_prefix,
                tool.causes,
            ),
            status=status,
            created_at=now,
            last_updated_at=now,
            ttl=_granted_ttl(tool, call.ttl_ms, self.admission.limits.ttl),
            poll_interval=tool.poll_interval,
            longest_poll_interval=tool.longest_poll_interval,
            checked_at=now,
            runs=begun(plan.runs, now),
            quorum=plan.quorum,
            retry=tool.retry or ONCE,
            slots=plan.slots,
            origin=call.origin,
            keep_result=tool.keep_result,
            states=() if call.has_card and tool.shows_state else None,
        )

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


def _granted_ttl(tool: Tool, asked_ms: int | None, longest: timedelta) -> timedelta:
    """T12: at least the tool's own ttl, which covers its longest run; at most the limit."""
    asked = 0 if asked_ms is None else min(asked_ms, longest // _MILLISECOND)
    return max(tool.ttl, asked * _MILLISECOND)


def _with_meta(result: ToolResult, added: JsonObject) -> ToolResult:
    if not added:
        return result
    value = result.value()
    return replace(result, text=write({**value, "_meta": {**as_object(value.get("_meta")), **added}}))


def confirmation_request(confirmation: Confirmation, arguments: JsonObject) -> InputRequest:
    """Return the question that the user must confirm before a call with these arguments."""
    return InputRequest(
        confirmation.key,
        number=1,
        asked=confirmation.elicitation(arguments),
        destination=WorkflowInput(confirmation.input_key),
    )
