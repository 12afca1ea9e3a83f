"""What a caller can ask for, in terms of tasks and of no protocol era: call a tool, look, follow, cancel, list.

Write, then start, then answer: a task is durable before its handle leaves, and whatever breaks in between is repaired
by the next reader, because starting the same execution again is harmless.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from stepwire.admission import Admission
from stepwire.audit import Action, Entry
from stepwire.catalog import Confirmation, Tool
from stepwire.errors import (
    InternalError,
    StartRefused,
    StartUnclear,
    TaskAlreadyEnded,
    TaskExists,
    UnknownTask,
    WorkflowNotStarted,
    WorkflowsThrottled,
)
from stepwire.json_text import JsonObject, equal_form, write
from stepwire.ports import IdempotencyKey, Randomness, TaskPage, Workflows
from stepwire.principal import Principal
from stepwire.recorder import Recorder, outcome_of
from stepwire.repeats import Begin, Repeats
from stepwire.schemas import Violation, violations_of
from stepwire.tasks.events import WorkCompleted, WorkStopped
from stepwire.tasks.ids import RANDOM_BYTES, TaskId, new_task_id
from stepwire.tasks.inputs import LONGEST_CONFIRMATION, InputRequest, WorkflowInput
from stepwire.tasks.links import Sign, place_of, signed
from stepwire.tasks.outcomes import ExecutionState, Succeeded, event_of
from stepwire.tasks.task import (
    LONGEST_TTL,
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
from stepwire.tasks.usage import Limits
from stepwire.upkeep import REQUEST_KEPT, Upkeep
from stepwire.waiting import Waiting

PAGE_SIZE: Final = 50
_MILLISECOND: Final = timedelta(milliseconds=1)
_PAUSES: Final = (0.3, 1.0)  # seconds; before asking once more for a result
_SLOW_START: Final = timedelta(seconds=1)  # in which a caller may well have cancelled
# A key must be there as long as its task, and a confirmation or a kept result may prolong that.
_KEY_OUTLIVES: Final = LONGEST_TTL + timedelta(days=1)


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
    trace_header: str | None = None
    """The trace that the call belongs to, as AWS X-Ray writes it."""
    key: IdempotencyKey | None = None
    """With which the caller names this call, so that repeating it runs nothing twice."""


@dataclass(frozen=True)
class Operations:
    """The operations, over the ports."""

    recorder: Recorder
    workflows: Workflows
    randomness: Randomness
    upkeep: Upkeep
    limits: Limits
    sign: Sign
    report: Callable[[Exception], None]
    """Told of what went wrong where the caller is served all the same."""
    waiting: Waiting

    def call(self, call: ToolCall, task_id: TaskId | None = None) -> Task:
        """Record a task and start its workflow.

        Args:
            call: what to run, for whom.
            task_id: the task's id, where that was given out before; else it gets a new one.

        Raises:
            LimitReached: the caller may have no other task now.
            WorkflowNotStarted: Step Functions refused; there is no task.
            TaskExists: the id has been used.
        """
        task = self._created(self._new_task(call, task_id or self.new_task_id(), Working()))
        if task.has_ended:
            return task
        began = self.recorder.now()
        try:
            self.workflows.start(task.execution, task.work.input, call.trace_header)
        except StartRefused as refusal:
            if self._undone(task):
                raise WorkflowNotStarted(
                    f"The workflow of {call.tool.name} could not be started: {refusal.reason}"
                ) from None
            self.report(refusal)  # another who makes the same call has its handle already, so it is started later
        except StartUnclear as error:
            # The task is durable: whoever looks at it next starts its execution if that has not begun.
            self.report(error)
        self._note(Action.CREATED, task)
        if self.recorder.now() - began > _SLOW_START:
            return self._wanted_after(task)  # quick ones are left to the sweep: this is a read
        return task

    def _wanted_after(self, task: Task) -> Task:
        try:
            return self.upkeep.still_wanted(task)
        except Exception as fault:  # noqa: BLE001 - the handle must go out; the sweep does it later
            self.report(fault)
            return task

    def ask_first(self, call: ToolCall, confirmation: Confirmation, task_id: TaskId | None = None) -> Task:
        """Record a task whose workflow begins when its caller has confirmed it."""
        closes_at = self.recorder.now() + LONGEST_CONFIRMATION
        question = replace(confirmation_request(confirmation, call.arguments), expires_at=closes_at)
        task = self._new_task(call, task_id or self.new_task_id(), InputRequired((question,)))
        asking = self._created(replace(task, inputs=Inputs(asked=1, used_keys=(question.key,))))
        self._note(Action.CREATED, asking)
        return asking

    def once(self, call: ToolCall, begin: Begin, task_id: TaskId | None = None) -> Task:
        """Begin a call, unless it has begun before; of several at once, one begins and all get its task.

        Args:
            call: what to run; its key says that it is the same call.
            begin: makes the task of an id.
            task_id: the task's id, where that was given out before: so it may have begun.

        Raises:
            IdempotencyKeyReused: the key stands for another call.
        """
        known = None if task_id is None else self._repeats.begun(call.owner, task_id)
        if known is not None:
            return known
        if call.key is not None:
            until = self.recorder.now() + _granted(call.tool, call.ttl_ms, self.limits.ttl) + _KEY_OUTLIVES
            return self._repeats.begin_keyed(call.owner, call.key, task_id or self.new_task_id(), until, begin)
        return begin(self.new_task_id()) if task_id is None else self._repeats.begin(call.owner, task_id, begin)

    def repeated(self, call: ToolCall) -> Task | None:
        """Give the task that a call with this idempotency key has made before; None where it is the first.

        Raises:
            IdempotencyKeyReused: the key stands for another call.
        """
        return None if call.key is None else self._repeats.keyed(call.owner, call.key)

    def new_task_id(self, by: datetime | None = None) -> TaskId:
        """Make the id of a task that is made now, or by then."""
        return new_task_id(by or self.recorder.now(), self.randomness(RANDOM_BYTES))

    def get(self, owner: Principal, task_id: object) -> Task:
        """Read a task, and do for it what a reader does (`Upkeep`).

        Raises:
            UnknownTask: no such task for this caller.
        """
        task = self.upkeep.kept(self.recorder.known(owner, task_id))
        self._note(Action.POLLED, task)
        return task

    def follow(
        self, task: Task, patience: timedelta, until: Callable[[Task], bool], deadline: datetime | None = None
    ) -> Iterator[Task]:
        """Give a task as it was read, and again whenever it has changed, until it is so or the wait ends."""
        return self.waiting.follow(task, patience, until, deadline)

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
            claimed = self.recorder.claim(task, stopped)
            if claimed is None:
                return self.cancel(owner, task_id)
            self._note(Action.CANCELLED, claimed)
            return claimed
        is_there = self.workflows.stop(task.execution, "Cancelled by the caller.")
        cancelled = self.recorder.record(task, replace(stopped, may_begin=not is_there))
        if cancelled is None:
            raise UnknownTask
        if not isinstance(cancelled.status, Cancelled):
            raise TaskAlreadyEnded
        self._note(Action.CANCELLED, cancelled)
        return cancelled

    def page(self, owner: Principal, after: TaskId | None) -> TaskPage:
        """List some of the caller's tasks, newest first."""
        return self.recorder.page(owner, after, PAGE_SIZE)

    def answer_of(self, task: Task) -> ToolResult | TaskError:
        """Give what an ended task answered; a result too large for its item is fetched from Step Functions."""
        self._note(Action.RETRIEVED, task)
        match task.status:
            case Completed(result):
                whole = result if isinstance(result, ToolResult) else self._fetched(task)
                return signed(whole, place_of(task), self.sign)
            case Failed(error):
                return error
            case Working() | InputRequired() | Cancelled():
                raise AssertionError("the task has no answer")

    def _note(self, action: Action, task: Task) -> None:
        self.recorder.audit(Entry(action, task.owner, task.work.tool, task.task_id, outcome_of(task.status)))

    @property
    def _admission(self) -> Admission:
        return Admission(self.recorder, self.limits)

    @property
    def _repeats(self) -> Repeats:
        return Repeats(self.recorder, self.get)

    def _created(self, task: Task) -> Task:
        """Count a task, then write it: what is counted and never written is found out at the limit.

        Where the request for it was cancelled before it arrived, the task ends here.
        """
        self._admission.reserve(task.key)
        try:
            created = self.recorder.store.create(task)
        except TaskExists:
            self._admission.give_back_if_over(task.key)
            raise
        request = task.origin.request
        if request is None or self._begins(created, request):
            return created
        return self.cancel(task.owner, task.task_id)

    def _begins(self, task: Task, request: str) -> bool:
        until = self.recorder.now() + REQUEST_KEPT
        return self.recorder.store.begin_request(task.owner, request, task.task_id, until)

    def _undone(self, task: Task) -> bool:
        """Take a task back, and tell whether that was possible: not where somebody has saved it since."""
        is_gone = self.recorder.store.delete(task)
        if is_gone:
            self._admission.give_back(task.key)
        return is_gone

    def _new_task(self, call: ToolCall, task_id: TaskId, status: Status) -> Task:
        now = self.recorder.now()
        tool = call.tool
        return Task(
            owner=call.owner,
            task_id=task_id,
            work=Work(
                tool.name,
                tool.state_machine_arn,
                write(call.arguments),
                tool.output_schema,
                tool.shows_state,
                tool.result_bucket,
                tool.result_prefix,
                tool.causes,
            ),
            status=status,
            created_at=now,
            last_updated_at=now,
            ttl=_granted(tool, call.ttl_ms, self.limits.ttl),
            poll_interval=tool.poll_interval,
            longest_poll_interval=tool.longest_poll_interval,
            checked_at=now,
            origin=call.origin,
            keep_result=tool.keep_result,
        )

    def _fetched(self, task: Task) -> ToolResult:
        match self._described(task):
            case Succeeded() as end:
                event = event_of(end, task.work.output_schema, task.work.causes)
            case _:
                event = None
        if not (isinstance(event, WorkCompleted) and isinstance(event.result, ToolResult)):
            raise InternalError("The result is too large to be kept with the task, and Step Functions has lost it.")
        return event.result

    def _described(self, task: Task) -> ExecutionState:
        """Ask for an execution again where that is throttled: without an answer there is no result to give."""
        for pause in _PAUSES:
            with suppress(WorkflowsThrottled):
                return self.workflows.describe(task.execution)
            self.recorder.clock.sleep(pause)
        return self.workflows.describe(task.execution)


def key_of(key: str | None, tool: Tool, arguments: JsonObject) -> IdempotencyKey | None:
    """Make of a caller's key what the store keeps of it: it stands for this tool with these arguments."""
    if key is None:
        return None
    return IdempotencyKey(_digest(key), _digest(json.dumps([tool.name, equal_form(arguments)], sort_keys=True)))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16, person=b"stepwire").hexdigest()


def _granted(tool: Tool, asked_ms: int | None, longest: timedelta) -> timedelta:
    """T12: never shorter than the tool's own, which its longest run fits into; never longer than the limit."""
    asked = 0 if asked_ms is None else min(asked_ms, longest // _MILLISECOND)
    return max(tool.ttl, asked * _MILLISECOND)


def confirmation_request(confirmation: Confirmation, arguments: JsonObject) -> InputRequest:
    """Make the question that comes before a call with these arguments."""
    return InputRequest(
        confirmation.key,
        number=1,
        elicitation=confirmation.elicitation(arguments),
        destination=WorkflowInput(confirmation.input_key),
    )


def faults_of(tool: Tool, arguments: JsonObject, largest: int) -> tuple[Violation, ...]:
    """List what is wrong with the arguments of a call, at most `largest` bytes of JSON; empty where nothing is."""
    if len(write(arguments).encode()) > largest:
        return (Violation("", f"the arguments are larger than {largest} bytes of JSON, the most that a call may send"),)
    return violations_of(tool.input_schema, arguments)
