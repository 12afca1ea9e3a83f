"""The clock of the functions."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The system's clock."""

    def now(self) -> datetime:
        """Return the current time."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Block for that many seconds."""
        time.sleep(seconds)
