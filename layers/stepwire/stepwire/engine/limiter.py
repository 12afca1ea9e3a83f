"""What enforces the limits by the rules of `tasks.limiter`: of a caller's tasks, of requests that wait, of rates.

- `Admission` reserves a slot, and a part of the rate, before a task is written. That is idempotent per task id, so a
  retry of the same call reserves the same slot. The slot of a task that is never created is given back; if that fails,
  it is reclaimed when the caller reaches the limit.
- `WaitLimiter` limits requests that wait, each of which occupies a function instance. The functions that record the
  ends of executions share the account's concurrency limit with them, so they are counted in the store. A place is a
  lease: it expires if its function dies. Requests that cannot be answered without their wait, such as calls of EXPRESS
  tools, have places of their own: waits for tasks, which are free of other limits, take none of them.
- `PollLimit` and `Allowance` are rates in the memory of one function instance. Instances do not know of each other, so
  a caller may reach a multiple of the one, and the other uses little of the account's quotas.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.engine.ports import Clock, Lease, Randomness, SlotTaken, WaitSlots
from stepwire.engine.recorder import Recorder
from stepwire.errors import StoreBusy, TooManyPolls
from stepwire.principal import Principal
from stepwire.tasks.ids import created_at_of, task_id_of
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.limiter import (
    WANTED,
    Limits,
    Places,
    Rate,
    Refused,
    Slot,
    SlotsTaken,
    pause_after,
    rests_until,
)
from stepwire.tasks.task import Task

LONGEST_REQUEST: Final = timedelta(seconds=30)
"""Longer than function mcp runs: an older request does nothing any more."""
_FEWEST_PER_BATCH: Final = 25  # tasks that a refused call reads
_MOST_PER_BATCH: Final = 100  # of a caller with very many: each has its turn within a quarter of an hour
_BATCH_TURN: Final = 10  # seconds; then the next batch is checked
TIME_TO_ANSWER: Final = timedelta(seconds=9)
"""Time that must remain of a request when its wait ends: the longest duration of one AWS call."""
ALL_CALLERS: Final = "everybody"
"""The pool that all callers share; no principal has this form."""
EXPRESS: Final = "express "
"""Another kind of pools."""
WAITS: Final = Places.shared(5)
"""Waits for tasks, unless an operator says otherwise: half the concurrency limit of a new account."""
_RANDOM_BYTES: Final = 2
MOST_REMEMBERED: Final = 10_000  # tasks whose polls are counted; the least recently polled is dropped first
_NO_TASK: Final = ""
_BURST_SECONDS: Final = 2  # how far polls may be ahead of the sustained rate
_FIRST_PAUSE: Final = timedelta(seconds=1)
_LONGEST_PAUSE: Final = timedelta(seconds=30)


class Admission(Struct, frozen=True):
    """Enforces the limits of callers."""

    recorder: Recorder
    limits: Limits

    def admitted(self, new: Task, at: datetime) -> Task:
        """Return a new task after reserving its slot, with its shard, and a part of the rate. Idempotent per task.

        Raises:
            LimitReached: the owner is at a limit, and no slot could be reclaimed.
        """
        slots = self.recorder.store.slots
        shard = slots.reserve(new.key, self.limits, at)
        if isinstance(shard, SlotsTaken) and self._reclaim_slots(new.owner, shard):
            shard = slots.reserve(new.key, self.limits, at)
        if isinstance(shard, Refused):
            raise self.limits.error(shard)
        return replace(new, usage_shard=shard)

    def give_back(self, task: Task) -> None:
        """Give back the reservation of a task that was not created."""
        with suppress(StoreBusy):
            self.recorder.store.slots.unreserve(task.key, self.limits, task.usage_shard)

    def give_back_unless_active(self, task: Task) -> None:
        """Give back the reservation of a task whose id was taken, unless the task of that id is active with it."""
        existing = self.recorder.load(task.key)
        if existing is None or existing.has_ended or existing.usage_shard != task.usage_shard:
            self.give_back(task)

    def _reclaim_slots(self, owner: Principal, refused: SlotsTaken) -> bool:
        """Free slots of ended tasks and of tasks that were never created; return whether any slot was freed.

        At most one attempt in `RECLAIM_PAUSE` per caller, so that refused calls read next to nothing.
        """
        now = self.recorder.clock.now()
        batch = _next_batch(refused, now)
        try:
            if not refused.usage.may_reclaim(now) or not self.recorder.store.slots.begin_reclaim(owner, now):
                return False
            tasks = self.recorder.load_many(owner, frozenset(one.task_id for one in batch))
        except StoreBusy:
            return False  # the caller is refused, and a later call tries again
        taken = frozenset(refused.slots())
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


def _next_batch(refused: SlotsTaken, at: datetime) -> frozenset[Slot]:
    """Return the part of a caller's slots to check now; over time, every one has its turn."""
    in_order = sorted(refused.slots(), key=lambda slot: (slot.task_id, slot.shard))
    most = min(_MOST_PER_BATCH, max(_FEWEST_PER_BATCH, len(in_order) // 100))
    start = int(at.timestamp()) // _BATCH_TURN * most % len(in_order)
    return frozenset((in_order[start:] + in_order[:start])[:most])


def express_places(waits: Places) -> Places:
    """Return the places of calls of EXPRESS tools: half as many as of waits for tasks, rounded up."""
    return waits.resized(-(-waits.all // 2))


class HeldPlace(Struct, frozen=True):
    """The place of a waiting request: a slot of its caller's pool, and one of the pool that all share."""

    owner: Principal
    lease: Lease
    since: datetime
    rests_until: datetime | None
    """Until when the caller rests from other places."""


class WaitLimiter(Struct, frozen=True):
    """Limits the number of waiting requests."""

    wait_slots: WaitSlots
    places: Places
    clock: Clock
    randomness: Randomness
    report: Callable[[Exception], None]
    """Receives faults in spite of which the caller gets an answer."""
    kind: str = ""
    """The name of pools of their own; empty: those of waits for tasks."""

    def acquire(self, owner: Principal, until: datetime) -> HeldPlace | Refused:
        """Take a place until then, or return why there is none; a fault of the store is one."""
        if self.places.each < 1:
            return Refused(pause_after(0))
        at = self.clock.now()
        lease = Lease(until + TIME_TO_ANSWER, int.from_bytes(self.randomness(_RANDOM_BYTES)))
        try:
            mine = self.wait_slots.acquire(self.kind + owner, lease, self.places.each, at)
            if isinstance(mine, Refused):
                return mine
            shared, most = self.kind + ALL_CALLERS, self.places.open_to(is_newcomer=not mine.others)
            if isinstance(self.wait_slots.acquire(shared, lease, most, at, mine.rests_until), SlotTaken):
                return HeldPlace(owner, lease, at, mine.rests_until)
            if not mine.others:
                self.wait_slots.want(shared, mine.rests_until, at, at + WANTED)
            pause = pause_after(mine.refusals)
            self.wait_slots.refuse(self.kind + owner, lease, at + pause, mine.refusals + 1)
            return Refused(pause)
        except Exception as fault:  # noqa: BLE001 - after any fault, the caller is answered without a wait
            self.report(fault)
        return Refused(pause_after(0))

    def release(self, held: HeldPlace) -> None:
        """Release a place, and let its caller rest if it was slow; a place that is not released expires."""
        at = self.clock.now()
        try:
            self.wait_slots.release(self.kind + ALL_CALLERS, held.lease)
            rests = rests_until(held.rests_until, at - held.since, at)
            self.wait_slots.release(self.kind + held.owner, held.lease, rests)
        except Exception as fault:  # noqa: BLE001 - the caller must get an answer
            self.report(fault)


class PollLimit(Struct, frozen=True, dict=True):
    """A limit of polls per second, caller and task, with a burst of two seconds' worth.

    Only well-formed task ids are counted one by one, all others together, so memory is bounded.
    """

    per_second: float
    """0: polls are not limited."""
    _paced_until: OrderedDict[tuple[Principal, str], datetime] = field(
        default_factory=OrderedDict[tuple[Principal, str], datetime]
    )

    @cached_property
    def _rate(self) -> Rate:
        return Rate.per_second(self.per_second, _BURST_SECONDS * self.per_second)

    def check(self, owner: Principal, task_id: object, at: datetime) -> None:
        """Count a poll, or refuse it.

        Raises:
            TooManyPolls: the caller polls the task too fast.
        """
        if self.per_second <= 0:
            return
        key = (owner, task_id_of(task_id) or _NO_TASK)
        after = self._rate.after(self._paced_until.get(key), at)
        if isinstance(after, Refused):
            raise TooManyPolls(after.retry_after.total_seconds())
        self._paced_until[key] = after
        self._paced_until.move_to_end(key)
        if len(self._paced_until) > MOST_REMEMBERED:
            self._paced_until.popitem(last=False)


class Allowance(Struct, dict=True):
    """A rate limit with a burst for calls to AWS, in the memory of one function instance.

    Instances do not coordinate, and their number grows with the load. So each uses little of the account's quota, and
    pauses when throttled: first for a second, then twice as long each time until a call succeeds.
    """

    per_second: float = 1.0
    burst: float = 5.0
    """Calls allowed ahead of the sustained rate."""
    _paced_until: datetime | None = None
    _next_pause: timedelta = _FIRST_PAUSE

    @cached_property
    def _rate(self) -> Rate:
        return Rate.per_second(self.per_second, self.burst)

    def take(self, at: datetime) -> bool:
        """Return whether a call is allowed now; an allowed call is counted."""
        after = self._rate.after(self._paced_until, at)
        if isinstance(after, Refused):
            return False
        self._paced_until = after
        return True

    def pause(self, at: datetime) -> None:
        """Allow no call for a second, because AWS throttled one; twice as long each time, at most half a minute."""
        self._paced_until = at + self._next_pause + self._rate.burst
        self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE)

    def resume(self) -> None:
        """Let the next pause be short again, because AWS answered a call."""
        self._next_pause = _FIRST_PAUSE
