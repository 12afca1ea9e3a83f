"""Limits on one caller's creation of tasks. Pure decisions; the store keeps the state.

Active tasks are stored as a set of ids, so that freeing a slot is idempotent. The creation rate follows the generic
cell rate algorithm (GCRA), whose whole state is one point in time.
"""

from datetime import datetime, timedelta
from typing import Final, TypeAlias

from stepwire.lean_dataclasses import dataclass, replace
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import LARGEST_INPUT, LONGEST_TTL

_MINUTE: Final = timedelta(minutes=1)
RECLAIM_PAUSE: Final = timedelta(seconds=10)
"""Minimum time between two reclaims of a caller's slots: it bounds what refused calls read."""


@dataclass(frozen=True)
class Limits:
    """The limits of one caller."""

    active: int = 100
    """Most tasks that may run at the same time."""
    per_minute: int = 120
    """Most tasks created in a burst, and per minute after it; so up to twice as many in the first minute."""
    ttl: timedelta = LONGEST_TTL
    """Longest ttl a caller may request; a tool's own ttl may exceed it."""
    argument_bytes: int = LARGEST_INPUT
    """Largest arguments of one call, as JSON."""

    @property
    def pace(self) -> timedelta:
        """The time between two creations at the sustained rate."""
        return _MINUTE / self.per_minute


@dataclass(frozen=True)
class Usage:
    """What one caller uses of the limits."""

    active: frozenset[TaskId] = frozenset()
    paced_until: datetime | None = None
    """GCRA's theoretical arrival time: when the creations so far are used up at the allowed rate; None: none yet."""
    reclaimed_at: datetime | None = None
    """When a call at the limit last reclaimed slots; None: never."""


@dataclass(frozen=True)
class TooManyActive:
    """The caller has reached the limit of active tasks."""

    usage: Usage


@dataclass(frozen=True)
class TooFast:
    """The caller has reached the creation rate."""

    retry_after: timedelta


Refusal: TypeAlias = TooManyActive | TooFast


def admit(usage: Usage, limits: Limits, task_id: TaskId, at: datetime) -> Usage | Refusal:
    """Return the caller's usage including one more task, or why the task is refused."""
    if len(usage.active) >= limits.active:
        return TooManyActive(usage)
    paced = pace_after(usage, limits, at)
    return paced if isinstance(paced, TooFast) else replace(paced, active=usage.active | {task_id})


def pace_after(usage: Usage, limits: Limits, at: datetime) -> Usage | TooFast:
    """Return the usage after one more call that takes no slot, or why the call is refused."""
    paced_until = max(usage.paced_until or at, at) + limits.pace
    if paced_until > at + _MINUTE:
        return TooFast(paced_until - at - _MINUTE)
    return replace(usage, paced_until=paced_until)


def without_task(usage: Usage, limits: Limits, task_id: TaskId) -> Usage:
    """Return the usage without a task that was admitted but never created."""
    if task_id not in usage.active or usage.paced_until is None:
        return usage
    return replace(usage, active=usage.active - {task_id}, paced_until=usage.paced_until - limits.pace)


def may_reclaim(usage: Usage, at: datetime) -> bool:
    """Tell whether `RECLAIM_PAUSE` has passed since slots were last reclaimed."""
    return usage.reclaimed_at is None or usage.reclaimed_at <= at - RECLAIM_PAUSE


def is_idle(usage: Usage, at: datetime) -> bool:
    """Tell whether no recent creation counts against the caller's rate."""
    return usage.paced_until is None or usage.paced_until <= at
