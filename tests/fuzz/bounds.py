"""What every input has to stay within: processor time, and an answer in proportion to what was asked."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

MOST_SECONDS: Final = 1.0
"""Of processor time, so that what else the machine does counts for nothing."""
LONGEST_SHORT_ANSWER: Final = 32_768  # characters: the list of all tools is the longest that a short question gets
LONGEST_ECHO: Final = 6  # characters for each one asked: JSON may write one as six


@dataclass
class Slowest:
    """How long the slowest input took so far."""

    seconds: float = 0.0


SLOWEST: Final = Slowest()


@contextmanager
def bounded() -> Generator[None]:
    """Raise AssertionError where what happens inside takes too long."""
    began = time.thread_time()
    try:
        yield
    finally:  # an error takes no longer either
        took = time.thread_time() - began
        SLOWEST.seconds = max(SLOWEST.seconds, took)
        assert took < MOST_SECONDS, f"it took {took:.1f} s"


def check_length(answer: str, asked: int) -> None:
    """Raise AssertionError unless an answer is in proportion to a question of so many bytes."""
    assert len(answer) <= LONGEST_SHORT_ANSWER + LONGEST_ECHO * asked, f"{len(answer)} characters for {asked} bytes"
