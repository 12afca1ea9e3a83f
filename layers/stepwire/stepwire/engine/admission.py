"""Admit or refuse a caller's next task: reserve a slot, and a part of the rate, before the task is written.

A reservation is idempotent per task id, so a retry of the same call reserves the same slot. The reservation of a task
that is never created is given back; if that fails, its slot is reclaimed when the caller reaches the limit.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from stepwire.engine.recorder import Recorder
from stepwire.errors import LimitReached, NotAdmitted, StoreBusy
from stepwire.lean_dataclasses import dataclass
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey, created_at_of
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.usage import Limits, Refusal, TooFast, TooManyActive, Usage, may_reclaim

LONGEST_REQUEST: Final = timedelta(seconds=30)
"""Longer than function mcp runs: an older request does nothing any more."""
_MOST_PER_BATCH: Final = 25  # tasks that a refused call reads in full, up to 400 KB each
_BATCH_TURN: Final = 10  # seconds; then the next batch is checked
_SLOT_RETRY: Final = 10.0  # seconds; it is unknown when a slot becomes free


@dataclass(frozen=True)
class Admission:
    """Enforces the limits of callers."""

    recorder: Recorder
    limits: Limits

    def reserve(self, key: TaskKey) -> None:
        """Reserve a slot and a part of the rate for a task. Idempotent per task.

        Raises:
            LimitReached: the owner is at a limit, and no slot could be reclaimed.
        """
        store, now = self.recorder.store, self.recorder.now()
        try:
            store.reserve(key, self.limits, now)
        except NotAdmitted as refused:
            refusal = refused.refusal
            if isinstance(refusal, TooFast) or not self._reclaim_slots(key.owner, refusal.usage):
                raise limit_reached(refusal, self.limits) from None
            try:
                store.reserve(key, self.limits, now)
            except NotAdmitted as again:
                raise limit_reached(again.refusal, self.limits) from None

    def give_back(self, key: TaskKey) -> None:
        """Give back the reservation of a task that was not created."""
        with suppress(StoreBusy):
            self.recorder.store.unreserve(key, self.limits)

    def give_back_unless_active(self, key: TaskKey) -> None:
        """Give back the reservation of a task whose id was taken, unless that task is still active."""
        task = self.recorder.load(key)
        if task is None or task.has_ended:
            self.give_back(key)

    def _reclaim_slots(self, owner: Principal, usage: Usage) -> bool:
        """Free slots of ended tasks and of tasks that were never created; return whether any slot was freed.

        At most one attempt in `RECLAIM_PAUSE` per caller, so that refused calls read next to nothing.
        """
        now = self.recorder.now()
        batch = _next_batch(usage.active, now)
        try:
            if not may_reclaim(usage, now) or not self.recorder.store.begin_reclaim(owner, now):
                return False
            tasks = self.recorder.load_many(owner, batch)
        except StoreBusy:
            return False  # the caller is refused, and a later call tries again
        # A request reserves a slot at most `LONGEST_REQUEST` after its task id was made (`IdempotentCalls`), and writes
        # the task within as much again. After both, a missing task will not be created any more.
        lost = {one for one in batch if one not in tasks and now - created_at_of(one) > 2 * LONGEST_REQUEST}
        ended = {one for one, task in tasks.items() if as_of(task, now).has_ended or task.expires_at <= now}
        if lost or ended:
            self.recorder.store.release(owner, frozenset(lost | ended))
        return bool(lost or ended)


def _next_batch(counted: frozenset[TaskId], at: datetime) -> frozenset[TaskId]:
    """Return the part of a caller's active tasks to check now; over time, every task has its turn."""
    in_order = sorted(counted)
    start = int(at.timestamp()) // _BATCH_TURN * _MOST_PER_BATCH % len(in_order)
    return frozenset((in_order[start:] + in_order[:start])[:_MOST_PER_BATCH])


def limit_reached(refusal: Refusal, limits: Limits) -> LimitReached:
    """Return the error for a caller at a limit."""
    match refusal:
        case TooFast(retry_after):
            message = f"At most {limits.per_minute} tasks may be created per minute: wait before the next call."
            return LimitReached(message, "created per minute", retry_after.total_seconds())
        case TooManyActive():
            message = f"At most {limits.active} tasks may be active at once: wait for one to end, or cancel one."
            return LimitReached(message, "active tasks", _SLOT_RETRY)
