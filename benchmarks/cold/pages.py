"""Write what was measured: a table and a plot for each request, between the markers of docs/performance.md."""

import re
from collections.abc import Mapping, Sequence

from benchmarks.cold.contenders import Request
from benchmarks.cold.plots import Bar, plot
from benchmarks.cold.rounds import Result, Spread
from benchmarks.page import machine, write_parts


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


def update(found: Mapping[str, tuple[Request, Sequence[Result]]], rounds: int) -> None:
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


def _range(spread: Spread) -> str:
    return f"{spread.least:.2f} to {spread.most:.2f}"
