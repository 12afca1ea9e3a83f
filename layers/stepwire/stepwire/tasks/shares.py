"""How callers share what there is little of: places, and calls in a time. Pure rules; the stores keep the state.

Of places, so many may be held at once. The rules are the same for every kind of place:

- Some places are reserved for newcomers: callers that hold none. So a caller never holds more than the others, and two
  callers that take what they can leave a place for a third.
- A caller that has held a place for long rests nine times as long. Rests add up. While a caller is refused that rests
  less, or not at all, one that rests gets no place: whoever is slow again and again comes back later and later.
- A caller that is refused a place is refused, without a look at the places, for a second, then for two, then for four.

A rate of calls follows the generic cell rate algorithm (GCRA), whose whole state is one point in time.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

SLOW: Final = timedelta(seconds=1)
"""A place that was held longer makes its caller rest."""
REST: Final = 9
"""How many times as long a caller rests as it was slow; so it is slow for at most a tenth of the time."""
LONGEST_REST: Final = timedelta(minutes=10)
LONGEST_PAUSE: Final = timedelta(seconds=4)
"""The longest time for which a caller is refused without a look at the places."""
WANTED: Final = LONGEST_PAUSE + timedelta(seconds=1)
"""How long a caller that was refused goes before those that rest longer: until it has come back."""
_FEWEST_RESERVED: Final = 2  # places, so that two callers leave one for a third
_RESERVED_PART: Final = 5  # of many places, a fifth is reserved
_FIRST_PAUSE: Final = timedelta(seconds=1)


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


class TooFast(Struct, frozen=True):
    """The calls are above a rate."""

    retry_after: timedelta


def reserved_of(count: int) -> int:
    """Return how many of so many places are reserved for newcomers: two, or a fifth of many, but never all."""
    return max(0, min(max(_FEWEST_RESERVED, count // _RESERVED_PART), count - 1))


def rests_until(before: datetime | None, held: timedelta, at: datetime) -> datetime | None:
    """Return until when a caller rests that has held a place so long.

    `before`: until when it would have rested without that.
    """
    if held <= SLOW:
        return before
    rested = paced(before, at, REST * held, LONGEST_REST)
    return at + LONGEST_REST if isinstance(rested, TooFast) else rested


def pause_after(refusals: int) -> timedelta:
    """Return how long a caller is refused that was refused so many times in a row before."""
    return min(_FIRST_PAUSE * 2 ** min(refusals, 10), LONGEST_PAUSE)


def paced(paced_until: datetime | None, at: datetime, pace: timedelta, burst: timedelta) -> datetime | TooFast:
    """Return the state of a rate after one more call, or why the call is refused.

    Args:
        paced_until: GCRA's theoretical arrival time: when the calls so far are used up at the sustained rate; None:
            there were none.
        at: now.
        pace: the time between two calls at the sustained rate.
        burst: how far the calls may be ahead of it.
    """
    after = max(paced_until or at, at) + pace
    return TooFast(after - at - burst) if after > at + burst else after


def wait_for_places(position: int, held_since: Iterable[datetime], usual: timedelta, at: datetime) -> timedelta:
    """Estimate how long the caller at a position waits for a place, from 1, while all places are held.

    A place is held on for as long as usual, or for as long as it is held already, whichever is longer.

    Args:
        position: how many places must become free.
        held_since: when each place was taken.
        usual: how long places were held lately.
        at: now.
    """
    left = [max(usual, at - since, timedelta(milliseconds=1)) for since in held_since]
    return position / sum(timedelta(seconds=1) / one for one in left) * timedelta(seconds=1)
