"""A layered layout of one graph: ranks, then the order in each rank, then coordinates.

Pure, and the same for the same input. The rules: boxes never overlap; a link goes down from rank to rank and crosses
ranks only in slots that are kept free for it; links of a group that lead to one box share their slots, so that forty
error handlers make one line and not forty. A link against the flow goes up in slots beside the boxes.

The method is Sugiyama's. Work is bounded: `_SWEEPS` passes over all ranks.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

_SWEEPS: Final = 12
_STRAIGHTENINGS: Final = 12
SIDE_GAP: Final = 28.0
RANK_GAP: Final = 40.0
_SLOT_WIDTH: Final = 4.0
# Of a link between boxes, from a box to a slot and between slots: long links are straight, boxes near their own.
_WEIGHTS: Final = (1.0, 0.6, 6.0)
_ASIDE: Final = 8.0  # how much less a link of a named group weighs: boxes do not move for it


class Point(NamedTuple):
    """A place, in pixels from the left and from the top."""

    x: float
    y: float


@dataclass(frozen=True)
class Box:
    """The size of a box."""

    width: float
    height: float


@dataclass(frozen=True)
class Link:
    """A link from a box to another; of those with one group and one target, the slots are shared."""

    source: str
    target: str
    group: str = ""
    out: float = 0.5
    """Where it leaves its box, as a share of its width."""


class _Slot(NamedTuple):
    """Room for a link in a rank."""

    target: str
    group: str
    rank: int
    is_back: bool


_Item = str | _Slot


@dataclass(frozen=True)
class Arrangement:
    """A laid out graph."""

    size: Box
    places: Mapping[str, Point]
    """The upper left corner of each box."""
    routes: Mapping[Link, Sequence[Point]]
    back: frozenset[Link]
    """Links against the flow; their corners are right angles."""
    crossings: int
    slots: int


@dataclass
class _Plan:
    boxes: Mapping[str, Box]
    ranks: dict[str, int] = field(default_factory=dict[str, int])
    rows: list[list[_Item]] = field(default_factory=list[list[_Item]])
    below: dict[_Item, list[_Item]] = field(default_factory=lambda: defaultdict[_Item, list[_Item]](list))
    above: dict[_Item, list[_Item]] = field(default_factory=lambda: defaultdict[_Item, list[_Item]](list))
    x: dict[_Item, float] = field(default_factory=dict[_Item, float])
    tops: list[float] = field(default_factory=list[float])

    def width(self, item: _Item) -> float:
        return self.boxes[item].width if isinstance(item, str) else _SLOT_WIDTH

    def join(self, upper: _Item, lower: _Item) -> None:
        if lower not in self.below[upper]:
            self.below[upper].append(lower)
            self.above[lower].append(upper)


def arrange(boxes: Mapping[str, Box], links: Sequence[Link], start: str) -> Arrangement:
    """Lay out a graph from top to bottom; `start` comes first. No link leads from a box to itself."""
    plan = _Plan(boxes)
    back = _back_links(boxes, links, start)
    _rank(plan, [link for link in links if link not in back])
    _fill_rows(plan, links, back)
    crossings = _order(plan)
    _place(plan)
    routes = {link: _route(plan, link, is_back=link in back) for link in links}
    return _arrangement(plan, routes, back, crossings)


def _back_links(boxes: Mapping[str, Box], links: Sequence[Link], start: str) -> frozenset[Link]:
    """Return the links that close a circle when one walks from the start, depth first."""
    out: dict[str, list[Link]] = defaultdict(list)
    for link in links:
        out[link.source].append(link)
    found: set[Link] = set()
    open_, done = set[str](), set[str]()
    for root in [start, *boxes]:
        if root in done or root not in boxes:
            continue
        open_.add(root)
        walk = [(root, iter(out[root]))]
        while walk:
            name, rest = walk[-1]
            link = next(rest, None)
            if link is None:
                walk.pop()
                open_.discard(name)
                done.add(name)
            elif link.target in open_:
                found.add(link)
            elif link.target not in done:
                open_.add(link.target)
                walk.append((link.target, iter(out[link.target])))
    return frozenset(found)


def _rank(plan: _Plan, forward: Sequence[Link]) -> None:
    """Give each box the rank behind all that lead to it."""
    out: dict[str, list[str]] = defaultdict(list)
    waits = dict.fromkeys(plan.boxes, 0)
    for link in forward:
        out[link.source].append(link.target)
        waits[link.target] += 1
    ready = [name for name in plan.boxes if not waits[name]]
    plan.ranks = dict.fromkeys(plan.boxes, 0)
    for name in ready:  # it grows
        for target in out[name]:
            plan.ranks[target] = max(plan.ranks[target], plan.ranks[name] + 1)
            waits[target] -= 1
            if not waits[target]:
                ready.append(target)


def _fill_rows(plan: _Plan, links: Sequence[Link], back: frozenset[Link]) -> None:
    """Put boxes and slots into rows, in the order in which the links name them."""
    plan.rows = [[] for _ in range(max(plan.ranks.values(), default=0) + 1)]
    for name, rank in plan.ranks.items():
        plan.rows[rank].append(name)
    seen: set[_Item] = set()
    for link in links:
        slots = _slots(plan, link, is_back=link in back)
        for slot in slots:
            if slot not in seen:
                seen.add(slot)
                row = plan.rows[slot.rank]
                row.insert(row.index(link.source) + 1 if link.source in row else len(row), slot)
        ends = slots if link in back else [link.source, *slots, link.target]
        for upper, lower in pairwise(ends):
            plan.join(upper, lower)


def _slots(plan: _Plan, link: Link, *, is_back: bool) -> list[_Slot]:
    """Return the slots of a link from the top to the bottom; one against the flow has some beside its ends too."""
    first, last = plan.ranks[link.source], plan.ranks[link.target]
    ranks = range(last, first + 1) if is_back else range(first + 1, last)
    return [_Slot(link.target, link.group, rank, is_back) for rank in ranks]


def _order(plan: _Plan) -> int:
    """Sort the rows so that few links cross; return how many still do."""
    best, fewest = [list(row) for row in plan.rows], crossings_of(plan.rows, plan.below)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        rows = range(1, len(plan.rows)) if down else range(len(plan.rows) - 2, -1, -1)
        for rank in rows:
            _sort_row(plan.rows, rank, plan.rows[rank - 1 if down else rank + 1], plan.above if down else plan.below)
        for rank in range(len(plan.rows)):
            _swap_neighbours(plan, rank)
        crossings = crossings_of(plan.rows, plan.below)
        if crossings < fewest:
            best, fewest = [list(row) for row in plan.rows], crossings
    plan.rows = best
    return fewest


def _sort_row(
    rows: list[list[_Item]], rank: int, beside: Sequence[_Item], near: Mapping[_Item, Sequence[_Item]]
) -> None:
    """Sort a row by the middle of its neighbours in another one; what has none keeps its place."""
    index = {item: number for number, item in enumerate(beside)}
    share = len(beside) / max(len(rows[rank]), 1)
    keys: dict[_Item, float] = {}
    for number, item in enumerate(rows[rank]):
        found = [index[one] for one in near.get(item, ()) if one in index]
        keys[item] = sum(found) / len(found) if found else number * share
    rows[rank].sort(key=keys.__getitem__)


def _swap_neighbours(plan: _Plan, rank: int) -> None:
    """Swap items that stand beside each other where fewer links cross then; once through the row."""
    around = [(plan.above, plan.rows[rank - 1] if rank else ()), (plan.below, _row(plan, rank + 1))]
    places = [(near, {item: number for number, item in enumerate(row)}) for near, row in around]
    row = plan.rows[rank]
    for left in range(len(row) - 1):
        ends = [
            [[index[o] for o in near.get(item, ()) if o in index] for item in row[left : left + 2]]
            for near, index in places
        ]
        now = sum(one > other for mine, others in ends for one in mine for other in others)
        then = sum(one < other for mine, others in ends for one in mine for other in others)
        if then < now:
            row[left], row[left + 1] = row[left + 1], row[left]


def _row(plan: _Plan, rank: int) -> Sequence[_Item]:
    return plan.rows[rank] if rank < len(plan.rows) else ()


def crossings_of(rows: Sequence[Sequence[_Item]], below: Mapping[_Item, Sequence[_Item]]) -> int:
    """Count the pairs of links between neighbouring rows that cross."""
    total = 0
    for upper, lower in pairwise(rows):
        index = {item: number for number, item in enumerate(lower)}
        ends: list[int] = []
        for item in upper:
            mine = sorted(index[one] for one in below.get(item, ()) if one in index)
            total += sum(len(ends) - bisect_left(ends, end + 1) for end in mine)
            for end in mine:
                insort(ends, end)
    return total


def _place(plan: _Plan) -> None:
    """Choose coordinates: rows below each other, items near the middle of their neighbours."""
    for row in plan.rows:
        left = 0.0
        for item in row:
            plan.x[item] = left + plan.width(item) / 2
            left += plan.width(item) + SIDE_GAP
    for turn in range(_STRAIGHTENINGS):
        down = turn % 2 == 0
        for row in plan.rows if down else reversed(plan.rows):
            near = (
                (plan.above, plan.below) if turn >= _STRAIGHTENINGS // 2 else ((plan.above,) if down else (plan.below,))
            )
            _straighten(plan, row, [_wanted(plan, item, near) for item in row])
    top = 0.0
    for row in plan.rows:
        plan.tops.append(top)
        top += max((plan.boxes[item].height for item in row if isinstance(item, str)), default=0) + RANK_GAP
    left = min((plan.x[item] - plan.width(item) / 2 for item in plan.x), default=0.0)
    plan.x = {item: x - left for item, x in plan.x.items()}


def _wanted(plan: _Plan, item: _Item, near: Sequence[Mapping[_Item, Sequence[_Item]]]) -> float:
    """Return where an item would be best: in the middle of its neighbours, of which slots weigh more."""
    found = [one for kind in near for one in kind.get(item, ())]
    if isinstance(item, _Slot) and item.is_back and plan.ranks[item.target] == item.rank:
        return plan.x[item.target] + plan.width(item.target) / 2 + SIDE_GAP
    weights = [_weight(item, one) for one in found]
    if not found:
        return plan.x[item]
    return sum(plan.x[one] * weight for one, weight in zip(found, weights, strict=True)) / sum(weights)


def _weight(one: _Item, other: _Item) -> float:
    slots = [item for item in (one, other) if isinstance(item, _Slot)]
    return _WEIGHTS[len(slots)] / (_ASIDE if len(slots) == 1 and slots[0].group else 1)


def _straighten(plan: _Plan, row: Sequence[_Item], wanted: Sequence[float]) -> None:
    """Move a row's items as near as possible to where they want to be, in order and apart (least squares)."""
    offsets, left = list[float](), 0.0
    for number, item in enumerate(row):
        before = row[number - 1] if number else None
        left += (plan.width(before) + plan.width(item)) / 2 + SIDE_GAP if before is not None else 0.0
        offsets.append(left)
    blocks: list[tuple[float, int]] = []  # sum of what its items want, and their number
    for want, offset in zip(wanted, offsets, strict=True):
        total, count = want - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            more, many = blocks.pop()
            total, count = total + more, count + many
        blocks.append((total, count))
    means = [total / count for total, count in blocks for _ in range(count)]
    for item, mean, offset in zip(row, means, offsets, strict=True):
        plan.x[item] = mean + offset


def _route(plan: _Plan, link: Link, *, is_back: bool) -> Sequence[Point]:
    source, target = plan.boxes[link.source], plan.boxes[link.target]
    top, into = plan.tops[plan.ranks[link.source]], plan.tops[plan.ranks[link.target]]
    x, end = plan.x[link.source], plan.x[link.target]
    if is_back:
        slots = _slots(plan, link, is_back=True)
        return _upwards(plan, slots, Point(x, top + source.height / 2), Point(end, into + target.height / 2), link)
    x += (link.out - 0.5) * source.width
    points = [Point(x, top + source.height), Point(x, _bottom(plan, plan.ranks[link.source]))]
    for slot in _slots(plan, link, is_back=False):
        points += [Point(plan.x[slot], plan.tops[slot.rank]), Point(plan.x[slot], _bottom(plan, slot.rank))]
    return _without_repeats([*points, Point(end, into)])


def _upwards(plan: _Plan, slots: Sequence[_Slot], source: Point, target: Point, link: Link) -> Sequence[Point]:
    """Return a way up beside the boxes: out at a side, through the slots, in at a side."""
    if not slots:
        return (source, target)
    lane = [plan.x[slot] for slot in slots]
    first, last = lane[-1], lane[0]
    points = [Point(_side(source.x, first, plan.boxes[link.source]), source.y), Point(first, source.y)]
    for slot, x in zip(reversed(slots), reversed(lane), strict=True):
        if slot is not slots[-1]:
            points.append(Point(x, _bottom(plan, slot.rank) + RANK_GAP / 2))
        if slot is not slots[0]:
            points.append(Point(x, plan.tops[slot.rank] - RANK_GAP / 2))
    points += [Point(last, target.y), Point(_side(target.x, last, plan.boxes[link.target]), target.y)]
    return _without_repeats(points)


def _side(middle: float, lane: float, box: Box) -> float:
    return middle + (box.width / 2 if lane > middle else -box.width / 2)


def _bottom(plan: _Plan, rank: int) -> float:
    return plan.tops[rank + 1] - RANK_GAP if rank + 1 < len(plan.tops) else plan.tops[rank]


def _without_repeats(points: Iterable[Point]) -> Sequence[Point]:
    kept: list[Point] = []
    for point in points:
        if not kept or kept[-1] != point:
            kept.append(point)
    return tuple(kept)


def _arrangement(
    plan: _Plan, routes: Mapping[Link, Sequence[Point]], back: frozenset[Link], crossings: int
) -> Arrangement:
    places = {
        name: Point(plan.x[name] - box.width / 2, plan.tops[plan.ranks[name]]) for name, box in plan.boxes.items()
    }
    right = max((plan.x[item] + plan.width(item) / 2 for item in plan.x), default=0.0)
    bottom = max((places[name].y + box.height for name, box in plan.boxes.items()), default=0.0)
    slots = sum(isinstance(item, _Slot) for row in plan.rows for item in row)
    return Arrangement(Box(right, bottom), places, routes, back, crossings, slots)
