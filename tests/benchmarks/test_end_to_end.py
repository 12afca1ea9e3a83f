"""The measurement from end to end: what it computes, and that each way brings the end. No test looks at a clock."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

from benchmarks.cold.rounds import Spread
from benchmarks.end_to_end.measure import Delay, Followed, delay_of
from benchmarks.end_to_end.pages import PLOT, bars, table
from benchmarks.end_to_end.stack import Stack, serving
from benchmarks.end_to_end.ways import WAYS, Seen, Visit
from benchmarks.page import PAGE, PLOTS
from tools.load.clients import Endpoint


def test_a_delay_begins_with_the_end_of_the_workflow() -> None:
    followed = [
        Followed(Seen("a", known, wasted), 100.0, 100.5) for known, wasted in ((101.0, 2), (103.0, 4), (102.0, 3))
    ]

    assert delay_of("a way", followed) == Delay("a way", 3, 0.5, Spread(2, 1, 3), 3, 3)


def test_the_page_has_a_row_for_each_way() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("<!-- end to end -->\n")[2].partition("<!-- end -->")[0]

    assert table([]).rstrip("\n") in text
    assert all(f"\n| {way} |" in text for way in WAYS)
    assert (PLOTS / PLOT).is_file()


def test_a_plot_has_a_bar_for_each_way() -> None:
    drawn = bars([Delay(way, 1, 0.1, Spread(1, 0.5, 2), 2, 3) for way in WAYS])

    assert len(list(ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}rect"))) == len(WAYS)


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with serving() as served:
        yield served


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_each_way_brings_the_end_of_a_task(stack: Stack, way: str) -> None:
    seen = WAYS[way](Visit(Endpoint(stack.url(), "nobody", []), seconds=1, phase=0.5))

    assert seen.known_at >= stack.ends()[seen.task_id]
