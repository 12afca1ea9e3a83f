"""Draw a bar chart as SVG: one bar for each contender, a line for its spread, and a line for the goal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_LEFT: Final = 320  # pixels, for the names
_WIDTH: Final = 420  # of the longest bar
_RIGHT: Final = 60  # for the numbers
_ROW: Final = 28
_TOP: Final = 40
_BAR: Final = 16


@dataclass(frozen=True)
class Bar:
    """A ratio and its spread."""

    name: str
    value: float
    least: float
    most: float


def plot(title: str, bars: Sequence[Bar], goal: float | None) -> str:
    """Return the chart. Its colours can be read on white and on black."""
    scale = _WIDTH / max(bar.most for bar in bars)
    height = _TOP + _ROW * len(bars) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + _RIGHT} {height}"'
        ' font-family="sans-serif" font-size="13" fill="#808080">',
        f'<text x="8" y="20" font-weight="bold">{escape(title)}</text>',
        *(line for number, bar in enumerate(bars) for line in _bar(bar, _TOP + _ROW * number, scale)),
        *([] if goal is None else [_vertical(_LEFT + goal * scale, height)]),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _bar(bar: Bar, top: float, scale: float) -> Iterator[str]:
    middle = top + _BAR / 2
    colour = "#2a7de1" if bar.name.startswith("Stepwire") else "#9a9a9a"
    yield f'<text x="{_LEFT - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(bar.name)}</text>'
    yield f'<rect x="{_LEFT}" y="{top}" width="{bar.value * scale:.1f}" height="{_BAR}" fill="{colour}"/>'
    left, right = _LEFT + bar.least * scale, _LEFT + bar.most * scale
    yield f'<path d="M{left:.1f} {middle}H{right:.1f}" stroke="#404040" stroke-width="2"/>'
    yield f'<text x="{right + 6:.1f}" y="{middle + 4:.1f}">{bar.value:.2f}</text>'


def _vertical(x: float, height: float) -> str:
    return f'<path d="M{x:.1f} {_TOP - 8}V{height}" stroke="#d1421f" stroke-dasharray="4 3"><title>goal</title></path>'
