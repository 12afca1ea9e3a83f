"""The comparison of poll hints: the goal is reached, and the page has the figures. Time is simulated."""

import json
from xml.etree import ElementTree as ET

import pytest

from benchmarks.hints.__main__ import groups, tables
from benchmarks.hints.durations import RecordedTool
from benchmarks.hints.hints import DEFAULT, HINTS, WRAPPED, Hint, fixed
from benchmarks.hints.pages import PLOT, plot
from benchmarks.hints.simulation import Comparison, Outcome, compare, simulate
from benchmarks.page import PAGE, PLOTS

ALL, PROGRAMS = groups()


@pytest.fixture(scope="module")
def compared() -> dict[str, list[Comparison]]:
    return {name: [compare(hint, some) for hint in HINTS] for name, some in groups().items()}


def test_a_client_polls_until_the_task_has_ended() -> None:
    tools = [RecordedTool("a", (), [0.5, 5.0, 6.0]), RecordedTool("b", (), [9.0])]

    outcome = simulate(fixed(2), tools)

    assert outcome == Outcome(wasted=(4 / 3 + 4) / 2, delay=1.0)


@pytest.mark.long
@pytest.mark.parametrize("group", [ALL, PROGRAMS])
@pytest.mark.parametrize("hint", [DEFAULT, WRAPPED])
def test_the_hint_wastes_a_third_of_the_polls_of_a_fixed_one(
    compared: dict[str, list[Comparison]], hint: Hint, group: str
) -> None:
    found = next(one for one in compared[group] if one.hint is hint)

    assert found.fixed.wasted >= 3 * found.outcome.wasted
    assert found.outcome.delay <= 1.5 * found.fixed.delay


@pytest.mark.long
def test_the_page_and_the_plot_have_these_figures(compared: dict[str, list[Comparison]]) -> None:
    drawn = plot(compared)

    assert tables(compared) in PAGE.read_text(encoding="utf-8")
    assert (PLOTS / PLOT).read_text(encoding="utf-8") == drawn
    assert len(list(ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}circle"))) == 2 * len(HINTS)


def test_the_durations_name_their_origin() -> None:
    found = json.loads((PAGE.parents[1] / "benchmarks/hints/durations.json").read_text(encoding="utf-8"))

    assert found["origin"].startswith("https://github.com/wfcommons/WfInstances at ")
    assert all(len(seconds) >= 10 for kind in ("programs", "workflows") for seconds in found[kind].values())
