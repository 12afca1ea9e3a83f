"""Create one task per call, however often the call is retried: by its idempotency key, or by a known task id.

The first step of a call is to claim its key for a task id, with a conditional write. Concurrent retries find the claim
and use the same id. Reserving a slot, writing the task and starting the execution are idempotent per id, so retries use
no second slot, and the first of them creates the task for all. If a claim has no task and is so old that no request can
still be creating it, the next call replaces the claim.

The key is the caller's, or the tool's manifest makes it of arguments (decision 25). A key of the tool also ends with
its window, compared by time because DynamoDB deletes late, and when its task ends without success.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.audit import AuditAction
from stepwire.catalog.tools import Tool
from stepwire.engine.admission import LONGEST_REQUEST
from stepwire.engine.ports import IdempotencyKey, KeyClaim
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Upkeep
from stepwire.errors import IdempotencyKeyReused, InternalError, LimitReached, TaskExists, UnknownTask
from stepwire.json_text import JsonObject, equal_form
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import Cancelled, Completed, Failed, InputRequired, Task, Working

_MOST_TRIES: Final = 5
_CALLERS: Final = b"stepwire"  # two kinds of digests, so that no key of a caller equals one of a tool
_TOOLS: Final = b"stepwire tool"
_Begin = Callable[[TaskId], Task]
"""Creates the task with that id and starts its workflow."""


class Begun(Struct, frozen=True):
    """The task of a call."""

    task: Task
    is_repeat: bool = False
    """Whether another call created the task, so that this one started nothing."""


class IdempotentCalls(Struct, frozen=True):
    """Finds or creates the task of a call that may be a retry."""

    recorder: Recorder
    upkeep: Upkeep

    def task_of_key(self, owner: Principal, key: IdempotencyKey) -> Task | None:
        """Return the task of an idempotency key; None if there is none yet, or if the key has ended.

        Raises:
            IdempotencyKeyReused: the key belongs to another call.
        """
        claim = self.recorder.store.load_key_claim(owner, key.digest)
        task = None if claim is None else self._task_of_claim(owner, key, claim)
        return None if task is None or _is_free_after(key, task) else task

    def existing_task(self, owner: Principal, task_id: TaskId) -> Task | None:
        """Return the task with this id, secured against being taken back; None if there is none."""
        try:
            task = self.upkeep.after_upkeep(self.recorder.require(owner, task_id))
        except UnknownTask:
            return None
        self.recorder.note(AuditAction.POLLED, task)
        if task.version > 1:
            return task
        # The call that created it may still take it back, but not after another save; or it died before the start.
        secured = self.upkeep.secured(task)
        return secured if secured.version > 1 else self.existing_task(owner, task_id)

    def begin(self, owner: Principal, task_id: TaskId, begin: _Begin) -> Begun:
        """Create the task with this id, or return it if a concurrent retry creates it.

        Raises:
            LimitReached: there is no such task, and the owner is at a limit.
        """
        try:
            return Begun(begin(task_id))
        except (TaskExists, LimitReached) as refusal:
            existing = self.existing_task(owner, task_id)
            if existing is not None:
                return Begun(existing, is_repeat=True)
            if isinstance(refusal, LimitReached):
                raise
            raise InternalError("Another request is processing this call at the moment. Send it again.") from None

    def begin_keyed(
        self, owner: Principal, key: IdempotencyKey, task_id: TaskId, until: datetime, begin: _Begin
    ) -> Begun:
        """Create the task of a call with an idempotency key, or return the one that exists.

        Args:
            owner: the caller.
            key: the idempotency key of this call.
            task_id: the id for the task, if it does not exist yet.
            until: when the claim of the key expires.
            begin: creates the task.

        Raises:
            IdempotencyKeyReused: the key belongs to another call.
            LimitReached: there is no task yet, and the owner is at a limit.
        """
        abandoned = None
        for _ in range(_MOST_TRIES):
            claim = KeyClaim(task_id, key.call_digest, self.recorder.clock.now(), until)
            other = self.recorder.store.claim_key(owner, key.digest, claim, abandoned)
            if other is None:
                return self.begin(owner, task_id, begin)
            existing = self._task_of_claim(owner, key, other)
            if existing is not None and not _is_free_after(key, existing):
                return Begun(existing, is_repeat=True)
            if existing is None and self._age(other) <= LONGEST_REQUEST:
                return self.begin(owner, other.task_id, begin)
            if existing is None and not self._is_abandoned(other):
                break
            abandoned = other.task_id
        raise InternalError("Another request has begun this call and may still process it. Retry in half a minute.")

    def _task_of_claim(self, owner: Principal, key: IdempotencyKey, claim: KeyClaim) -> Task | None:
        if key.window is not None and self._age(claim) > key.window:
            return None  # such a claim is also abandoned: no window is shorter than a minute
        is_same = claim.call_digest == key.call_digest
        existing = self.existing_task(owner, claim.task_id) if is_same or self._is_abandoned(claim) else None
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


def idempotency_key_of(
    given: str | None, tool: Tool, sent: JsonObject, complete: JsonObject | None = None
) -> IdempotencyKey | None:
    """Return the idempotency key of a call: the caller's own if given, else the one that the tool makes, else None.

    Args:
        given: the key that the caller sent.
        tool: the tool that is called.
        sent: the arguments as the caller sent them: the caller's own key stands for exactly these.
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
    """Tell whether a key may begin another task after this one: a tool's key may, if this one ended without success."""
    match task.status:
        case Failed() | Cancelled():
            return key.window is not None
        case Completed(result):
            return key.window is not None and result.is_error
        case Working() | InputRequired():
            return False
