"""Poll tasks of recorded durations in simulated time, and count what was in vain and how late the end was known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from statistics import fmean

from benchmarks.hints.durations import RecordedTool
from benchmarks.hints.hints import Hint, Interval, fixed

ALLOWED = 1.5
"""How much longer the median delay may be than that of the fixed hint it is compared with."""
_STEP = 0.1  # seconds


@dataclass(frozen=True)
class Outcome:
    """What a hint comes to, where each tool counts the same."""

    wasted: float
    """Polls of a task that found it running, mean."""
    delay: float
    """Seconds from the end of a task to the poll that finds it, median."""


@dataclass(frozen=True)
class Comparison:
    """A hint, and the fixed hint whose median delay is at least that of the hint divided by `ALLOWED`."""

    hint: Hint
    outcome: Outcome
    seconds: float
    """The interval of the fixed hint."""
    fixed: Outcome

    @property
    def ratio(self) -> float:
        """How many times fewer polls are wasted."""
        return self.fixed.wasted / self.outcome.wasted


def simulate(hint: Hint, tools: Sequence[RecordedTool]) -> Outcome:
    """Let a client poll all recorded runs of all tools as hinted."""
    wasted: list[float] = []
    delays: list[tuple[float, float]] = []
    for tool in tools:
        interval = hint.of(tool)
        polled = [_polled(interval, seconds) for seconds in tool.runs]
        wasted.append(fmean(polls for polls, _ in polled))
        delays += [(delay, 1 / len(polled)) for _, delay in polled]
    return Outcome(fmean(wasted), _weighted_median(delays))


def compare(hint: Hint, tools: Sequence[RecordedTool]) -> Comparison:
    """Compare a hint with the shortest fixed hint that is late enough: with at least 1/1.5 of its median delay."""
    outcome = simulate(hint, tools)
    # Delays of a fixed hint are spread from zero to the interval, so the search begins near twice the delay.
    steps = int(1.5 * outcome.delay / ALLOWED / _STEP)
    for step in count(max(1, steps)):
        compared = simulate(fixed(step * _STEP), tools)
        if compared.delay * ALLOWED >= outcome.delay:
            return Comparison(hint, outcome, step * _STEP, compared)
    raise AssertionError("a longer interval is later")


def _polled(interval: Interval, seconds: float) -> tuple[int, float]:
    """Return the number of polls in vain and the delay, for one task."""
    *before, last = _polls(interval, seconds)
    return len(before), last - seconds


def _polls(interval: Interval, until: float) -> Iterator[float]:
    """Yield the ages at which a client polls, up to the first at which the task has ended."""
    age = interval(0.0)
    while age < until:
        yield age
        age += interval(age)
    yield age


def _weighted_median(values: Sequence[tuple[float, float]]) -> float:
    half, reached = sum(weight for _, weight in values) / 2, 0.0
    for value, weight in sorted(values):
        reached += weight
        if reached >= half:
            return value
    raise ValueError("there are no values")
