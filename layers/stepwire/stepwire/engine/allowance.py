"""Rate limits that one function instance keeps in its memory, without any AWS call: of our calls, and of polls.

Instances do not know of each other, and their number grows with the load. So each uses little of a quota that the whole
AWS account shares, and one that is throttled pauses: a second at first, and twice as long each time until a call gets
through. And a caller may reach a multiple of the limit of polls; its purpose is to stop clients that poll in a tight
loop. Only well-formed task ids are counted one by one, all others together, so memory is bounded.
"""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field

from stepwire.engine.ports import Clock
from stepwire.errors import TooManyPolls
from stepwire.principal import Principal
from stepwire.tasks.ids import task_id_of

MOST_REMEMBERED: Final = 10_000  # tasks; the least recently polled is dropped first
_NO_TASK: Final = ""
_BURST: Final = 2.0  # seconds' worth of polls allowed ahead of the sustained rate
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


class PollLimit(Struct, frozen=True):
    """A limit of polls per second, caller and task, with a burst of two seconds' worth."""

    per_second: float
    clock: Clock
    _paced_until: OrderedDict[tuple[Principal, str], float] = field(
        default_factory=OrderedDict[tuple[Principal, str], float]
    )

    def check(self, owner: Principal, task_id: object) -> None:
        """Count a poll, or refuse it.

        Raises:
            TooManyPolls: the caller polls the task too fast.
        """
        if self.per_second <= 0:
            return
        now, key = self.clock.now().timestamp(), (owner, task_id_of(task_id) or _NO_TASK)
        paced_until = max(self._paced_until.get(key, now), now) + 1 / self.per_second
        if paced_until > now + _BURST:
            raise TooManyPolls(paced_until - now - _BURST)
        self._paced_until[key] = paced_until
        self._paced_until.move_to_end(key)
        if len(self._paced_until) > MOST_REMEMBERED:
            self._paced_until.popitem(last=False)
