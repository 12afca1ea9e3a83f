"""Calls of tools become tasks: complete and check the arguments, reserve slots, write the task, start its workflow.

The order is write, start, answer: a task is durable before the client gets its handle. If a request dies in between,
the next reader repairs the task, because starting the same execution is idempotent. A call that may be a retry goes
through `IdempotentCalls`, so that it makes one task.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.catalog.tools import Caller, Confirmation, Tool
from stepwire.engine.admission import Admission
from stepwire.engine.idempotency import Begun, IdempotentCalls
from stepwire.engine.operations import Operations
from stepwire.engine.ports import IdempotencyKey, Randomness
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Upkeep
from stepwire.errors import StartRefused, TaskExists, WorkflowNotStarted
from stepwire.json_text import JsonObject, write
from stepwire.principal import Claims, Principal
from stepwire.schemas.defaults import TooManyDefaults
from stepwire.schemas.validation import Violation, violations_of
from stepwire.tasks.ids import ID_LENGTH, RANDOM_BYTES, TaskId, new_task_id
from stepwire.tasks.inputs import LONGEST_CONFIRMATION, InputRequest, WorkflowInput
from stepwire.tasks.runs import ONCE, begun
from stepwire.tasks.task import (
    LARGEST_INPUT,
    LONGEST_TTL,
    InputRequired,
    Inputs,
    Origin,
    Status,
    Task,
    Terms,
    Work,
    Working,
)

_MILLISECOND: Final = timedelta(milliseconds=1)
_SLOW_START: Final = timedelta(seconds=1)  # long enough that the caller may have cancelled meanwhile
# A key must outlive its task, whose ttl a confirmation or the retention of its result may extend.
_KEY_RETENTION_MARGIN: Final = LONGEST_TTL + timedelta(days=1)
_SOME_ID: Final = "0" * ID_LENGTH
_IS_OURS: Final = "is set by the server: leave it out"


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


class Calls(Struct, frozen=True):
    """Makes the tasks of calls, on top of the ports."""

    recorder: Recorder
    randomness: Randomness
    upkeep: Upkeep
    admission: Admission
    idempotent_calls: IdempotentCalls
    operations: Operations
    """Cancels a task whose caller cancelled the request before it arrived."""
    report: Callable[[Exception], None]
    """Receives faults that do not keep the caller from getting an answer."""
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
        return created if self.upkeep.is_wanted(created) else self.operations.cancel(task.owner, task.task_id)

    def _undo(self, task: Task) -> bool:
        """Delete a task that could not be started, and return whether that worked: not if it was saved meanwhile."""
        is_gone = self.recorder.store.delete(task)
        if is_gone:
            self.admission.give_back(task)
        return is_gone

    def _terms(self, call: ToolCall, task_id: TaskId) -> Terms:
        """Return the terms of a call. The workflow's input is stored, so that a later start sends the same."""
        tool, caller = call.tool, Caller(call.owner, call.claims)
        whole = tool.additions.workflow_input(call.arguments, caller, task_id, tool.name)
        return Terms(write(whole), tool.output_schema, tool.output_shape)

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


def _granted_ttl(tool: Tool, asked_ms: int | None, longest: timedelta) -> timedelta:
    """T12: at least the tool's own ttl, which covers its longest run; at most the limit."""
    asked = 0 if asked_ms is None else min(asked_ms, longest // _MILLISECOND)
    return max(tool.ttl, asked * _MILLISECOND)


def confirmation_request(confirmation: Confirmation, arguments: JsonObject) -> InputRequest:
    """Return the question that the user must confirm before a call with these arguments."""
    return InputRequest(
        confirmation.key,
        number=1,
        asked=confirmation.elicitation(arguments),
        destination=WorkflowInput(confirmation.input_key),
    )


class CheckedArguments(Struct, frozen=True):
    """The arguments of a call with all defaults, or why they are refused."""

    complete: JsonObject
    faults: tuple[Violation, ...] = ()


def checked_arguments(tool: Tool, sent: JsonObject, largest: int, caller: Caller) -> CheckedArguments:
    """Return the arguments with all defaults. The first of these that does not hold is why they are refused.

    1. They have at most `largest` bytes of JSON; 2. none has a name that the server sets; 3. without the nulls of what
    is left out and with the defaults of the schema they conform to it; 4. with all that the server adds they are no
    larger than a workflow's input may be.
    """
    text = write(sent)
    if len(text.encode()) > largest:
        return _refused(sent, f"the arguments are larger than {largest} bytes of JSON, the limit of a call")
    taken = sorted(tool.additions.reserved & sent.keys())
    if taken:
        return CheckedArguments(sent, tuple(Violation(f"/{name}", _IS_OURS) for name in taken))
    given = given_in(tool.input_schema, sent) if ":null" in text else sent
    try:
        complete = given if tool.defaults is None else tool.defaults.filled(given, LARGEST_INPUT)
    except TooManyDefaults:
        return _refused(sent, f"the arguments with their defaults are larger than {LARGEST_INPUT} bytes of JSON")
    faults = violations_of(tool.input_schema, complete)
    if faults:
        return CheckedArguments(sent, faults)
    complete = tool.additions.with_defaults(complete)
    if complete is not sent or tool.additions.reserved:
        room = room_for_arguments(tool, caller)
        if len(write(complete).encode()) > room:
            return _refused(sent, f"the arguments with their defaults are larger than {room} bytes of JSON")
    return CheckedArguments(complete)


def given_in(schema: str, sent: JsonObject) -> JsonObject:
    """Return the arguments without the nulls that stand for what is left out."""
    from stepwire.schemas.nulls import without_nulls  # noqa: PLC0415 - few clients send any

    return without_nulls(schema, sent)


def room_for_arguments(tool: Tool, caller: Caller) -> int:
    """Return how many bytes of JSON arguments may have beside what the server adds to them."""
    if not tool.additions.reserved:
        return LARGEST_INPUT
    of_arms = tool.plan.largest_constants
    return LARGEST_INPUT - of_arms - len(write(tool.additions.workflow_input({}, caller, _SOME_ID, tool.name)).encode())


def _refused(sent: JsonObject, why: str) -> CheckedArguments:
    return CheckedArguments(sent, (Violation("", why),))
