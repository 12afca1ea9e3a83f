"""Time in a world of fakes: scheduled events happen while a client waits or a function sleeps."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

from tests.fakes import FixedClock


@dataclass
class Timeline:
    """Moves a clock, and runs each event at its time."""

    clock: FixedClock
    _due: list[tuple[datetime, int, Callable[[], object]]] = field(
        default_factory=list[tuple[datetime, int, Callable[[], object]]]
    )
    _order: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.clock.on_sleep = self._catch_up
        self.began = self.clock.now()

    @property
    def seconds(self) -> float:
        """Seconds since the timeline began."""
        return (self.clock.now() - self.began).total_seconds()

    def after(self, seconds: float, event: Callable[[], object]) -> None:
        """Schedule an event."""
        heapq.heappush(self._due, (self.clock.now() + timedelta(seconds=seconds), next(self._order), event))

    def wait(self, seconds: float) -> None:
        """Let time pass for a client."""
        end = self.clock.now() + timedelta(seconds=seconds)
        while self._due and self._due[0][0] <= end:
            self.clock.time = max(self.clock.time, self._due[0][0])
            self._catch_up()
        self.clock.time = max(self.clock.time, end)

    def _catch_up(self) -> None:
        while self._due and self._due[0][0] <= self.clock.now():
            _, _, event = heapq.heappop(self._due)
            event()
