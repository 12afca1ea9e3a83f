"""Limits on one caller's creation of tasks. Pure decisions; the store keeps the state.

Active tasks are stored as a set of their ids, so that freeing a slot is idempotent. The creation rate is one of
`shares`.

Above `MOST_IN_ONE` the set and the rate are divided into shards, each with its share of both limits. The rule: the
shares add up to the limits, so that no write needs to know another shard.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from zlib import crc32

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.tasks.ids import TaskId
from stepwire.tasks.shares import TooFast, paced
from stepwire.tasks.task import LARGEST_INPUT, LONGEST_KEPT

_MINUTE: Final = timedelta(minutes=1)
RECLAIM_PAUSE: Final = timedelta(seconds=10)
"""Minimum time between two reclaims of a caller's slots: it bounds what refused calls read."""
MOST_IN_ONE: Final = 1_000
"""Slots of a caller with one shard."""
_MOST_IN_EACH: Final = 250  # slots of a shard, where there are several


class Limits(Struct, frozen=True):
    """The limits of one caller."""

    active: int = 100
    """Most tasks that may run at the same time."""
    per_minute: float = 120
    """Most tasks created in a burst, and per minute after it; so up to twice as many in the first minute."""
    ttl: timedelta = LONGEST_KEPT
    """Longest ttl a caller may request; a tool's own ttl may exceed it."""
    argument_bytes: int = LARGEST_INPUT
    """Largest arguments of one call, as JSON."""

    @property
    def pace(self) -> timedelta:
        """The time between two creations at the sustained rate."""
        return _MINUTE / self.per_minute

    @property
    def burst(self) -> timedelta:
        """How far the creations may be ahead of the sustained rate: a minute, and at least one creation."""
        return max(_MINUTE, self.pace)

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return 1 if self.active <= MOST_IN_ONE else -(-self.active // _MOST_IN_EACH)

    def share(self, shard: int) -> "Limits":
        """Return the part of these limits that a shard has; 0 is the first."""
        shards = self.shards
        if shards == 1:
            return self
        each, rest = divmod(self.active, shards)
        active = each + (shard < rest)
        return replace(self, active=active, per_minute=self.per_minute * active / self.active)


class Usage(Struct, frozen=True):
    """What one caller uses of the limits."""

    active: frozenset[TaskId] = frozenset()
    """The tasks that hold a slot."""
    paced_until: datetime | None = None
    """State of the creation rate; None: no call yet."""
    reclaimed_at: datetime | None = None
    """When a call at the limit last reclaimed slots; None: never."""


class TooManyActive(Struct, frozen=True):
    """The caller has reached the limit of active tasks."""

    usage: Usage
    """Of the first shard."""
    others: Mapping[int, frozenset[TaskId]] = field(default_factory=dict[int, frozenset[TaskId]])
    """The tasks that hold a slot of the other shards."""

    def slots(self) -> "Iterator[Slot]":
        """Yield the slots that are taken."""
        for shard, active in {0: self.usage.active, **self.others}.items():
            for task_id in active:
                yield Slot(task_id, shard)


class Slot(Struct, frozen=True):
    """A slot that is taken."""

    task_id: TaskId
    """Id of the task that holds it."""
    shard: int


Refusal: TypeAlias = TooManyActive | TooFast


def home_of(task_id: TaskId, limits: Limits) -> int:
    """Return the shard that is asked first for a slot; the same each time, so that a retry finds its slot."""
    return crc32(task_id.encode()) % limits.shards


def admit_anywhere(usages: Mapping[int, Usage], limits: Limits, task_id: TaskId, at: datetime) -> int | Refusal:
    """Return a shard that has the task or admits it, or why none does. Of a shard that `usages` lacks, none is used."""
    for shard, usage in usages.items():
        if task_id in usage.active:
            return shard
    decided = {one: admit(usages.get(one, Usage()), limits.share(one), task_id, at) for one in range(limits.shards)}
    has_room = [one for one, usage in decided.items() if isinstance(usage, Usage)]
    if has_room:
        return has_room[crc32(task_id.encode()) % len(has_room)]  # so that calls at once do not meet in one shard
    too_fast = [one for one in decided.values() if isinstance(one, TooFast)]
    if too_fast:
        return min(too_fast, key=lambda one: one.retry_after)
    others = {shard: usage.active for shard, usage in usages.items() if shard}
    return TooManyActive(usages.get(0, Usage()), others)


def admit(usage: Usage, limits: Limits, task_id: TaskId, at: datetime) -> Usage | Refusal:
    """Return the caller's usage including one more task, or why the task is refused."""
    if len(usage.active) >= limits.active:
        return TooManyActive(usage)
    counted = pace_after(usage, limits, at)
    if isinstance(counted, TooFast):
        return counted
    return replace(counted, active=usage.active | {task_id})


def pace_after(usage: Usage, limits: Limits, at: datetime) -> Usage | TooFast:
    """Return the usage after one more call that takes no slot, or why the call is refused."""
    after = paced(usage.paced_until, at, limits.pace, limits.burst)
    return after if isinstance(after, TooFast) else replace(usage, paced_until=after)


def may_reclaim(usage: Usage, at: datetime) -> bool:
    """Tell whether `RECLAIM_PAUSE` has passed since slots were last reclaimed."""
    return usage.reclaimed_at is None or usage.reclaimed_at <= at - RECLAIM_PAUSE
