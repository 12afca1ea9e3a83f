"""How long a state machine's runs take, and the manifest's times that follow from it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Final

from stepwire.json_text import JsonObject
from stepwire.manifests.definitions import states_in
from stepwire.tasks.task import LONGEST_TTL

_TTLS: Final = (*(timedelta(days=days) for days in (7, 14, 30, 90)), LONGEST_TTL)
"""The default first: a task costs little."""
_READ: Final = timedelta(days=1)
"""Time to fetch the result after the end of the longest run."""
_HINTS: Final = (1, 2, 5, 10, 15, 30, 60)  # seconds
_LONGEST_HINTS: Final = (60, 120, 300)
_POLLS: Final = 10  # in a usual run
_DEFAULT_HINT: Final = 2
_QUICK: Final = 5.0  # seconds
_FEWEST_QUICK_RUNS: Final = 20
_WAITING: Final = (".waitForTaskToken", ".sync", ":activity:")


@dataclass(frozen=True)
class Timings:
    """The times of a manifest, and why they are so."""

    ttl: timedelta
    why_ttl: str
    poll_interval: timedelta
    longest_poll_interval: timedelta
    why_poll: str
    is_quick: bool
    """Whether every run ends so soon that a task is of no use."""


def timings_of(definition: JsonObject, seconds: Sequence[float]) -> Timings:
    """Return the manifest's times."""
    needed, why = _needed(definition, seconds)
    ttl = next((one for one in _TTLS if one >= needed + _READ), LONGEST_TTL)
    if ttl < needed + _READ:
        why += ", which is more than a task is kept at most"
    usual = median(seconds) if seconds else _DEFAULT_HINT * _POLLS
    longest = max(seconds, default=0.0)
    return Timings(
        ttl,
        why,
        timedelta(seconds=_nearest(_HINTS, usual / _POLLS)),
        timedelta(seconds=_nearest(_LONGEST_HINTS, longest / _POLLS / 2)),
        f"half of {len(seconds)} runs took at most {spoken(usual)}" if seconds else "no run is known: the defaults",
        len(seconds) >= _FEWEST_QUICK_RUNS and longest < _QUICK and not list(_waits(definition)),
    )


def timeout_of(definition: JsonObject) -> float | None:
    """Return the seconds after which Step Functions stops a run; None if it does not."""
    written = definition.get("TimeoutSeconds")
    return written if isinstance(written, int | float) and not isinstance(written, bool) else None


def spoken(seconds: float) -> str:
    """Return a duration as people say it."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return _counted(seconds / length, unit)
    return _counted(seconds, "second")


def _counted(number: float, unit: str) -> str:
    text = f"{number:.1f}".removesuffix(".0")
    return f"{text} {unit}" if text == "1" else f"{text} {unit}s"


def _needed(definition: JsonObject, seconds: Sequence[float]) -> tuple[timedelta, str]:
    """Return how long a task lives at least, and why."""
    timeout = timeout_of(definition)
    if timeout is not None:
        return _bounded(timeout), f"TimeoutSeconds of the definition is {spoken(timeout)}"
    waits, longest = max(_waits(definition), default=0.0), max(seconds, default=0.0)
    if longest and 2 * longest >= waits:
        return _bounded(2 * longest), f"the longest of {len(seconds)} runs took {spoken(longest)}"
    if waits:
        return _bounded(waits), f"one of its states may wait {spoken(waits)}"
    return timedelta(), "the default; the definition has no TimeoutSeconds, and no run is known"


def _bounded(seconds: float) -> timedelta:
    return timedelta(seconds=min(seconds, 400 * 86_400))


def _waits(definition: JsonObject) -> Iterator[float]:
    """Return how long states wait, as far as the definition says."""
    for state in (one.state for one in states_in(definition)):
        resource = str(state.get("Resource", ""))
        is_waiting = state.get("Type") == "Wait" or any(mark in resource for mark in _WAITING)
        written = state.get("Seconds" if state.get("Type") == "Wait" else "TimeoutSeconds")
        if is_waiting:
            is_number = isinstance(written, int | float) and not isinstance(written, bool)
            yield float(written) if is_number and written is not None else 0.0


def _nearest(steps: Sequence[int], wanted: float) -> int:
    return next((step for step in steps if step >= wanted), steps[-1])
