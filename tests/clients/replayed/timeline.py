"""The time of a replayed client: scheduled events happen while it waits."""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Protocol

from tests.fakes import FixedClock


class Clock(Protocol):
    """Whatever tells the time."""

    def now(self) -> datetime:
        """Return the time."""
        ...


class Timeline(ABC):
    """Keeps scheduled events until their time."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock.now
        self._began = clock.now()
        self._due: list[tuple[datetime, int, Callable[[], object]]] = []
        self._order = count()

    @property
    def seconds(self) -> float:
        """Seconds since the timeline began."""
        return (self._now() - self._began).total_seconds()

    def after(self, seconds: float, event: Callable[[], object]) -> None:
        """Schedule an event."""
        heapq.heappush(self._due, (self._now() + timedelta(seconds=seconds), next(self._order), event))

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Let time pass for a client."""

    def _catch_up(self) -> None:
        """Run the events whose time has come."""
        while self._due and self._due[0][0] <= self._now():
            _, _, event = heapq.heappop(self._due)
            event()


class FakeTimeline(Timeline):
    """In a world of fakes: each event happens at its time, also while a function sleeps."""

    def __init__(self, clock: FixedClock) -> None:
        super().__init__(clock)
        self._clock = clock
        clock.on_sleep = self._catch_up

    def wait(self, seconds: float) -> None:
        """Let time pass for a client."""
        end = self._clock.now() + timedelta(seconds=seconds)
        while self._due and self._due[0][0] <= end:
            self._clock.time = max(self._clock.time, self._due[0][0])
            self._catch_up()
        self._clock.time = max(self._clock.time, end)
