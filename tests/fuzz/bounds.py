"""The bounds of every input: CPU time, memory, and the size of the answer compared with the request."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_SECONDS: Final = 0.25
"""CPU time, which does not depend on what else the machine does."""
MOST_MEMORY: Final = 65_536  # KB above that of the idle process
_KERNEL: Final = Path("/proc/self")
LONGEST_SHORT_ANSWER: Final = 49_152  # characters: the page of the card is the longest answer to a short request
LONGEST_ECHO: Final = 6  # characters of answer per byte of request: JSON may escape one character as six


@dataclass
class Slowest:
    """The time of the slowest input so far."""

    seconds: float = 0.0


SLOWEST: Final = Slowest()


@contextmanager
def bounded() -> Generator[None]:
    """Raise AssertionError if the block takes too much time or memory."""
    resident = _memory_now()
    began = time.thread_time()
    try:
        yield
    finally:  # also if the block raises
        took = time.thread_time() - began
        grown = _peak() - resident
        SLOWEST.seconds = max(SLOWEST.seconds, took)
        assert took < MOST_SECONDS, f"it took {took:.2f} s"
        assert grown < MOST_MEMORY, f"it took {grown} KB"


def _memory_now() -> int:
    """Return the memory of this process in KB and reset the kernel's peak; 0 if the kernel does not count it."""
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
    """Raise AssertionError if an answer is too long for a request of this many bytes."""
    assert len(answer) <= LONGEST_SHORT_ANSWER + LONGEST_ECHO * asked, f"{len(answer)} characters for {asked} bytes"
