"""The drawing of a state machine: a table of definitions, and what holds for each."""

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from packages.local.tests.console.machines import MACHINES, Json, machine, names_in, passing, sixty, text
from stepwire_local.console.definitions import END, START, condition_of
from stepwire_local.console.layers import Point
from stepwire_local.console.layout import Drawing, Frame, Node, as_json, drawing_of

NEAR = 0.01  # pixels


@pytest.fixture(params=MACHINES, ids=str)
def definition(request: pytest.FixtureRequest) -> Json:
    return MACHINES[request.param]


@pytest.fixture
def drawing(definition: Json) -> Drawing:
    return drawing_of(text(definition))


def bounds(one: Node | Frame) -> tuple[float, float, float, float]:
    return one.place.x, one.place.y, one.place.x + one.size.width, one.place.y + one.size.height


def contains(outer: Node | Frame, inner: Node | Frame) -> bool:
    left, top, right, bottom = bounds(inner)
    x, y, end, low = bounds(outer)
    return x < left and y < top and right < end and bottom < low


def overlap(one: Node | Frame, other: Node | Frame) -> bool:
    left, top, right, bottom = bounds(one)
    x, y, end, low = bounds(other)
    return left < end - NEAR and x < right - NEAR and top < low - NEAR and y < bottom - NEAR


def is_on(point: Point, node: Node) -> bool:
    """Tell whether a point is on the border of a box."""
    left, top, right, bottom = bounds(node)
    within = left - NEAR <= point.x <= right + NEAR and top - NEAR <= point.y <= bottom + NEAR
    is_near = min(abs(point.x - left), abs(point.x - right), abs(point.y - top), abs(point.y - bottom)) < NEAR
    return within and is_near


def test_each_state_is_there_once(definition: Json, drawing: Drawing) -> None:
    names = sorted(node.name for node in drawing.nodes if node.name not in (START, END))

    assert names == sorted(names_in(definition))


def test_no_boxes_overlap_but_a_container_and_what_is_in_it(drawing: Drawing) -> None:
    beside = [pair for pair in combinations(drawing.nodes, 2) if not is_inside(drawing, *pair)]

    assert [(one.name, other.name) for one, other in beside if overlap(one, other)] == []
    assert [
        pair for pair in combinations(drawing.frames, 2) if pair[0].parent == pair[1].parent and overlap(*pair)
    ] == []


def is_inside(drawing: Drawing, one: Node, other: Node) -> bool:
    return one.name in ancestors(drawing, other) or other.name in ancestors(drawing, one)


def ancestors(drawing: Drawing, node: Node) -> Iterator[str]:
    parents = {each.name: each.parent for each in drawing.nodes}
    name = node.parent
    while name is not None:
        yield name
        name = parents[name]


def test_branches_are_inside_their_parents(drawing: Drawing) -> None:
    nodes = {node.name: node for node in drawing.nodes}

    for node in drawing.nodes:
        if node.parent is not None:
            assert contains(nodes[node.parent], node)
            assert any(contains(frame, node) for frame in drawing.frames if frame.parent == node.parent)
    for frame in drawing.frames:
        assert contains(nodes[frame.parent], frame)


def test_ways_connect_their_states_and_cross_no_other_box(drawing: Drawing) -> None:
    nodes = {node.name: node for node in drawing.nodes}

    for path in drawing.paths:
        assert is_on(path.points[0], nodes[path.way.source])
        assert is_on(path.points[-1], nodes[path.way.target])
        ends = {path.way.source, path.way.target}
        inner = [
            node for node in drawing.nodes if node.name not in ends and nodes[path.way.source].parent == node.parent
        ]
        assert [node.name for node in inner if any(within(point, node) for point in path.points)] == []


def within(point: Point, node: Node) -> bool:
    left, top, right, bottom = bounds(node)
    return left + NEAR < point.x < right - NEAR and top + NEAR < point.y < bottom - NEAR


def test_everything_is_inside_the_picture(drawing: Drawing) -> None:
    for node in drawing.nodes:
        left, top, right, bottom = bounds(node)
        assert 0 <= left < right <= drawing.size.width
        assert 0 <= top < bottom <= drawing.size.height
    for point in (point for path in drawing.paths for point in path.points):
        assert 0 <= point.x <= drawing.size.width
        assert 0 <= point.y <= drawing.size.height


def test_ways_lead_down_unless_they_close_a_loop(drawing: Drawing) -> None:
    nodes = {node.name: node for node in drawing.nodes}

    for path in drawing.paths:
        is_down = nodes[path.way.source].place.y < nodes[path.way.target].place.y
        assert is_down is not path.is_back


def test_a_machine_of_sixty_states_is_readable() -> None:
    # A guard on counts, for clocks differ: each slot and each crossing costs time and makes the picture harder to read.
    drawn = drawing_of(text(sixty()))

    assert len(names_in(sixty())) == 60
    assert drawn.crossings <= 12
    assert drawn.slots <= 80
    assert drawn.size.width <= 1600


def test_forty_handlers_make_one_line() -> None:
    states: Json = {f"S{n}": passing(f"S{n + 1}", Catch=[{"ErrorEquals": ["X"], "Next": "Failed"}]) for n in range(40)}

    drawn = drawing_of(text({"StartAt": "S0", "States": {**states, "S40": passing(), "Failed": {"Type": "Fail"}}}))

    assert drawn.slots <= 42
    assert drawn.size.width < 500


def test_a_definition_has_one_drawing() -> None:
    assert as_json(drawing_of(text(sixty()))) == as_json(drawing_of(json.dumps(sixty(), indent=1)))


def test_ways_to_states_that_are_not_there_are_left_out() -> None:
    drawn = drawing_of(text(machine("A", A=passing("Gone"))))

    assert [(path.way.source, path.way.target) for path in drawn.paths] == [(START, "A")]


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
