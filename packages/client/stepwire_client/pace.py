"""How fast tasks are polled: as the server asks, and slower while it cannot be reached.

The rule: time passes only in `Clock.sleep`, which tests replace.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeVar

import anyio

from stepwire_client.errors import Busy, NotConnected
from stepwire_client.states import Facts

T = TypeVar("T")


class Clock(Protocol):
    """Waits."""

    async def sleep(self, seconds: float, /) -> None:
        """Wait so many seconds."""
        ...


class WallClock:
    """The time of the world."""

    async def sleep(self, seconds: float, /) -> None:
        """Wait so many seconds."""
        await anyio.sleep(seconds)


@dataclass(frozen=True)
class Pace:
    """When to poll, and how often to try again."""

    clock: Clock = field(default_factory=WallClock)
    default: timedelta = timedelta(seconds=1)
    """Between two polls, if the server gives no hint."""
    shortest: timedelta = timedelta(milliseconds=50)
    """Between two polls, whatever the server says: a hint of 0 would make a busy loop."""
    longest: timedelta = timedelta(minutes=10)
    """Between two requests, whatever the server says."""
    longest_pause: timedelta = timedelta(seconds=30)
    """Between two attempts to reach a server that does not ask for more."""
    attempts: int = 10
    """How often in a row a poll may fail to reach the server before the wait ends."""

    async def rest(self, task: Facts) -> None:
        """Wait as long as the server asks for before the next poll."""
        hint = self.default if task.poll_interval is None else task.poll_interval
        await self.clock.sleep(min(max(hint, self.shortest), self.longest).total_seconds())

    async def insist(self, request: Callable[[], Awaitable[T]]) -> T:
        """Send a request that may be repeated, until an answer comes: with growing pauses, no shorter than asked for.

        Raises:
            NotConnected, Busy: each of the attempts ended so.
        """
        pause = min(self.default, self.longest_pause)
        for _ in range(self.attempts - 1):
            try:
                return await request()
            except (NotConnected, Busy) as error:
                asked = (error.retry_after or 0.0) if isinstance(error, Busy) else 0.0
                await self.clock.sleep(min(max(pause.total_seconds(), asked), self.longest.total_seconds()))
                pause = min(2 * pause, self.longest_pause)
        return await request()
