"""Run everything that answers a request once a round, and turn the rounds into ratios.

The first round warms the caches of the disk and counts for nothing. Each ratio is taken within a round, so a slow
minute of the machine slows both of its sides.
"""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeAlias

from benchmarks.cold.aws import Aws, serving
from benchmarks.cold.contenders import CREATE, FLOOR, PEERS, Contender, Request, Tools, contenders, requests
from benchmarks.cold.processes import Run, run
from benchmarks.cold.stepwire_forms import forms, registered

Runs: TypeAlias = Mapping[str, Sequence[Run]]
"""The runs of one request, a round each, by the name of the contender."""


@dataclass(frozen=True)
class Spread:
    """A median, with the least and the greatest value."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class Result:
    """What a contender took for a request; the ratios are to the floor of the same round."""

    name: str
    cpu: Spread
    wall: Spread
    seconds: float
    """CPU time, median."""
    modules: int
    aws_calls: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where function mcp finds its tools: its forms, and the AWS that they call."""

    forms: Sequence[Contender]
    aws: Aws


def measure(
    rounds: int, is_wanted: Callable[[Request], bool], *, has_peers: bool, artifact: Path | None
) -> dict[str, tuple[Request, tuple[Result, ...]]]:
    """Return the results of the wanted requests, by name; of a released artifact, or of the sources."""
    runs = defaultdict[str, defaultdict[str, list[Run]]](lambda: defaultdict(list))
    with places(artifact) as found:
        usual = found[Tools.ANYWHERE]
        created = run(usual.forms[0], CREATE, usual.aws).answer
        known = requests(created["result"]["task"]["taskId"])
        wanted = [one for one in known if is_wanted(one) and (has_peers or one.goal is not None)]
        for number in range(rounds + 1):
            sys.stderr.write(f"round {number} of {rounds}\n")
            for request in wanted:
                for name, taken in _round(request, found[request.tools], has_peers=has_peers):
                    if number:
                        runs[request.name][name].append(taken)
    return {request.name: (request, results_of(runs[request.name])) for request in wanted}


def results_of(runs: Runs) -> tuple[Result, ...]:
    """Compare the runs of each contender with those of the floor, round by round."""
    floor = runs[FLOOR]
    return tuple(
        Result(
            name,
            spread_of([one.cpu / least.cpu for one, least in zip(taken, floor, strict=True)]),
            spread_of([one.wall / least.wall for one, least in zip(taken, floor, strict=True)]),
            median(one.cpu for one in taken),
            taken[-1].modules,
            taken[-1].aws_calls,
        )
        for name, taken in runs.items()
    )


def spread_of(values: Sequence[float]) -> Spread:
    """Return the median, the least and the greatest of values."""
    return Spread(median(values), min(values), max(values))


def _round(request: Request, place: Place, *, has_peers: bool) -> Generator[tuple[str, Run]]:
    for contender in contenders(request, place.forms):
        if has_peers or contender.name not in PEERS:
            yield contender.name, run(contender, request.event, place.aws)


@contextmanager
def places(artifact: Path | None = None) -> Generator[Mapping[Tools, Place]]:
    """Make a package of function mcp, and an AWS, for each place of the tools."""
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        made = {tools: forms(Path(temporary) / tools.name, tools, artifact) for tools in Tools}
        items = {Tools.TABLE: registered(Path(temporary) / Tools.PACKAGE.name)}
        yield {tools: Place(made[tools], stack.enter_context(serving(Aws(items.get(tools))))) for tools in Tools}
