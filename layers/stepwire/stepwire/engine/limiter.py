"""Admit or refuse a caller's next task: reserve a slot, and a part of the rate, before the task is written.

A reservation is idempotent per task id, so a retry of the same call reserves the same slot. The reservation of a task
that is never created is given back; if that fails, its slot is reclaimed when the caller reaches the limit.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.engine.recorder import Recorder
from stepwire.errors import LimitReached, NotAdmitted, StoreBusy
from stepwire.principal import Principal
from stepwire.tasks.ids import created_at_of
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.shares import TooFast
from stepwire.tasks.task import Task
from stepwire.tasks.usage import Limits, Refusal, Slot, TooManyActive, may_reclaim

LONGEST_REQUEST: Final = timedelta(seconds=30)
"""Longer than function mcp runs: an older request does nothing any more."""
_FEWEST_PER_BATCH: Final = 25  # tasks that a refused call reads
_MOST_PER_BATCH: Final = 100  # of a caller with very many: each has its turn within a quarter of an hour
_BATCH_TURN: Final = 10  # seconds; then the next batch is checked
_SLOT_RETRY: Final = 10.0  # seconds; it is unknown when a slot becomes free


class Admission(Struct, frozen=True):
    """Enforces the limits of callers."""

    recorder: Recorder
    limits: Limits

    def admitted(self, new: Task, at: datetime) -> Task:
        """Return a new task after reserving its slot, with its shard, and a part of the rate. Idempotent per task.

        Raises:
            LimitReached: the owner is at a limit, and no slot could be reclaimed.
        """
        return replace(new, usage_shard=self._reserved(new, at))

    def _reserved(self, new: Task, at: datetime) -> int:
        """Reserve the slot of a task, if need be after reclaiming some, and return its shard."""
        reserve = self.recorder.store.slots.reserve
        try:
            return reserve(new.key, self.limits, at)
        except NotAdmitted as refused:
            refusal = refused.refusal
            if isinstance(refusal, TooFast) or not self._reclaim_slots(new.owner, refusal):
                raise limit_reached(refusal, self.limits) from None
            try:
                return reserve(new.key, self.limits, at)
            except NotAdmitted as again:
                raise limit_reached(again.refusal, self.limits) from None

    def give_back(self, task: Task) -> None:
        """Give back the reservation of a task that was not created."""
        with suppress(StoreBusy):
            self.recorder.store.slots.unreserve(task.key, self.limits, task.usage_shard)

    def give_back_unless_active(self, task: Task) -> None:
        """Give back the reservation of a task whose id was taken, unless the task of that id is active with it."""
        existing = self.recorder.load(task.key)
        if existing is None or existing.has_ended or existing.usage_shard != task.usage_shard:
            self.give_back(task)

    def _reclaim_slots(self, owner: Principal, refusal: TooManyActive) -> bool:
        """Free slots of ended tasks and of tasks that were never created; return whether any slot was freed.

        At most one attempt in `RECLAIM_PAUSE` per caller, so that refused calls read next to nothing.
        """
        now = self.recorder.clock.now()
        batch = _next_batch(refusal, now)
        try:
            if not may_reclaim(refusal.usage, now) or not self.recorder.store.slots.begin_reclaim(owner, now):
                return False
            tasks = self.recorder.load_many(owner, frozenset(one.task_id for one in batch))
        except StoreBusy:
            return False  # the caller is refused, and a later call tries again
        taken = frozenset(refusal.slots())
        free = {slot for slot in batch if _is_free(slot, tasks.get(slot.task_id), taken, now)}
        for shard in sorted({slot.shard for slot in free}):
            ended = frozenset(slot.task_id for slot in free if slot.shard == shard)
            self.recorder.store.slots.release(owner, ended, shard)
        return bool(free)


def _is_free(slot: Slot, task: Task | None, taken: frozenset[Slot], now: datetime) -> bool:
    """Tell whether the task of a slot does not need it any more."""
    if task is None:
        # A request reserves a slot at most `LONGEST_REQUEST` after its task id was made (`IdempotentCalls`), and writes
        # the task within as much again. After both, a missing task will not be created any more.
        return now - created_at_of(slot.task_id) > 2 * LONGEST_REQUEST
    # A request that died after it had reserved a slot, and a retry that found room in another shard.
    is_second = task.usage_shard != slot.shard and Slot(slot.task_id, task.usage_shard) in taken
    return is_second or as_of(task, now).has_ended or task.expires_at <= now


def _next_batch(refusal: TooManyActive, at: datetime) -> frozenset[Slot]:
    """Return the part of a caller's slots to check now; over time, every one has its turn."""
    in_order = sorted(refusal.slots(), key=lambda slot: (slot.task_id, slot.shard))
    most = min(_MOST_PER_BATCH, max(_FEWEST_PER_BATCH, len(in_order) // 100))
    start = int(at.timestamp()) // _BATCH_TURN * most % len(in_order)
    return frozenset((in_order[start:] + in_order[:start])[:most])


def limit_reached(refusal: Refusal, limits: Limits) -> LimitReached:
    """Return the error for a caller at a limit."""
    match refusal:
        case TooFast(retry_after):
            message = f"At most {limits.per_minute} tasks may be created per minute: wait before the next call."
            return LimitReached(message, "created per minute", retry_after.total_seconds())
        case TooManyActive():
            message = f"At most {limits.active} tasks may be active at once: wait for one to end, or cancel one."
            return LimitReached(message, "active tasks", _SLOT_RETRY)
