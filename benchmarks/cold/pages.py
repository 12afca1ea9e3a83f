"""Write what was measured between the markers of docs/performance.md: tables, and a plot for each request."""

import hashlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.cold.contenders import FLOOR, RELEASED, RELEASED_SOURCES, Request
from benchmarks.cold.plots import Bar, plot
from benchmarks.cold.release import PYTHON
from benchmarks.cold.rounds import Result, Spread
from benchmarks.page import machine, write_parts

Found: TypeAlias = Mapping[str, tuple[Request, Sequence[Result]]]
"""The results of each request, by its name."""
RELEASE: Final = "the release"
"""The marker of its table."""
_LONGEST_DIGEST: Final = 16  # digits


def table(request: Request, results: Sequence[Result]) -> str:
    """Return the results of a request as a table in Markdown."""
    goal = "" if request.goal is None else f" Goal of function mcp: at most {request.goal}."
    head = (
        f"**{request.name}.** The floor makes {request.floor.replace(' ', ', then ')}.{goal}",
        "",
        "| | CPU, ratio to the floor | least to most | elapsed, ratio | CPU | modules | calls to AWS |",
        "|---|---|---|---|---|---|---|",
    )
    return "\n".join((*head, *map(_row, results), ""))


def release_table(found: Found) -> str:
    """Return the results of a released artifact as a table in Markdown, a request each row."""
    head = (
        "| cold request | goal | as released | least to most | its bytecode removed | least to most"
        " | CPU of the floor | as released | its bytecode removed | modules |",
        "|---|---|---|---|---|---|---|---|---|---|",
    )
    return "\n".join((*head, *(_release_row(request, results) for request, results in found.values()), ""))


def update_release(found: Found, rounds: int, artifact: Path) -> None:
    """Write the table of a released artifact, with its digest, its Python and its day."""
    digest = hashlib.sha256(artifact.read_bytes()).hexdigest()[:_LONGEST_DIGEST]
    python = subprocess.run([PYTHON, "-V"], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - our own words
    made = f"{machine(python)}; {rounds} rounds; {artifact.name}, whose SHA-256 begins with {digest}.\n"
    write_parts({RELEASE: f"{made}\n{release_table(found)}"}, {})


def update(found: Found, rounds: int) -> None:
    """Write the tables and the plots of all requests that were measured."""
    parts, plots = {"machine": f"{machine()}; {rounds} rounds.\n"}, dict[str, str]()
    for request, results in found.values():
        name = plot_name(request)
        bars = [Bar(one.name, one.cpu.median, one.cpu.least, one.cpu.most) for one in results]
        plots[name] = plot(f"{request.name}: CPU time, ratio to the floor", bars, request.goal)
        parts[request.name] = f"{table(request, results)}\n![{request.name}](assets/{name})\n"
    write_parts(parts, plots)


def plot_name(request: Request) -> str:
    """Return the name of the file with the plot of a request."""
    return f"cold-{'-'.join(re.findall('[a-z]+', request.name.lower()))}.svg"


def _row(result: Result) -> str:
    cells = (
        result.name,
        f"{result.cpu.median:.2f}",
        _range(result.cpu),
        f"{result.wall.median:.2f}",
        f"{result.seconds * 1000:.0f} ms",
        str(result.modules),
        ", ".join(result.aws_calls) or "none",
    )
    return f"| {' | '.join(cells)} |"


def _release_row(request: Request, results: Sequence[Result]) -> str:
    by_name = {one.name: one for one in results}
    floor, released, sources = (by_name[name] for name in (FLOOR, RELEASED, RELEASED_SOURCES))
    ratios = [cell for one in (released, sources) for cell in (f"{one.cpu.median:.2f}", _range(one.cpu))]
    times = [f"{one.seconds * 1000:.0f} ms" for one in (floor, released, sources)]
    return f"| {' | '.join((request.name, str(request.goal), *ratios, *times, str(released.modules)))} |"


def _range(spread: Spread) -> str:
    return f"{spread.least:.2f} to {spread.most:.2f}"
