"""What one input takes: processor time and memory, in a copy of this process that has nothing else to do.

Linux only: the peak of memory is what the kernel counted (`VmHWM`), so what Rust allocates is in it.
"""

import gc
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
_MEGABYTE: Final = 1024  # KB, as the kernel counts


@dataclass(frozen=True)
class Taken:
    """What an input took."""

    seconds: float
    """Of processor time."""
    megabytes: float
    """Over what the process had before."""

    @property
    def is_within_bounds(self) -> bool:
        """Tell whether one request may take so much."""
        return self.seconds <= MOST_SECONDS and self.megabytes <= MOST_MEMORY


def taken_by(act: Callable[[], object]) -> Taken:
    """Act in a copy of this process, and give what that took; what it raises is none of ours."""
    reading, writing = os.pipe()
    gc.freeze()
    child = os.fork()
    if child == 0:  # pragma: no cover - in the copy
        os.write(writing, json.dumps(_measured(act)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return Taken(*json.loads(text or "[1e9, 1e9]"))


def _measured(act: Callable[[], object]) -> tuple[float, float]:
    before = _kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
    began = time.process_time()
    with suppress(Exception):  # a refusal costs as much as an answer may
        act()
    return time.process_time() - began, (_kilobytes("VmHWM") - before) / _MEGABYTE


def _kilobytes(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])
