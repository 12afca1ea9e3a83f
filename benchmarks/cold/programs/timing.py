"""Measure a process from its first import to its answer. Imports only what CPython has loaded or built in already.

Prints one line with the CPU time (user and system, of child processes too) and the elapsed time in seconds and the
number of modules, and then the answer.
"""

import resource
import sys
import time


def cpu() -> float:
    """Return the CPU time of this process and of those that it waited for, in seconds."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Stopwatch:
    """Started by its creation."""

    def __init__(self) -> None:
        self._modules = len(sys.modules)
        self._wall = time.perf_counter()
        self._cpu = cpu()

    def stop(self, answer: str) -> None:
        """Print what it took to get this answer."""
        taken = cpu() - self._cpu, time.perf_counter() - self._wall, len(sys.modules) - self._modules
        sys.stdout.write(f"\n{' '.join(map(str, taken))}\n{answer}")
