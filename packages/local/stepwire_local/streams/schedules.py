"""Schedules: each fires when it is due, if they run, and at any time on demand.

The rule: one that was due several times since the last look fires once, as a machine that slept wakes up.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from stepwire_local.streams.schedule_expressions import Expression

logger = logging.getLogger(__name__)

_PAUSE: Final = 0.5  # seconds between two looks at the clock


@dataclass(frozen=True)
class Schedule:
    """A schedule of a template."""

    name: str  # the logical id
    text: str  # of the expression
    expression: Expression
    since: datetime
    fire: Callable[[datetime], None]
    until: datetime | None = None
    is_enabled: bool = True

    def next_after(self, moment: datetime) -> datetime | None:
        """Return when it fires next after a moment; None if never."""
        found = self.expression.next_after(moment, self.since) if self.is_enabled else None
        return None if found is None or (self.until is not None and found > self.until) else found


def due(schedules: Iterable[Schedule], after: datetime, now: datetime) -> Sequence[Schedule]:
    """Return the schedules that fire after a moment, and not after another."""
    times = ((one, one.next_after(after)) for one in schedules)
    return [one for one, at in times if at is not None and at <= now]


class Clockwork:
    """Fires schedules in its own thread.

    Args:
        schedules: Returns the schedules that there are.
    """

    def __init__(self, schedules: Callable[[], Sequence[Schedule]]) -> None:
        self._schedules = schedules
        self._stopping = threading.Event()

    def start(self) -> None:
        """Start firing."""
        threading.Thread(target=self._run, name="schedules", daemon=True).start()

    def stop(self) -> None:
        """Stop firing."""
        self._stopping.set()

    def _run(self) -> None:
        looked = datetime.now(UTC)
        while not self._stopping.wait(_PAUSE):
            now = datetime.now(UTC)
            for one in due(self._schedules(), looked, now):
                try:
                    one.fire(now)
                except Exception:
                    logger.exception("The schedule %s could not fire.", one.name)
            looked = now
