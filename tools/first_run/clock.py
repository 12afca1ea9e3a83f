"""The time of the run, and how long a trial may take. Tests move it."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

PAUSE: Final = 2.0  # seconds between two looks at AWS

Seen = TypeVar("Seen")


class TooLong(Exception):
    """What was waited for did not happen in time."""


@dataclass
class Clock:
    """Waits for AWS, and no longer than a trial may take."""

    now: Callable[[], float] = time.monotonic
    rest: Callable[[float], object] = time.sleep
    minute: float = 60.0
    """Seconds of a minute of waiting. An emulated AWS does a thing at once or never: there it is less."""
    _end: float = float("inf")

    @contextmanager
    def limit(self, minutes: float) -> Generator[None]:
        """Let no wait in the block go beyond so many minutes, those of a clock on the wall."""
        before, self._end = self._end, self.now() + minutes * 60
        try:
            yield
        finally:
            self._end = before

    def sleep(self, seconds: float) -> None:
        """Wait.

        Raises:
            TooLong: the limit would be over.
        """
        if self.now() + seconds > self._end:
            raise TooLong("the time of this trial is over")
        self.rest(seconds)

    def until(self, look: Callable[[], Seen | None], minutes: float, what: str) -> Seen:
        """Look again and again until there is something, and return that.

        Raises:
            TooLong: there was nothing; `what` says what was waited for.
        """
        most = minutes * self.minute
        end = self.now() + most
        while not (seen := look()):
            if self.now() >= end:
                raise TooLong(f"{what}: not within {most:.0f} s")
            self.sleep(PAUSE)
        return seen
