"""Limits of requests that wait: each occupies a function instance.

The functions that record the ends of executions share the account's concurrency limit with waiting requests. So waiting
requests are counted, in the store, because an instance serves one request and does not know the others. They share
their places by the rules of `tasks.shares`. A place is a lease: it expires if its function dies.

Requests that cannot be answered without their wait, calls of EXPRESS tools and proofs of endpoints, have places of
their own: waits for tasks, which are free of other limits, take none of them.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.engine.ports import Clock, Lease, Randomness, SlotsFull, SlotTaken, WaitSlots
from stepwire.principal import Principal
from stepwire.tasks.shares import WANTED, Places, pause_after, rests_until

TIME_TO_ANSWER: Final = timedelta(seconds=9)
"""Time that must remain of a request when its wait ends: the longest duration of one AWS call."""
ALL_CALLERS: Final = "everybody"
"""The pool that all callers share; no principal has this form."""
EXPRESS: Final = "express "
PROOFS: Final = "proofs "
"""The other kinds of pools."""
WAITS: Final = Places.shared(5)
"""Waits for tasks, unless an operator says otherwise: half the concurrency limit of a new account."""
_RANDOM_BYTES: Final = 2


def express_places(waits: Places) -> Places:
    """Return the places of calls of EXPRESS tools: half as many as of waits for tasks, rounded up."""
    return waits.resized(-(-waits.all // 2))


def proof_places(waits: Places) -> Places:
    """Return the places of requests that wait for the proof of an endpoint: as many, and one if there are none."""
    return waits.resized(max(1, express_places(waits).all))


class HeldPlace(Struct, frozen=True):
    """The place of a waiting request: a slot of its caller's pool, and one of the pool that all share."""

    owner: Principal
    lease: Lease
    since: datetime
    rests_until: datetime | None
    """Until when the caller rests from other places."""


class NoPlace(Struct, frozen=True):
    """Why a request may not wait."""

    retry_after: timedelta


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

    def acquire(self, owner: Principal, until: datetime) -> HeldPlace | NoPlace:
        """Take a place until then, or return why there is none; a fault of the store is one."""
        if self.places.each < 1:
            return NoPlace(pause_after(0))
        at = self.clock.now()
        lease = Lease(until + TIME_TO_ANSWER, int.from_bytes(self.randomness(_RANDOM_BYTES)))
        try:
            mine = self.wait_slots.acquire(self.kind + owner, lease, self.places.each, at)
            if isinstance(mine, SlotsFull):
                return NoPlace(pause_after(0) if mine.refused_until is None else mine.refused_until - at)
            shared, most = self.kind + ALL_CALLERS, self.places.open_to(is_newcomer=not mine.others)
            if isinstance(self.wait_slots.acquire(shared, lease, most, at, mine.rests_until), SlotTaken):
                return HeldPlace(owner, lease, at, mine.rests_until)
            if not mine.others:
                self.wait_slots.want(shared, mine.rests_until, at, at + WANTED)
            pause = pause_after(mine.refusals)
            self.wait_slots.refuse(self.kind + owner, lease, at + pause, mine.refusals + 1)
            return NoPlace(pause)
        except Exception as fault:  # noqa: BLE001 - after any fault, the caller is answered without a wait
            self.report(fault)
        return NoPlace(pause_after(0))

    def release(self, held: HeldPlace) -> None:
        """Release a place, and let its caller rest if it was slow; a place that is not released expires."""
        at = self.clock.now()
        try:
            self.wait_slots.release(self.kind + ALL_CALLERS, held.lease)
            rests = rests_until(held.rests_until, at - held.since, at)
            self.wait_slots.release(self.kind + held.owner, held.lease, rests)
        except Exception as fault:  # noqa: BLE001 - the caller must get an answer
            self.report(fault)
