"""How much of the server one caller uses, and how much he may: pure decisions, kept by the store.

Two limits on the creation of tasks. Active tasks are kept by their ids, so that a slot is freed once, however often its
end is told. The rate is paced as by the generic cell rate algorithm: one moment says all that there is to remember.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import LARGEST_INPUT, LONGEST_TTL

_MINUTE: Final = timedelta(minutes=1)
RECLAIM_PAUSE: Final = timedelta(seconds=10)
"""How long the slots of a caller are not reclaimed again: what is read for it is what a refused call costs."""


@dataclass(frozen=True)
class Limits:
    """How much one caller may."""

    active: int = 100
    """Tasks that have not ended, at once."""
    per_minute: int = 120
    """Tasks created at once, and in each minute from then on: up to twice as many in the first."""
    ttl: timedelta = LONGEST_TTL
    """How long a caller may have a task kept, where its tool does not keep its tasks longer anyway."""
    argument_bytes: int = LARGEST_INPUT
    """Of the arguments of one call, as JSON."""

    @property
    def pace(self) -> timedelta:
        """The time between two creations of a caller who never stops."""
        return _MINUTE / self.per_minute


@dataclass(frozen=True)
class Usage:
    """What one caller uses."""

    active: frozenset[TaskId] = frozenset()
    paced_until: datetime | None = None
    """When all that was created would have been created at an even pace; None: nothing yet."""
    reclaimed_at: datetime | None = None
    """When a call at the limit last tried to reclaim slots; None: never."""


@dataclass(frozen=True)
class TooManyActive:
    """The caller has as many active tasks as he may."""

    usage: Usage


@dataclass(frozen=True)
class TooFast:
    """The caller creates tasks faster than he may."""

    retry_after: timedelta


Refusal: TypeAlias = TooManyActive | TooFast


def admitted(usage: Usage, limits: Limits, task_id: TaskId, at: datetime) -> Usage | Refusal:
    """Say what a caller uses after the creation of one more task, or why it may not be."""
    if len(usage.active) >= limits.active:
        return TooManyActive(usage)
    paced_until = max(usage.paced_until or at, at) + limits.pace
    if paced_until > at + _MINUTE:
        return TooFast(paced_until - at - _MINUTE)
    return replace(usage, active=usage.active | {task_id}, paced_until=paced_until)


def without(usage: Usage, limits: Limits, task_id: TaskId) -> Usage:
    """Return the usage as it was before a task was admitted that never came to be."""
    if task_id not in usage.active or usage.paced_until is None:
        return usage
    return replace(usage, active=usage.active - {task_id}, paced_until=usage.paced_until - limits.pace)


def may_reclaim(usage: Usage, at: datetime) -> bool:
    """Tell whether it is so long since slots were reclaimed that it may be tried again."""
    return usage.reclaimed_at is None or usage.reclaimed_at <= at - RECLAIM_PAUSE


def is_idle(usage: Usage, at: datetime) -> bool:
    """Tell whether the caller has created nothing lately that the pace would count."""
    return usage.paced_until is None or usage.paced_until <= at
