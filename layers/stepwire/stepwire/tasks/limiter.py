"""The limiter: rates, places that callers share, and the slots of one caller's tasks. Pure; the stores keep the state.

A *rate* is the generic cell rate algorithm (GCRA), whose whole state is one point in time (`Rate`).

Of *places*, so many may be held at once (`Places`). The rules are the same for every kind of place:

- Some places are reserved for newcomers: callers that hold none. So a caller never holds more than the others, and two
  callers that take what they can leave a place for a third.
- A caller that has held a place for long rests nine times as long. Rests add up. While a caller is refused that rests
  less, or not at all, one that rests gets no place: whoever is slow again and again comes back later and later.
- A caller that is refused a place is refused, without a look at the places, for a second, then for two, then for four.

The *slots* of a caller's active tasks are a set of their ids, so that freeing a slot is idempotent. Above `MOST_IN_ONE`
the set and the rate are divided into shards, each with its share of both limits. The rule: the shares add up to the
limits, so that no write needs to know another shard.

Whoever gets nothing gets `Refused`: it says when to ask again.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final
from zlib import crc32

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.errors import LimitReached
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import LARGEST_INPUT, LONGEST_KEPT

SLOW: Final = timedelta(seconds=1)
"""A place that was held longer makes its caller rest."""
REST: Final = 9
"""How many times as long a caller rests as it was slow; so it is slow for at most a tenth of the time."""
LONGEST_REST: Final = timedelta(minutes=10)
LONGEST_PAUSE: Final = timedelta(seconds=4)
"""The longest time for which a caller is refused without a look at the places."""
WANTED: Final = LONGEST_PAUSE + timedelta(seconds=1)
"""How long a caller that was refused goes before those that rest longer: until it has come back."""
RECLAIM_PAUSE: Final = timedelta(seconds=10)
"""Minimum time between two reclaims of a caller's slots: it bounds what refused calls read."""
MOST_IN_ONE: Final = 1_000
"""Slots of a caller with one shard."""
_FEWEST_RESERVED: Final = 2  # places, so that two callers leave one for a third
_RESERVED_PART: Final = 5  # of many places, a fifth is reserved
_FIRST_PAUSE: Final = timedelta(seconds=1)
_SLOT_RETRY: Final = timedelta(seconds=10)  # it is unknown when a slot becomes free
_MOST_IN_EACH: Final = 250  # slots of a shard, where there are several
_MINUTE: Final = timedelta(minutes=1)


class Refused(Struct, frozen=True):
    """A caller gets nothing now."""

    retry_after: timedelta

    def error(self, limit: str, message: str) -> LimitReached:
        """Return it as the error of a request, with the name of the limit."""
        return LimitReached(message, limit, self.retry_after.total_seconds())


class Rate(Struct, frozen=True):
    """A rate of calls: a burst, and then one call in each pace."""

    pace: timedelta
    """The time between two calls at the sustained rate."""
    burst: timedelta
    """How far the calls may be ahead of it."""

    @classmethod
    def per_second(cls, calls: float, burst: float) -> "Rate":
        """Return a rate of so many calls a second, of which so many may come at once."""
        pace = timedelta(seconds=1 / calls)
        return cls(pace, burst * pace)

    def after(self, paced_until: datetime | None, at: datetime) -> datetime | Refused:
        """Return the state after one more call, or why the call is refused.

        `paced_until`: the state, GCRA's theoretical arrival time: when the calls so far are used up at the sustained
        rate; None: there were none.
        """
        after = max(paced_until or at, at) + self.pace
        return Refused(after - at - self.burst) if after > at + self.burst else after


class Places(Struct, frozen=True):
    """Places that callers share."""

    all: int
    reserved: int = 0
    """Those of `all` that only newcomers may take."""
    part: int | None = None
    """The most that one caller may hold of the others; None: all."""

    @classmethod
    def shared(cls, count: int, part: int | None = None) -> "Places":
        """Return so many places, of which as many are reserved as the rule says; of a single place none is."""
        return cls(count, reserved_of(count), part)

    def resized(self, count: int) -> "Places":
        """Return so many places, shared in the same way."""
        return Places.shared(count) if self.reserved else Places(count)

    @property
    def each(self) -> int:
        """The most that one caller may hold."""
        others = self.all - self.reserved
        return others if self.part is None else min(self.part, others)

    def open_to(self, *, is_newcomer: bool) -> int:
        """Return how many places must be held, by all together, before a caller gets no other one."""
        return self.all if is_newcomer else self.all - self.reserved

    def admit(self, mine: int, held: int) -> bool:
        """Tell whether a caller that holds so many places may take one, while so many are held by all together."""
        return mine < self.each and held < self.open_to(is_newcomer=not mine)


def reserved_of(count: int) -> int:
    """Return how many of so many places are reserved for newcomers: two, or a fifth of many, but never all."""
    return max(0, min(max(_FEWEST_RESERVED, count // _RESERVED_PART), count - 1))


def rests_until(before: datetime | None, held: timedelta, at: datetime, slow: timedelta = SLOW) -> datetime | None:
    """Return until when a caller rests that has held a place so long, if that was slow.

    `before`: until when it would have rested without that.
    """
    if held <= slow:
        return before
    rested = Rate(REST * held, LONGEST_REST).after(before, at)
    return at + LONGEST_REST if isinstance(rested, Refused) else rested


def pause_after(refusals: int) -> timedelta:
    """Return how long a caller is refused that was refused so many times in a row before."""
    return min(_FIRST_PAUSE * 2 ** min(refusals, 10), LONGEST_PAUSE)


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
    def rate(self) -> Rate:
        """The rate of creations, with a burst of a minute's, and at least one."""
        pace = _MINUTE / self.per_minute
        return Rate(pace, max(_MINUTE, pace))

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

    def error(self, refused: Refused) -> LimitReached:
        """Return why a caller at these limits is refused."""
        if isinstance(refused, SlotsTaken):
            message = f"At most {self.active} tasks may be active at once: wait for one to end, or cancel one."
            return refused.error("active tasks", message)
        message = f"At most {self.per_minute} tasks may be created per minute: wait before the next call."
        return refused.error("created per minute", message)


class Usage(Struct, frozen=True):
    """What one caller uses of the limits."""

    active: frozenset[TaskId] = frozenset()
    """The ids of the tasks that hold a slot."""
    paced_until: datetime | None = None
    """State of the creation rate; None: no call yet."""
    reclaimed_at: datetime | None = None
    """When a call at the limit last reclaimed slots; None: never."""

    def may_reclaim(self, at: datetime) -> bool:
        """Tell whether `RECLAIM_PAUSE` has passed since slots were last reclaimed."""
        return self.reclaimed_at is None or self.reclaimed_at <= at - RECLAIM_PAUSE


class Slot(Struct, frozen=True):
    """A slot that is taken."""

    task_id: TaskId
    """Id of the task that holds it."""
    shard: int


class SlotsTaken(Refused, frozen=True):
    """The caller has reached the limit of active tasks."""

    retry_after: timedelta = _SLOT_RETRY
    usage: Usage = Usage()
    """Of the first shard."""
    others: Mapping[int, frozenset[TaskId]] = field(default_factory=dict[int, frozenset[TaskId]])
    """The tasks that hold a slot of the other shards."""

    def slots(self) -> "Iterator[Slot]":
        """Yield the slots that are taken."""
        for shard, active in {0: self.usage.active, **self.others}.items():
            for task_id in active:
                yield Slot(task_id, shard)


def home_of(task_id: TaskId, limits: Limits) -> int:
    """Return the shard that is asked first for a slot; the same each time, so that a retry finds its slot."""
    return crc32(task_id.encode()) % limits.shards


def admit_anywhere(usages: Mapping[int, Usage], limits: Limits, task_id: TaskId, at: datetime) -> int | Refused:
    """Return a shard that has the task or admits it, or why none does. Of a shard that `usages` lacks, none is used."""
    for shard, usage in usages.items():
        if task_id in usage.active:
            return shard
    decided = {one: admit(usages.get(one, Usage()), limits.share(one), task_id, at) for one in range(limits.shards)}
    has_room = [one for one, usage in decided.items() if isinstance(usage, Usage)]
    if has_room:
        return has_room[crc32(task_id.encode()) % len(has_room)]  # so that calls at once do not meet in one shard
    too_fast = [one for one in decided.values() if isinstance(one, Refused) and not isinstance(one, SlotsTaken)]
    if too_fast:
        return min(too_fast, key=lambda one: one.retry_after)
    others = {shard: usage.active for shard, usage in usages.items() if shard}
    return SlotsTaken(usage=usages[0], others=others)


def admit(usage: Usage, limits: Limits, task_id: TaskId, at: datetime) -> Usage | Refused:
    """Return the caller's usage including one more task, or why the task is refused."""
    if len(usage.active) >= limits.active:
        return SlotsTaken(usage=usage)
    counted = count_call(usage, limits, at)
    return counted if isinstance(counted, Refused) else replace(counted, active=usage.active | {task_id})


def count_call(usage: Usage, limits: Limits, at: datetime) -> Usage | Refused:
    """Return the usage after one more call that takes no slot, or why the call is refused."""
    after = limits.rate.after(usage.paced_until, at)
    return after if isinstance(after, Refused) else replace(usage, paced_until=after)
