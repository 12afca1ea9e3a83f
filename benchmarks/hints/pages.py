"""Show what was simulated: tables in Markdown, and a plot of both sides of the choice."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import log10
from typing import Final

from benchmarks.hints.simulation import Comparison, Outcome

PLOT: Final = "poll-hints.svg"
_LEFT: Final = 70  # pixels
_TOP: Final = 40
_WIDTH: Final = 440
_HEIGHT: Final = 300
_RIGHT: Final = 290  # for the names
_X: Final = (0.5, 50.0)
_Y: Final = (1.0, 2000.0)


def table(name: str, compared: Sequence[Comparison]) -> str:
    """Return the outcome of all hints for some tools."""
    head = (
        f"**{name}**",
        "",
        "| hint | wasted polls a task | median delay | fixed hint to compare | its wasted polls | times fewer |",
        "|---|---|---|---|---|---|",
    )
    return "\n".join((*head, *map(_row, compared), ""))


def _row(one: Comparison) -> str:
    if one.hint.is_fixed:
        return f"| {one.hint.name} | {one.outcome.wasted:.1f} | {one.outcome.delay:.1f} s | | | |"
    found = f"{one.outcome.wasted:.1f} | {one.outcome.delay:.1f} s"
    return f"| {one.hint.name} | {found} | every {one.seconds:.1f} s | {one.fixed.wasted:.1f} | {one.ratio:.1f} |"


def plot(groups: Mapping[str, Sequence[Comparison]]) -> str:
    """Draw wasted polls against the delay, for each group a line through the fixed hints and a point for each other."""
    width, height = _LEFT + _WIDTH + _RIGHT, _TOP + _HEIGHT + 50
    coloured = zip(_COLOURS, groups.items(), strict=False)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="12" fill="#808080">',
        '<text x="8" y="20" font-size="13" font-weight="bold">Polls in vain, and how late the end is known</text>',
        *_axes(),
        *(line for colour, (name, some) in coloured for line in _group(name, some, colour)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


_COLOURS: Final = ("#2a7de1", "#d1421f")


def _axes() -> Iterator[str]:
    bottom = _TOP + _HEIGHT
    yield f'<path d="M{_LEFT} {_TOP}V{bottom}H{_LEFT + _WIDTH}" stroke="#808080" fill="none"/>'
    for seconds in (0.5, 1, 2, 5, 10, 20, 50):
        yield f'<text x="{_x(seconds):.1f}" y="{bottom + 18}" text-anchor="middle">{seconds:g}</text>'
    for polls in (1, 10, 100, 1000):
        yield f'<text x="{_LEFT - 8}" y="{_y(polls) + 4:.1f}" text-anchor="end">{polls}</text>'
    yield f'<text x="{_LEFT + _WIDTH / 2}" y="{bottom + 38}" text-anchor="middle">median delay, seconds</text>'
    yield f'<text x="{_LEFT - 60}" y="{_TOP - 8}">wasted polls a task</text>'


def _group(name: str, some: Sequence[Comparison], colour: str) -> Iterator[str]:
    line = [one.outcome for one in some if one.hint.is_fixed]
    points = " ".join(f"{_x(one.delay):.1f},{_y(one.wasted):.1f}" for one in line)
    yield f'<polyline points="{points}" fill="none" stroke="{colour}"><title>fixed hints</title></polyline>'
    yield _text(line[-1], f"{name}: fixed hints", colour)
    for one in some:
        x, y = _x(one.outcome.delay), _y(one.outcome.wasted)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 if one.hint.is_fixed else 5}" fill="{colour}"/>'
        if not one.hint.is_fixed:
            yield _text(one.outcome, one.hint.short, colour)


def _text(beside: Outcome, text: str, colour: str) -> str:
    x, y = _x(beside.delay) + 9, _y(beside.wasted) + 4
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}">{escape(text)}</text>'


def _x(seconds: float) -> float:
    return _LEFT + _WIDTH * _share(seconds, *_X)


def _y(polls: float) -> float:
    return _TOP + _HEIGHT * (1 - _share(polls, *_Y))


def _share(value: float, least: float, most: float) -> float:
    return (log10(value) - log10(least)) / (log10(most) - log10(least))
