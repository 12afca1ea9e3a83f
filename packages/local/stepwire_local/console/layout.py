"""Where everything of a state machine is drawn: boxes, nested ones too, and the paths between them.

Pure. The rules: coordinates are absolute, from the upper left corner; the boxes of a branch lie inside those of their
Map or Parallel state.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from stepwire_local.console.definitions import END, START, Scope, State, Way, whole
from stepwire_local.console.layers import Arrangement, Box, Link, Point, arrange

_LETTER: Final = 7.4  # pixels of a name's letter, at most
_NARROWEST, _WIDEST, _HEIGHT = 108.0, 232.0, 46.0
_DOT: Final = 18.0
_PADDING: Final = 18.0
_HEAD: Final = 40.0  # pixels above the inside of a container
_MARGIN: Final = 24.0
_LOOP: Final = 16.0
_ROUND: Final = 8.0


@dataclass(frozen=True)
class Node:
    """A drawn state."""

    name: str
    type: str
    action: str
    parent: str | None
    place: Point
    size: Box


@dataclass(frozen=True)
class Frame:
    """The frame around a branch."""

    parent: str
    place: Point
    size: Box


@dataclass(frozen=True)
class Path:
    """A drawn way."""

    way: Way
    points: Sequence[Point]
    is_back: bool


@dataclass(frozen=True)
class Drawing:
    """A drawn state machine; containers come before what is in them."""

    size: Box
    nodes: tuple[Node, ...]
    frames: tuple[Frame, ...]
    paths: tuple[Path, ...]
    crossings: int
    slots: int


@lru_cache(maxsize=64)
def drawing_of(definition: str) -> Drawing:
    """Draw a definition, given as JSON text."""
    drawn = _scope(whole(json.loads(definition)), None)
    moved = _moved(drawn, _MARGIN, _MARGIN)
    return replace(moved, size=Box(drawn.size.width + 2 * _MARGIN, drawn.size.height + 2 * _MARGIN))


def _scope(scope: Scope, parent: str | None) -> Drawing:
    inner = {state.name: _inside(state) for state in scope.states if state.scopes}
    boxes = {state.name: inner[state.name].size if state.name in inner else _box(state) for state in scope.states}
    links = {way: _link(way) for way in scope.ways}
    made = arrange(boxes, [link for link in dict.fromkeys(links.values()) if link.source != link.target], scope.start)
    parts = [_moved(one, *made.places[name]) for name, one in inner.items()]
    own = tuple(
        Node(one.name, one.type, one.action, parent, made.places[one.name], boxes[one.name]) for one in scope.states
    )
    return Drawing(
        made.size,
        (*own, *(node for part in parts for node in part.nodes)),
        tuple(frame for part in parts for frame in part.frames),
        (
            *(_path(way, link, made, boxes) for way, link in links.items()),
            *(path for part in parts for path in part.paths),
        ),
        made.crossings + sum(part.crossings for part in parts),
        made.slots + sum(part.slots for part in parts),
    )


def _link(way: Way) -> Link:
    return Link(way.source, way.target, "catch" if way.kind == "catch" else "", 0.8 if way.kind == "catch" else 0.5)


def _box(state: State) -> Box:
    if state.name in (START, END):
        return Box(_DOT, _DOT)
    return Box(min(max(len(state.name) * _LETTER + 52, _NARROWEST), _WIDEST), _HEIGHT)


def _inside(state: State) -> Drawing:
    """Draw the branches of a container side by side below its head; the size is the container's own."""
    left, parts, frames = _PADDING, list[Drawing](), list[Frame]()
    drawn = [_scope(scope, state.name) for scope in state.scopes]
    tallest = max(one.size.height for one in drawn)
    for one in drawn:
        frames.append(Frame(state.name, Point(left, _HEAD), Box(one.size.width + 2 * _PADDING, tallest + 2 * _PADDING)))
        parts.append(_moved(one, left + _PADDING, _HEAD + _PADDING))
        left += one.size.width + 3 * _PADDING
    width, height = max(left, _box(state).width), _HEAD + tallest + 3 * _PADDING
    return Drawing(
        Box(width, height),
        tuple(node for part in parts for node in part.nodes),
        (*frames, *(frame for part in parts for frame in part.frames)),
        tuple(path for part in parts for path in part.paths),
        sum(part.crossings for part in parts),
        sum(part.slots for part in parts),
    )


def _path(way: Way, link: Link, made: Arrangement, boxes: Mapping[str, Box]) -> Path:
    if way.source == way.target:
        corner, box = made.places[way.source], boxes[way.source]
        right, middle = corner.x + box.width, corner.y + box.height / 2
        out = right + _LOOP
        points = (Point(right, middle - 9), Point(out, middle - 9), Point(out, middle + 9), Point(right, middle + 9))
        return Path(way, points, is_back=True)
    return Path(way, made.routes[link], link in made.back)


def _moved(drawing: Drawing, x: float, y: float) -> Drawing:
    def to(point: Point) -> Point:
        return Point(point.x + x, point.y + y)

    return replace(
        drawing,
        nodes=tuple(replace(node, place=to(node.place)) for node in drawing.nodes),
        frames=tuple(replace(frame, place=to(frame.place)) for frame in drawing.frames),
        paths=tuple(replace(path, points=tuple(map(to, path.points))) for path in drawing.paths),
    )


def as_json(drawing: Drawing) -> dict[str, Any]:
    """Return a drawing for the page: sizes in pixels, paths as SVG has them."""
    return {
        "width": round(drawing.size.width, 1),
        "height": round(drawing.size.height, 1),
        "nodes": [
            {"name": node.name, "type": node.type, "action": node.action, "parent": node.parent}
            | _rectangle(node.place, node.size)
            for node in drawing.nodes
        ],
        "frames": [{"parent": frame.parent} | _rectangle(frame.place, frame.size) for frame in drawing.frames],
        "edges": [
            {
                "source": path.way.source,
                "target": path.way.target,
                "kind": path.way.kind,
                "number": path.way.number,
                "words": path.way.words,
                "d": " ".join(_strokes(path)),
            }
            for path in drawing.paths
        ],
        "crossings": drawing.crossings,
    }


def _rectangle(place: Point, size: Box) -> dict[str, float]:
    return {name: round(value, 1) for name, value in zip("xywh", (*place, size.width, size.height), strict=True)}


def _strokes(path: Path) -> Iterator[str]:
    """Yield the commands of an SVG path: curves from rank to rank, or right angles with round corners."""
    points = path.points
    yield f"M{_pair(points[0])}"
    if not path.is_back:
        for one, other in pairwise(points):
            middle = (one.y + other.y) / 2
            bend = f"C{_pair(Point(one.x, middle))} {_pair(Point(other.x, middle))} {_pair(other)}"
            yield f"L{_pair(other)}" if one.x == other.x else bend
        return
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        yield f"L{_pair(_towards(corner, before))}"
        yield f"Q{_pair(corner)} {_pair(_towards(corner, after))}"
    yield f"L{_pair(points[-1])}"


def _towards(one: Point, other: Point) -> Point:
    """Return the point a bit away from a corner, in the direction of another point."""
    length = max(abs(other.x - one.x), abs(other.y - one.y), 0.001)
    share = min(_ROUND / length, 0.5)
    return Point(one.x + (other.x - one.x) * share, one.y + (other.y - one.y) * share)


def _pair(point: Point) -> str:
    return f"{point.x:.1f},{point.y:.1f}"
