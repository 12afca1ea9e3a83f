"""How often a caller may ask for one task: judged from this function instance's own memory, at no cost.

Instances do not know of each other, so a caller may have a multiple of it; what it keeps off is a client gone wild.
Only what can be the id of a task is remembered, and all else under one name, so memory is bounded by `MOST_REMEMBERED`.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from stepwire.errors import TooManyPolls
from stepwire.ports import Clock
from stepwire.principal import Principal
from stepwire.tasks.ids import task_id_of

MOST_REMEMBERED: Final = 10_000  # tasks; the one that was asked for longest ago is forgotten first
_NO_TASK: Final = ""
_BURST: Final = 2.0  # seconds; what a client may ask for ahead of its pace


@dataclass(frozen=True)
class PollLimit:
    """Lets through so many polls of one task a second, and a burst of two seconds' worth."""

    per_second: float
    clock: Clock
    _paced_until: OrderedDict[tuple[Principal, str], float] = field(
        default_factory=OrderedDict[tuple[Principal, str], float], repr=False
    )

    def check(self, owner: Principal, task_id: object) -> None:
        """Count a poll.

        Raises:
            TooManyPolls: they come too fast.
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
