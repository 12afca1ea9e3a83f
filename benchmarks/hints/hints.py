"""The poll hints that are compared."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from msgspec.structs import replace

from benchmarks.hints.durations import RecordedTool
from stepwire_wrap.definitions.timings import timings_of
from tests.kits import World

Interval: TypeAlias = Callable[[float], float]
"""The seconds until the next poll, from the age of the task in seconds."""
_SHORTEST: Final = timedelta(seconds=2)
_LONGEST: Final = timedelta(minutes=1)
"""The defaults of `poll_interval` and `longest_poll_interval` in a manifest."""


@dataclass(frozen=True)
class Hint:
    """A poll hint: for each tool, the intervals of its tasks."""

    name: str
    of: Callable[[RecordedTool], Interval]
    short: str = ""
    """Its name in the plot."""

    @property
    def is_fixed(self) -> bool:
        """Tell whether it is there only to compare the others with."""
        return not self.short


def fixed(seconds: float) -> Hint:
    """Return the hint that never grows."""
    return Hint(f"every {seconds:g} s", lambda _tool: lambda _age: seconds)


def _growing(poll_interval: timedelta, longest: timedelta) -> Interval:
    """Return what a task of such a tool hints."""
    task = replace(World().call(), poll_interval=poll_interval, longest_poll_interval=longest)
    return lambda age: task.poll_hint(task.created_at + timedelta(seconds=age)).total_seconds()


def _wrapped(tool: RecordedTool) -> Interval:
    """Return what a task hints whose manifest `stepwire wrap` has written from the tool's past runs."""
    timings = timings_of({}, tool.past)
    return _growing(timings.poll_interval, timings.longest_poll_interval)


def _by_quantiles(tool: RecordedTool) -> Interval:
    """Return a hint that leads from one twentieth of the tool's past runs to the next."""
    known, otherwise = sorted(tool.past), _growing(_SHORTEST, _LONGEST)

    def interval(age: float) -> float:
        behind = bisect_right(known, age)
        if behind == len(known):
            return otherwise(age)
        ahead = known[min(len(known) - 1, behind + len(known) // 20)]
        return min(_LONGEST.total_seconds(), max(_SHORTEST.total_seconds(), ahead - age))

    return interval


DEFAULT: Final = Hint(
    "the hint with the defaults of a manifest", lambda _tool: _growing(_SHORTEST, _LONGEST), "defaults"
)
WRAPPED: Final = Hint("the hint as `stepwire wrap` writes it", _wrapped, "stepwire wrap")
QUANTILES: Final = Hint("not built: quantiles of past runs", _by_quantiles, "not built: quantiles")
HINTS: Final = (*map(fixed, (2, 5, 10, 30)), DEFAULT, WRAPPED, QUANTILES)
