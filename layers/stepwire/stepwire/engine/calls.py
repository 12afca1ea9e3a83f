"""Calls of tools become tasks: check the arguments, claim the key, reserve a slot, write the task, start its workflow.

The order is write, start, answer: a task is durable before the client gets its handle. If a request dies in between,
the next reader repairs the task, because starting the same execution is idempotent.

A call that is retried makes one task, by its idempotency key or by a known task id. First it claims its
key for a task id, with a conditional write. Concurrent retries find the claim and use the same id. Reserving a slot,
writing the task and starting the execution are idempotent per id, so retries use no second slot, and the first of them
creates the task for all. If a claim has no task and is so old that no request can still be creating it, the next call
replaces the claim.

The key comes from the caller, or from arguments that the manifest lists (decision 25). A key of the tool also ends with
its window, compared by time because DynamoDB deletes late, and when its task ends without success.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.catalog.tools import Caller, Confirmation, Tool
from stepwire.codec import MILLISECOND
from stepwire.engine.limiter import LONGEST_REQUEST, Admission
from stepwire.engine.operations import Operations
from stepwire.engine.ports import IdempotencyKey, KeyClaim, Randomness
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Upkeep
from stepwire.errors import (
    IdempotencyKeyReused,
    InternalError,
    LimitReached,
    StartRefused,
    TaskExists,
    UnknownTask,
    WorkflowNotStarted,
)
from stepwire.hooks import Router
from stepwire.json_text import JsonObject, equal_form, write
from stepwire.principal import Claims, Principal
from stepwire.schemas.defaults import TooManyDefaults, without_nulls
from stepwire.schemas.validation import Violation, violations_of
from stepwire.tasks.ids import ID_LENGTH, RANDOM_BYTES, TaskId, new_task_id
from stepwire.tasks.inputs import LONGEST_CONFIRMATION, InputRequest, WorkflowInput
from stepwire.tasks.line import LineTerms
from stepwire.tasks.runs import ONCE, Pending, Run, begun
from stepwire.tasks.task import (
    LARGEST_INPUT,
    LONGEST_KEPT,
    Completed,
    InputRequired,
    Inputs,
    Origin,
    Task,
    Terms,
    Work,
    Working,
)

_SLOW_START: Final = timedelta(seconds=1)  # long enough that the caller may have cancelled meanwhile
# A key must outlive its task, whose life a confirmation or the retention of its result may extend.
_KEY_RETENTION_MARGIN: Final = LONGEST_KEPT + timedelta(days=1)
_MOST_TRIES: Final = 5  # to claim a key
_CALLERS: Final = b"stepwire"  # two kinds of digests, so that no key of a caller equals one of a tool
_TOOLS: Final = b"stepwire tool"
_SOME_ID: Final = "0" * ID_LENGTH
_IS_OURS: Final = "is set by the server: leave it out"


class ToolCall(Struct, frozen=True):
    """A tool call with complete and validated arguments (`checked_arguments`)."""

    owner: Principal
    tool: Tool
    arguments: JsonObject
    """The workflow's input, without the tool's additions."""
    ttl_ms: int | None = None
    """The ttl that the caller requests, in milliseconds; see `_granted_ttl`."""
    origin: Origin = field(default_factory=Origin)
    key: IdempotencyKey | None = None
    """The key of this call, which makes retries idempotent (`idempotency_key_of`)."""
    claims: Mapping[str, str] = field(default_factory=Claims)
    """The owner's verified identity."""
    line: LineTerms | None = None
    """The line in which its runs wait for their turns; None: the tool has no limit."""
    records_states: bool = False
    """Whether the names of the states that it passes are recorded with the task."""


class Begun(Struct, frozen=True):
    """The task of a call."""

    task: Task
    is_repeat: bool = False
    """Whether another call created the task, so that this one started nothing."""


class Calls(Struct, frozen=True):
    """Makes the tasks of calls, on top of the ports."""

    recorder: Recorder
    randomness: Randomness
    upkeep: Upkeep
    admission: Admission
    operations: Operations
    """Reads a task that exists, and cancels one whose caller cancelled the request before it arrived."""
    report: Callable[[Exception], None]
    """Receives faults that do not keep the caller from getting an answer."""
    execution_prefix: str
    """Start of the names of this endpoint's executions."""
    routers: Mapping[str, Router]

    def begin(self, call: ToolCall, confirmation: Confirmation | None = None, task_id: TaskId | None = None) -> Begun:
        """Return the task of a call, created once even if the call is sent repeatedly or concurrently.

        With a known `task_id`, the task may exist.

        Raises:
            IdempotencyKeyReused: the key belongs to another call.
            LimitReached, WorkflowNotStarted: as `call`; no task was created.
        """
        existing = None if task_id is None else self._existing_task(call.owner, task_id)
        if existing is not None:
            return Begun(existing, is_repeat=True)
        if call.key is not None:
            return self._begin_with_key(call, call.key, confirmation, task_id)
        if task_id is None:
            return Begun(self.call(call, None, confirmation))
        return self._begin_once(call, task_id, confirmation)

    def call(self, call: ToolCall, task_id: TaskId | None = None, confirmation: Confirmation | None = None) -> Task:
        """Create a task, start its workflow unless the user must confirm the call first, and return the task.

        Raises:
            LimitReached: the caller is at a limit.
            WorkflowNotStarted: Step Functions refused the start; no task was created.
            TaskExists: the id is taken.
        """
        now = self.recorder.clock.now()
        task_id = task_id or self.new_task_id(now)
        terms = self._terms(call, task_id)
        if confirmation is not None:
            question = replace(
                confirmation_request(confirmation, call.arguments), expires_at=now + LONGEST_CONFIRMATION
            )
            asking = self._create(self._new_task(call, task_id, terms, now, question))
            self.recorder.note(AuditAction.CREATED, asking)
            return asking
        task = self._create(self._new_task(call, task_id, terms, now))
        return task if task.has_ended else self._begun(call, task, terms.input)

    def _begun(self, call: ToolCall, task: Task, common_input: str) -> Task:
        """Return a new task after the start of its work; without a start, no task is left."""
        try:
            task = self.upkeep.runs.begin(task, common_input, task.created_at)
        except (StartRefused, LimitReached) as refusal:
            if self.recorder.store.delete(task):  # unless it was saved meanwhile
                self.admission.give_back(task)
                if isinstance(refusal, LimitReached):
                    raise
                raise WorkflowNotStarted(
                    f"The workflow of {call.tool.name} could not be started: {refusal.reason}"
                ) from None
            self.report(refusal)  # a concurrent retry of the call has the task's handle, so it is started later
        self.recorder.note(AuditAction.CREATED, task)
        now = self.recorder.clock.now()
        # Only if it took time, because it costs a read.
        if now - task.created_at > _SLOW_START or len(task.runs) > 1:
            try:
                return self.upkeep.runs.stop_if_ended(task, task.due_runs(now))
            except Exception as fault:  # noqa: BLE001 - the caller must get the handle; the sweep repeats the check
                self.report(fault)
        return task

    def task_of_key(self, call: ToolCall) -> Task | None:
        """Return the task of the call's idempotency key; None if there is no key, no task yet, or the key has ended.

        Raises:
            IdempotencyKeyReused: the key belongs to another call.
        """
        key = call.key
        claim = None if key is None else self.recorder.store.load_key_claim(call.owner, key.digest)
        if key is None or claim is None:
            return None
        task = self._task_of_claim(call.owner, key, claim)
        return None if task is None or _is_free_after(key, task) else task

    def new_task_id(self, created_at: datetime) -> TaskId:
        """Return a new task id with this time of creation."""
        return new_task_id(created_at, self.randomness(RANDOM_BYTES))

    def draft(self, call: ToolCall) -> Task:
        """Return a task for a call, with a new id, without storing it."""
        now = self.recorder.clock.now()
        task_id = self.new_task_id(now)
        return self._new_task(call, task_id, self._terms(call, task_id), now)

    def _existing_task(self, owner: Principal, task_id: TaskId) -> Task | None:
        """Return the task with this id, secured against being taken back; None if there is none."""
        try:
            task = self.operations.get(owner, task_id)
        except UnknownTask:
            return None
        if task.version > 1:
            return task
        # The call that created it may still take it back, but not after another save; or it died before the start.
        secured = self.upkeep.secured(task)
        return secured if secured.version > 1 else self._existing_task(owner, task_id)

    def _begin_once(self, call: ToolCall, task_id: TaskId, confirmation: Confirmation | None) -> Begun:
        """Create the task with this id, or return it if a concurrent retry creates it.

        Raises:
            LimitReached: there is no such task, and the owner is at a limit.
        """
        try:
            return Begun(self.call(call, task_id, confirmation))
        except (TaskExists, LimitReached) as refusal:
            existing = self._existing_task(call.owner, task_id)
            if existing is not None:
                return Begun(existing, is_repeat=True)
            if isinstance(refusal, LimitReached):
                raise
            raise InternalError("Another request is processing this call at the moment. Send it again.") from None

    def _begin_with_key(
        self, call: ToolCall, key: IdempotencyKey, confirmation: Confirmation | None, task_id: TaskId | None
    ) -> Begun:
        now, abandoned = self.recorder.clock.now(), None
        task_id = task_id or self.new_task_id(now)
        granted = _granted_ttl(call.tool, call.ttl_ms, self.admission.limits.ttl)
        until = now + (granted + _KEY_RETENTION_MARGIN if key.window is None else key.window)
        for _ in range(_MOST_TRIES):
            claim = KeyClaim(task_id, key.call_digest, self.recorder.clock.now(), until)
            other = self.recorder.store.claim_key(call.owner, key.digest, claim, abandoned)
            if other is None:
                return self._begin_once(call, task_id, confirmation)
            existing = self._task_of_claim(call.owner, key, other)
            if existing is not None and not _is_free_after(key, existing):
                return Begun(existing, is_repeat=True)
            if existing is None and self._age(other) <= LONGEST_REQUEST:
                return self._begin_once(call, other.task_id, confirmation)
            if existing is None and not self._is_abandoned(other):
                break
            abandoned = other.task_id
        raise InternalError("Another request has begun this call and may still process it. Retry in half a minute.")

    def _task_of_claim(self, owner: Principal, key: IdempotencyKey, claim: KeyClaim) -> Task | None:
        if key.window is not None and self._age(claim) > key.window:
            return None  # such a claim is also abandoned: no window is shorter than a minute
        is_same = claim.call_digest == key.call_digest
        existing = self._existing_task(owner, claim.task_id) if is_same or self._is_abandoned(claim) else None
        if not is_same and (existing is not None or not self._is_abandoned(claim)):
            raise IdempotencyKeyReused(
                "The idempotency key was used for another tool or with other arguments: use another key."
            )
        return existing

    def _is_abandoned(self, claim: KeyClaim) -> bool:
        """Tell whether no request can still be creating the task of a claim: not its own, nor a retry with its id."""
        return self._age(claim) > 2 * LONGEST_REQUEST

    def _age(self, claim: KeyClaim) -> timedelta:
        return self.recorder.clock.now() - claim.claimed_at

    def _create(self, task: Task) -> Task:
        """Reserve a slot, then write the task. If the write fails, it is reclaimed when the owner is at the limit.

        If the client cancelled the request before it arrived, the task is cancelled here.
        """
        task = self.admission.admitted(task, task.created_at)
        try:
            created = self.recorder.store.create(task)
        except TaskExists:
            self.admission.give_back_unless_active(task)
            raise
        return created if self.upkeep.is_wanted(created) else self.operations.cancel(task.owner, task.task_id)

    def _terms(self, call: ToolCall, task_id: TaskId) -> Terms:
        """Return the terms of a call. The workflow's input is stored, so that a later start sends the same."""
        tool, caller = call.tool, Caller(call.owner, call.claims)
        whole = tool.additions.workflow_input(call.arguments, caller, task_id, tool.name)
        return Terms(write(whole), tool.output_schema, tool.output_shape)

    def _new_task(
        self, call: ToolCall, task_id: TaskId, terms: Terms, now: datetime, question: InputRequest | None = None
    ) -> Task:
        """Return a task that begins now, or that waits for the confirmation of its caller."""
        tool, plan = call.tool, call.tool.plan
        kept = ((name, router.kept(tool)) for name, router in self.routers.items())
        routes = {name: route for name, route in kept if route is not None}
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
                routes,
            ),
            status=Working() if question is None else InputRequired((question,)),
            inputs=Inputs() if question is None else Inputs(asked=1, used_keys=(question.key,)),
            created_at=now,
            last_updated_at=now,
            ttl=_granted_ttl(tool, call.ttl_ms, self.admission.limits.ttl),
            poll_interval=tool.poll_interval,
            longest_poll_interval=tool.longest_poll_interval,
            checked_at=now,
            runs=begun(_needing_turns(plan.runs) if call.line else plan.runs, now),
            line=call.line,
            quorum=plan.quorum,
            retry=tool.retry or ONCE,
            origin=call.origin if routes else replace(call.origin, person=None),
            keep_result=tool.keep_result,
            states=() if call.records_states and tool.shows_state else None,
        )


def _needing_turns(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    return tuple(replace(run, pending=Pending.TURN) for run in runs)


def _granted_ttl(tool: Tool, asked_ms: int | None, longest: timedelta) -> timedelta:
    """T12: at least the tool's own ttl, which covers its longest run; at most the limit."""
    asked = 0 if asked_ms is None else min(asked_ms, longest // MILLISECOND)
    return max(tool.ttl, asked * MILLISECOND)


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

    1. They have at most `largest` bytes of JSON; 2. none has a name that the server sets; 3. they conform to the
    schema, without nulls that count as missing and with its defaults; 4. with the server's additions, they fit into
    a workflow's input.
    """
    text = write(sent)
    if len(text.encode()) > largest:
        return _refused(sent, f"the arguments are larger than {largest} bytes of JSON, the limit of a call")
    taken = sorted(tool.additions.reserved & sent.keys())
    if taken:
        return CheckedArguments(sent, tuple(Violation(f"/{name}", _IS_OURS) for name in taken))
    given = without_nulls(tool.input_schema, sent) if ":null" in text else sent
    try:
        complete = given if tool.defaults is None else tool.defaults.filled(given, LARGEST_INPUT)
    except TooManyDefaults:
        return _refused(sent, f"the arguments with their defaults are larger than {LARGEST_INPUT} bytes of JSON")
    faults = violations_of(tool.input_schema, complete, text if complete is sent else None)
    if faults:
        return CheckedArguments(sent, faults)
    complete = tool.additions.with_defaults(complete)
    if complete is not sent or tool.additions.reserved:
        room = room_for_arguments(tool, caller)
        if len(write(complete).encode()) > room:
            return _refused(sent, f"the arguments with their defaults are larger than {room} bytes of JSON")
    return CheckedArguments(complete)


def room_for_arguments(tool: Tool, caller: Caller) -> int:
    """Return how many bytes of JSON the arguments may have, given the server's additions."""
    if not tool.additions.reserved:
        return LARGEST_INPUT
    of_arms = tool.plan.largest_constants
    return LARGEST_INPUT - of_arms - len(write(tool.additions.workflow_input({}, caller, _SOME_ID, tool.name)).encode())


def _refused(sent: JsonObject, why: str) -> CheckedArguments:
    return CheckedArguments(sent, (Violation("", why),))


def idempotency_key_of(
    given: str | None, tool: Tool, sent: JsonObject, complete: JsonObject | None = None
) -> IdempotencyKey | None:
    """Return the idempotency key of a call: the caller's own if given, else the one that the tool makes, else None.

    Args:
        given: the key that the caller sent.
        tool: the tool that is called.
        sent: the arguments as sent: the caller's own key stands for exactly these.
        complete: the arguments with all defaults, of which the tool makes its key; None: those that were sent.
    """
    if given is not None:
        return IdempotencyKey(_digest(given, _CALLERS), _digest(_text_of(tool, sent), _CALLERS))
    if tool.idempotency is None:
        return None
    arguments = sent if complete is None else complete
    digest = _digest(_text_of(tool, {name: arguments[name] for name in tool.idempotency.arguments}), _TOOLS)
    return IdempotencyKey(digest, digest, tool.idempotency.window)


def _text_of(tool: Tool, arguments: JsonObject) -> str:
    return json.dumps([tool.name, equal_form(arguments)], sort_keys=True)


def _digest(text: str, kind: bytes) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16, person=kind).hexdigest()


def _is_free_after(key: IdempotencyKey, task: Task) -> bool:
    """Tell whether a key may start another task: a tool's key may, if this task ended without success."""
    has_succeeded = isinstance(task.status, Completed) and not task.status.result.is_error
    return key.window is not None and task.has_ended and not has_succeeded
