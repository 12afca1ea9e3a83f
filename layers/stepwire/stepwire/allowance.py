"""What one function instance takes of a quota that the whole account shares: judged from its own memory, at no cost.

Instances do not know of each other. Their number grows with the load, so each takes little; and one that is turned away
takes nothing for a while, which is how they share what is there.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_PAUSE: Final = timedelta(seconds=30)


@dataclass
class Allowance:
    """Lets so many calls a second through, and a burst."""

    per_second: float = 1.0
    burst: float = 5.0
    """Calls that may be made ahead of that pace."""
    _paced_until: datetime | None = None

    def take(self, at: datetime) -> bool:
        """Count a call, and tell whether it may be made."""
        paced_until = max(self._paced_until or at, at) + timedelta(seconds=1 / self.per_second)
        if paced_until > at + timedelta(seconds=self.burst / self.per_second):
            return False
        self._paced_until = paced_until
        return True

    def pause(self, at: datetime) -> None:
        """Let no call through for half a minute: the account has none to spare."""
        self._paced_until = at + _PAUSE + timedelta(seconds=self.burst / self.per_second)
