"""Measure the CPU time and memory of one input, in a fork of this process, whose heap is collected as it is found.

Linux only: the peak of memory is the kernel's (`VmHWM`), which includes what Rust allocates.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_SECONDS: Final = 0.25
MOST_MEMORY: Final = 64.0  # MB
_STATUS: Final = Path("/proc/self/status")
_MEGABYTE: Final = 1024  # KB, the unit of the kernel


@dataclass(frozen=True)
class Taken:
    """The CPU time and memory of an input."""

    seconds: float
    """CPU time."""
    megabytes: float
    """Memory above that of the idle process."""

    @property
    def is_within_bounds(self) -> bool:
        """Tell whether both are within the bounds of a request."""
        return self.seconds <= MOST_SECONDS and self.megabytes <= MOST_MEMORY


def taken_by(act: Callable[[], object]) -> Taken:
    """Run `act` in a fork of this process; return its CPU time and memory, and ignore its exceptions."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - in the fork
        os.write(writing, json.dumps(_measured(act)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return Taken(*json.loads(text or "[1e9, 1e9]"))


def _measured(act: Callable[[], object]) -> tuple[float, float]:
    before = _kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    began = time.process_time()
    with suppress(Exception):  # a refusal may cost as much as an answer
        act()
    return time.process_time() - began, (_kilobytes("VmHWM") - before) / _MEGABYTE


def _kilobytes(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])
