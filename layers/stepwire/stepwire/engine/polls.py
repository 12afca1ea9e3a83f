"""Limit how often a caller polls one task, from this function instance's own memory, without any AWS call.

Instances do not share the count, so a caller may reach a multiple of the limit; its purpose is to stop clients that
poll in a tight loop. Only well-formed task ids are counted one by one, all others together, so memory is bounded.
"""

from collections import OrderedDict
from typing import Final

from msgspec import Struct, field

from stepwire.engine.ports import Clock
from stepwire.errors import TooManyPolls
from stepwire.principal import Principal
from stepwire.tasks.ids import task_id_of

MOST_REMEMBERED: Final = 10_000  # tasks; the least recently polled is dropped first
_NO_TASK: Final = ""
_BURST: Final = 2.0  # seconds' worth of polls allowed ahead of the sustained rate


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
