"""The drawing of a state machine: a table of definitions, and what holds for each. The page's modules draw, in Node."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest

from packages.local.tests.console.machines import MACHINES, Json, machine, names_in, passing, sixty
from stepwire_local.console import definitions
from stepwire_local.console.definitions import END, START, condition_of
from tests.waiting import HANG_GUARD

STATIC: Final = Path(definitions.__file__).parent / "static"
DRAW: Final = Path(__file__).parent / "draw.mjs"
DAGRE: Final = "b0ddaf4af1417bec9bd89373a3a3987f081727d6cc6d95fc40dbf85a19bdf3b0"
"""Of dist/dagre.esm.js in @dagrejs/dagre 3.1.3."""
NEAR: Final = 0.01  # pixels
NODE: Final = shutil.which("node")

needs_node = pytest.mark.skipif(NODE is None, reason="The page's modules run in Node; there is none here.")


@dataclass(frozen=True)
class Rectangle:
    """A drawn state, or the frame around a branch, which has no name."""

    name: str
    parent: str | None
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Way:
    """A drawn way."""

    source: str
    target: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Drawing:
    """What the page draws."""

    width: float
    height: float
    nodes: Sequence[Rectangle]
    frames: Sequence[Rectangle]
    paths: Sequence[Way]


def draw(folder: Path, *machines: Json) -> list[Drawing]:
    """Draw definitions with copies of the page's modules, of which Node is told that they are modules."""
    for file in (STATIC / "layout.js", STATIC / "dagre.esm.js", DRAW):
        shutil.copy(file, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    scopes = [definitions.drawable(definitions.whole(one)) for one in machines]
    ran = subprocess.run(
        [NODE or "node", DRAW.name],
        cwd=folder,
        input=json.dumps(scopes),
        capture_output=True,
        text=True,
        timeout=HANG_GUARD,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return list(map(_read, json.loads(ran.stdout)))


def _read(drawn: Mapping[str, Any]) -> Drawing:
    paths = [
        Way(one["source"], one["target"], [(point["x"], point["y"]) for point in one["points"]])
        for one in drawn["edges"]
    ]
    nodes, frames = ([_rectangle(one) for one in drawn[kind]] for kind in ("nodes", "frames"))
    return Drawing(drawn["width"], drawn["height"], nodes, frames, paths)


def _rectangle(one: Mapping[str, Any]) -> Rectangle:
    return Rectangle(one.get("name", ""), one["parent"], one["x"], one["y"], one["x"] + one["w"], one["y"] + one["h"])


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawing]:
    drawn = draw(tmp_path_factory.mktemp("page"), *MACHINES.values())
    return dict(zip(MACHINES, drawn, strict=True))


@pytest.fixture(params=MACHINES, ids=str)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def drawing(name: str, drawings: dict[str, Drawing]) -> Drawing:
    return drawings[name]


def contains(outer: Rectangle, inner: Rectangle) -> bool:
    is_wider = outer.left < inner.left and inner.right < outer.right
    return is_wider and outer.top < inner.top and inner.bottom < outer.bottom


def overlap(one: Rectangle, other: Rectangle) -> bool:
    across = one.left < other.right - NEAR and other.left < one.right - NEAR
    return across and one.top < other.bottom - NEAR and other.top < one.bottom - NEAR


def is_within(point: tuple[float, float], box: Rectangle, more: float = 0) -> bool:
    x, y = point
    return box.left - more < x < box.right + more and box.top - more < y < box.bottom + more


def is_on(point: tuple[float, float], box: Rectangle) -> bool:
    """Tell whether a point is on the border of a box."""
    return is_within(point, box, NEAR) and not is_within(point, box, -NEAR)


@needs_node
def test_each_state_is_there_once(name: str, drawing: Drawing) -> None:
    names = sorted(node.name for node in drawing.nodes if node.name not in (START, END))

    assert names == sorted(names_in(MACHINES[name]))


@needs_node
def test_no_boxes_overlap_but_a_container_and_what_is_in_it(drawing: Drawing) -> None:
    beside = [pair for pair in combinations(drawing.nodes, 2) if not is_inside(drawing, *pair)]

    assert [(one.name, other.name) for one, other in beside if overlap(one, other)] == []
    assert [
        pair for pair in combinations(drawing.frames, 2) if pair[0].parent == pair[1].parent and overlap(*pair)
    ] == []


def is_inside(drawing: Drawing, one: Rectangle, other: Rectangle) -> bool:
    return one.name in ancestors(drawing, other) or other.name in ancestors(drawing, one)


def ancestors(drawing: Drawing, node: Rectangle) -> Iterator[str]:
    parents = {each.name: each.parent for each in drawing.nodes}
    name = node.parent
    while name is not None:
        yield name
        name = parents[name]


@needs_node
def test_branches_are_inside_their_parents(drawing: Drawing) -> None:
    nodes = {node.name: node for node in drawing.nodes}

    for node in drawing.nodes:
        if node.parent is not None:
            assert contains(nodes[node.parent], node)
            assert any(contains(frame, node) for frame in drawing.frames if frame.parent == node.parent)
    for frame in drawing.frames:
        assert contains(nodes[frame.parent or ""], frame)


@needs_node
def test_ways_connect_their_states_and_cross_no_other_box(drawing: Drawing) -> None:
    nodes = {node.name: node for node in drawing.nodes}

    for path in drawing.paths:
        source, target = nodes[path.source], nodes[path.target]
        assert is_on(path.points[0], source)
        assert is_on(path.points[-1], target)
        inner = [node for node in drawing.nodes if node not in (source, target) and node.parent == source.parent]
        assert [node.name for node in inner if any(is_within(point, node, -NEAR) for point in path.points)] == []


@needs_node
def test_everything_is_inside_the_picture(drawing: Drawing) -> None:
    picture = Rectangle("", None, 0, 0, drawing.width, drawing.height)

    assert [node.name for node in drawing.nodes if not contains(picture, node)] == []
    assert [point for path in drawing.paths for point in path.points if not is_within(point, picture)] == []


@needs_node
def test_a_machine_of_sixty_states_is_readable(drawings: dict[str, Drawing]) -> None:
    assert len(names_in(sixty())) == 60
    assert drawings["sixty states"].width <= 1600


@needs_node
def test_forty_handlers_make_one_line(tmp_path: Path) -> None:
    states: Json = {f"S{n}": passing(f"S{n + 1}", Catch=[{"ErrorEquals": ["X"], "Next": "Failed"}]) for n in range(40)}

    (drawn,) = draw(tmp_path, {"StartAt": "S0", "States": {**states, "S40": passing(), "Failed": {"Type": "Fail"}}})

    last = {tuple(way.points[-2:]) for way in drawn.paths if way.target == "Failed"}
    assert len(last) == 1


@needs_node
def test_a_definition_has_one_drawing(tmp_path: Path) -> None:
    one, again = draw(tmp_path, sixty(), sixty())

    assert one == again


def test_ways_to_states_that_are_not_there_are_left_out() -> None:
    scope = definitions.whole(machine("A", A=passing("Gone")))

    assert [(way.source, way.target) for way in scope.ways] == [(START, "A")]


def test_the_library_is_the_one_that_was_published() -> None:
    assert sha256((STATIC / "dagre.esm.js").read_bytes()).hexdigest() == DAGRE
    assert "Copyright (c) 2012-2014 Chris Pettitt" in (STATIC / "dagre.esm.js.LEGAL.txt").read_text()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"Condition": "{% $a = 1 %}", "Next": "B"}, "$a = 1"),
        ({"Variable": "$.a", "NumericEquals": 1, "Next": "B"}, "$.a NumericEquals 1"),
        ({"Not": {"Variable": "$.a", "IsPresent": True}, "Next": "B"}, "not ($.a IsPresent True)"),
        (
            {"And": [{"Variable": "$.a", "IsNull": True}, {"Variable": "$.b", "IsNull": False}]},
            "($.a IsNull True) and ($.b IsNull False)",
        ),
    ],
)
def test_conditions_are_in_words(rule: dict[str, Any], words: str) -> None:
    assert condition_of(rule) == words
