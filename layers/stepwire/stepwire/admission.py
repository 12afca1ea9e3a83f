"""Admit a caller's next task, or refuse it: a slot and a part of the rate, reserved before the task is written.

A reservation is idempotent per task id, so whoever makes the same call reserves the same slot. What is reserved and
never becomes a task is given back; where that fails, it is found when its caller is at the limit.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from stepwire.errors import LimitReached, NotAdmitted, StoreBusy
from stepwire.principal import Principal
from stepwire.recorder import Recorder
from stepwire.tasks.ids import TaskId, TaskKey, created_at_of
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.usage import Limits, Refusal, TooFast, TooManyActive, Usage, may_reclaim

LONGEST_REQUEST: Final = timedelta(seconds=30)
"""Longer than function mcp runs: what a request has not done by then, it does no more."""
_MOST_AT_ONCE: Final = 25  # tasks that a refused call reads; whole ones, of up to 400 KB each
_TURN: Final = 10  # seconds, after which other tasks are read
_SLOT_RETRY: Final = 10.0  # seconds; nobody knows when a task ends


@dataclass(frozen=True)
class Admission:
    """Keeps callers within their limits."""

    recorder: Recorder
    limits: Limits

    def reserve(self, key: TaskKey) -> None:
        """Reserve what a task takes up, unless its owner is at a limit.

        Raises:
            LimitReached: they are.
        """
        store, now = self.recorder.store, self.recorder.now()
        try:
            store.reserve(key, self.limits, now)
        except NotAdmitted as refused:
            refusal = refused.refusal
            if isinstance(refusal, TooFast) or not self._reclaimed(key.owner, refusal.usage):
                raise _limit_reached(refusal, self.limits) from None
            try:
                store.reserve(key, self.limits, now)
            except NotAdmitted as again:
                raise _limit_reached(again.refusal, self.limits) from None

    def give_back(self, key: TaskKey) -> None:
        """Give back what was reserved for a task that never came to be."""
        with suppress(StoreBusy):
            self.recorder.store.unreserve(key, self.limits)

    def give_back_if_over(self, key: TaskKey) -> None:
        """Give back what was reserved for a task that turns out to have been made before, unless it goes on."""
        task = self.recorder.load(key)
        if task is None or task.has_ended:
            self.give_back(key)

    def _reclaimed(self, owner: Principal, usage: Usage) -> bool:
        """Free the slots of tasks that have ended and whose end was not counted, and of what never became a task.

        Tried at most once in `RECLAIM_PAUSE` for each caller, so that refused calls read next to nothing.
        """
        now = self.recorder.now()
        some = _in_turn(usage.active, now)
        try:
            if not may_reclaim(usage, now) or not self.recorder.store.begin_reclaim(owner, now):
                return False
            tasks = self.recorder.several(owner, some)
        except StoreBusy:
            return False  # the caller is refused for the limit, and comes again
        # A request reserves for an id that is as old as a request at most (`Repeats`), and then writes its task.
        gone = {one for one in some if one not in tasks and now - created_at_of(one) > 2 * LONGEST_REQUEST}
        over = {one for one, task in tasks.items() if as_of(task, now).has_ended or task.expires_at <= now}
        if gone or over:
            self.recorder.store.release(owner, frozenset(gone | over))
        return bool(gone or over)


def _in_turn(counted: frozenset[TaskId], at: datetime) -> frozenset[TaskId]:
    """Choose some of the tasks that are counted: others in each turn, so that each has its turn."""
    in_order = sorted(counted)
    start = int(at.timestamp()) // _TURN * _MOST_AT_ONCE % len(in_order)
    return frozenset((in_order[start:] + in_order[:start])[:_MOST_AT_ONCE])


def _limit_reached(refusal: Refusal, limits: Limits) -> LimitReached:
    match refusal:
        case TooFast(retry_after):
            words = f"{limits.per_minute} tasks may be created at once, and as many a minute from then on: wait."
            return LimitReached(words, "created per minute", retry_after.total_seconds())
        case TooManyActive():
            words = f"At most {limits.active} tasks may be active at once: wait for one to end, or cancel one."
            return LimitReached(words, "active tasks", _SLOT_RETRY)
