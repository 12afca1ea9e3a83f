"""What every input has to stay within: processor time, memory, and an answer in proportion to what was asked."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_SECONDS: Final = 0.25
"""Of processor time, so that what else the machine does counts for nothing."""
MOST_MEMORY: Final = 65_536  # KB, over what the process had before
_KERNEL: Final = Path("/proc/self")
LONGEST_SHORT_ANSWER: Final = 32_768  # characters: the list of all tools is the longest that a short question gets
LONGEST_ECHO: Final = 6  # characters for each one asked: JSON may write one as six


@dataclass
class Slowest:
    """How long the slowest input took so far."""

    seconds: float = 0.0


SLOWEST: Final = Slowest()


@contextmanager
def bounded() -> Generator[None]:
    """Raise AssertionError where what happens inside takes too long, or too much memory."""
    resident = _memory_now()
    began = time.thread_time()
    try:
        yield
    finally:  # an error takes no more either
        took = time.thread_time() - began
        grown = _peak() - resident
        SLOWEST.seconds = max(SLOWEST.seconds, took)
        assert took < MOST_SECONDS, f"it took {took:.2f} s"
        assert grown < MOST_MEMORY, f"it took {grown} KB"


def _memory_now() -> int:
    """Return the memory of this process in KB, and have the kernel forget its peak; 0 where it counts none."""
    if not (_KERNEL / "clear_refs").exists():
        return 0
    (_KERNEL / "clear_refs").write_text("5")
    return _counted("VmRSS")


def _peak() -> int:
    return _counted("VmHWM") if (_KERNEL / "clear_refs").exists() else 0


def _counted(name: str) -> int:
    lines = (_KERNEL / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def check_length(answer: str, asked: int) -> None:
    """Raise AssertionError unless an answer is in proportion to a question of so many bytes."""
    assert len(answer) <= LONGEST_SHORT_ANSWER + LONGEST_ECHO * asked, f"{len(answer)} characters for {asked} bytes"
