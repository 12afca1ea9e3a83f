"""Rate limits that one function instance keeps in its memory, for quotas that the whole AWS account shares.

Instances do not know of each other, and their number grows with the load. So each uses little of the quota, and one
that is throttled pauses: a second at first, and twice as long each time until a call gets through.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

_FIRST_PAUSE: Final = timedelta(seconds=1)
_LONGEST_PAUSE: Final = timedelta(seconds=30)


class Allowance(Struct):
    """A rate limit with a burst (GCRA), in the memory of one function instance."""

    per_second: float = 1.0
    burst: float = 5.0
    """Calls allowed ahead of the sustained rate."""
    _paced_until: datetime | None = None
    _next_pause: timedelta = _FIRST_PAUSE

    def take(self, at: datetime) -> bool:
        """Return whether a call is allowed now; an allowed call is counted."""
        paced_until = max(self._paced_until or at, at) + timedelta(seconds=1 / self.per_second)
        if paced_until > at + timedelta(seconds=self.burst / self.per_second):
            return False
        self._paced_until = paced_until
        return True

    def pause(self, at: datetime) -> None:
        """Allow no call for a second, because AWS throttled one; twice as long each time, at most half a minute."""
        self._paced_until = at + self._next_pause + timedelta(seconds=self.burst / self.per_second)
        self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE)

    def resume(self) -> None:
        """Let the next pause be short again, because AWS answered a call."""
        self._next_pause = _FIRST_PAUSE
