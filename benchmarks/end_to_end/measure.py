"""Follow many tasks in each way, and compare when clients knew with when the workflows ended."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from math import ceil
from statistics import fmean, median
from typing import Final

from benchmarks.cold.rounds import Spread, spread_of
from benchmarks.end_to_end.stack import serving
from benchmarks.end_to_end.ways import WAYS, Seen, Visit, recorded_at
from tools.load.clients import Endpoint

SECONDS: Final = (2, 4, 7, 11)
"""How long the workflows take."""
_PHASES: Final = 4
"""Clients of one duration begin at so many points of the first pause."""
_AT_ONCE: Final = 32


@dataclass(frozen=True)
class Followed:
    """A task, and what was known of its end at which time, in seconds since 1970."""

    seen: Seen
    ended_at: float
    recorded_at: float


@dataclass(frozen=True)
class Delay:
    """From the end of a workflow to the client's knowing it, in seconds."""

    way: str
    tasks: int
    recorded: float
    """Until the end was recorded, median."""
    known: Spread
    late: float
    """Until the client knew, 95th percentile."""
    wasted: float
    """Requests of a task that did not bring the end, mean."""


def measure(rounds: int) -> list[Delay]:
    """Run so many rounds on one stack; return the delays of each way."""
    seen: dict[str, list[Seen]] = {way: [] for way in WAYS}
    with serving() as stack, ThreadPoolExecutor(_AT_ONCE) as threads:
        url = stack.url()
        for _ in range(rounds):
            visits = [(way, _visit(url, *one)) for one in product(SECONDS, range(_PHASES)) for way in WAYS]
            for (way, _), found in zip(visits, threads.map(_follow, visits), strict=True):
                seen[way].append(found)
        ends, endpoint = stack.ends(), _endpoint(url)
        return [
            delay_of(way, [Followed(one, ends[one.task_id], recorded_at(endpoint, one.task_id)) for one in some])
            for way, some in seen.items()
        ]


def delay_of(way: str, some: Sequence[Followed]) -> Delay:
    """Return the delays of one way."""
    known = sorted(one.seen.known_at - one.ended_at for one in some)
    return Delay(
        way,
        len(some),
        median(one.recorded_at - one.ended_at for one in some),
        spread_of(known),
        known[ceil(0.95 * len(known)) - 1],
        fmean(one.seen.wasted for one in some),
    )


def _endpoint(url: str) -> Endpoint:
    return Endpoint(url, "nobody", [])


def _visit(url: str, seconds: int, phase: int) -> Visit:
    return Visit(_endpoint(url), seconds, (phase + 0.5) / _PHASES)


def _follow(one: tuple[str, Visit]) -> Seen:
    way, visit = one
    return WAYS[way](visit)
