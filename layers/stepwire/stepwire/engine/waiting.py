"""Limits of requests that wait: each occupies a function instance.

The functions that record the ends of executions share the account's concurrency limit with waiting requests. So waiting
requests are counted, in the store, because an instance serves one request and does not know the others. A request that
gets no slot is answered at once with the recorded state. A slot is a lease: it expires if its function dies.

Requests that cannot be answered without their wait, calls of EXPRESS tools and proofs of endpoints, have slots of their
own: waits for tasks, which are free of other limits, take none of them.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.engine.ports import Lease, Randomness, WaitSlots
from stepwire.principal import Principal

TIME_TO_ANSWER: Final = timedelta(seconds=9)
"""Time that must remain of a request when its wait ends: the longest duration of one AWS call."""
ALL_CALLERS: Final = "everybody"
"""The pool that all callers share; no principal has this form."""
EXPRESS: Final = "express "
PROOFS: Final = "proofs "
"""The other kinds of pools."""
_RANDOM_BYTES: Final = 2


class WaitLimits(Struct, frozen=True):
    """Most requests that may wait at the same time."""

    all: int = 5
    """Of all callers together; 5 is half the concurrency limit of a new account."""
    per_caller: int = 3

    def of_express(self) -> "WaitLimits":
        """Return the limits of calls of EXPRESS tools: half, rounded up."""
        return WaitLimits(-(-self.all // 2), -(-self.per_caller // 2))

    def of_proofs(self) -> "WaitLimits":
        """Return the limits of requests that wait for the proof of an endpoint: half, rounded down, but one."""
        return WaitLimits(max(1, self.all // 2), max(1, self.per_caller // 2))


class HeldSlots(Struct, frozen=True):
    """The slots of a waiting request: one of its caller's pool and one of the shared pool."""

    owner: Principal
    lease: Lease


class WaitLimiter(Struct, frozen=True):
    """Limits the number of waiting requests."""

    wait_slots: WaitSlots
    limits: WaitLimits
    randomness: Randomness
    report: Callable[[Exception], None]
    """Receives faults in spite of which the caller gets an answer."""
    kind: str = ""
    """The name of pools of their own; empty: those of waits for tasks."""

    def acquire(self, owner: Principal, until: datetime, at: datetime) -> HeldSlots | None:
        """Take a slot of the caller's pool and one of the shared pool; None if either is full, or the store fails."""
        if min(self.limits.all, self.limits.per_caller) < 1:
            return None
        lease = Lease(until + TIME_TO_ANSWER, int.from_bytes(self.randomness(_RANDOM_BYTES)))
        try:
            if not self.wait_slots.acquire(self.kind + owner, lease, self.limits.per_caller, at):
                return None
            if self.wait_slots.acquire(self.kind + ALL_CALLERS, lease, self.limits.all, at):
                return HeldSlots(owner, lease)
            self.wait_slots.release(self.kind + owner, lease)
        except Exception as fault:  # noqa: BLE001 - after any fault, the caller is answered without a wait
            self.report(fault)
        return None

    def release(self, held: HeldSlots) -> None:
        """Release the slots; a slot that is not released expires."""
        try:
            self.wait_slots.release(self.kind + ALL_CALLERS, held.lease)
            self.wait_slots.release(self.kind + held.owner, held.lease)
        except Exception as fault:  # noqa: BLE001 - the caller must get an answer
            self.report(fault)
