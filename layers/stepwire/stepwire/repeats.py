"""Make one task of a call however often it is made: by its idempotency key, or by a task id that was given out before.

A key is claimed for a task id before anything else is done. Whoever makes the same call meanwhile goes on with that id,
and reserving, writing and starting are idempotent per id: so nobody takes a second slot, and whoever is first makes the
task for all. A claim whose task is not there when nobody can be making it any more is replaced by the next call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from stepwire.admission import LONGEST_REQUEST
from stepwire.errors import IdempotencyKeyReused, InternalError, LimitReached, TaskExists, UnknownTask
from stepwire.ports import IdempotencyKey, KeyClaim
from stepwire.principal import Principal
from stepwire.recorder import Recorder
from stepwire.tasks.events import WorkChecked
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import Task

_MOST_TRIES: Final = 5
Begin = Callable[[TaskId], Task]
"""Records the task of that id and starts its workflow."""


@dataclass(frozen=True)
class Repeats:
    """Finds the task of a call that was made before."""

    recorder: Recorder
    read: Callable[[Principal, TaskId], Task]
    """Reads a task as a poll does."""

    def keyed(self, owner: Principal, key: IdempotencyKey) -> Task | None:
        """Return the task of a key; None where there is none yet.

        Raises:
            IdempotencyKeyReused: the key stands for another call.
        """
        claim = self.recorder.store.keyed(owner, key.digest)
        return None if claim is None else self._claimed(owner, key, claim)

    def begun(self, owner: Principal, task_id: TaskId) -> Task | None:
        """Return a task that another may be making; it can be taken back no more. None where there is none."""
        try:
            task = self.read(owner, task_id)
        except UnknownTask:
            return None
        if task.version > 1:
            return task
        # The call that wrote it may still take it back, but not once somebody has saved it.
        return self.recorder.claim(task, WorkChecked()) or self.begun(owner, task_id)

    def begin(self, owner: Principal, task_id: TaskId, begin: Begin) -> Task:
        """Begin the task of an id that others may begin at the same moment.

        Raises:
            LimitReached: there is no such task, and the owner may have no other.
        """
        try:
            return begin(task_id)
        except (TaskExists, LimitReached) as refusal:
            known = self.begun(owner, task_id)
            if known is not None:
                return known
            if isinstance(refusal, LimitReached):
                raise
            raise InternalError("The call is being made at this moment. Send it again.") from None

    def begin_keyed(
        self, owner: Principal, key: IdempotencyKey, task_id: TaskId, until: datetime, begin: Begin
    ) -> Task:
        """Begin a call with a key, unless it has begun.

        Args:
            owner: who calls.
            key: with which they name the call.
            task_id: the id of its task, where it has none yet.
            until: how long the key is kept.
            begin: makes the task.

        Raises:
            IdempotencyKeyReused: the key stands for another call.
            LimitReached: there is no task yet, and the owner may have no other.
        """
        in_vain = None
        for _ in range(_MOST_TRIES):
            claim = KeyClaim(task_id, key.call_digest, self.recorder.now(), until)
            other = self.recorder.store.claim_key(owner, key.digest, claim, in_vain)
            if other is None:
                return self.begin(owner, task_id, begin)
            known = self._claimed(owner, key, other)
            if known is not None:
                return known
            if self._age(other) <= LONGEST_REQUEST:
                return self.begin(owner, other.task_id, begin)
            if not self._is_in_vain(other):
                break
            in_vain = other.task_id
        raise InternalError("The call was begun by another request, which may go on. Send it again in half a minute.")

    def _claimed(self, owner: Principal, key: IdempotencyKey, claim: KeyClaim) -> Task | None:
        is_same = claim.call_digest == key.call_digest
        known = self.begun(owner, claim.task_id) if is_same or self._is_in_vain(claim) else None
        if not is_same and (known is not None or not self._is_in_vain(claim)):
            raise IdempotencyKeyReused(
                "The idempotency key was used for another tool or with other arguments: use another key."
            )
        return known

    def _is_in_vain(self, claim: KeyClaim) -> bool:
        """Tell whether nobody can still be making the task of a claim, though another went on with it."""
        return self._age(claim) > 2 * LONGEST_REQUEST

    def _age(self, claim: KeyClaim) -> timedelta:
        return self.recorder.now() - claim.claimed_at
