"""Show the delays: a table in Markdown, and a plot."""

from collections.abc import Sequence
from typing import Final

from benchmarks.cold.plots import Bar, plot
from benchmarks.end_to_end.measure import Delay

PLOT: Final = "end-to-end.svg"
_HEAD: Final = (
    "| | until recorded, median | until the client knows, median | least to most | 95% | wasted requests | tasks |",
    "|---|---|---|---|---|---|---|",
)


def table(delays: Sequence[Delay]) -> str:
    """Return the delays as a table."""
    return "\n".join((*_HEAD, *map(_row, delays), ""))


def bars(delays: Sequence[Delay]) -> str:
    """Draw the delays."""
    shown = [Bar(one.way.replace("`", ""), one.known.median, one.known.least, one.known.most) for one in delays]
    return plot("From a workflow's end to the client's knowing it, seconds", shown, None)


def _row(one: Delay) -> str:
    cells = (
        one.way,
        f"{one.recorded * 1000:.0f} ms",
        f"{one.known.median:.2f} s",
        f"{one.known.least:.2f} to {one.known.most:.2f} s",
        f"{one.late:.2f} s",
        f"{one.wasted:.1f}",
        str(one.tasks),
    )
    return f"| {' | '.join(cells)} |"
