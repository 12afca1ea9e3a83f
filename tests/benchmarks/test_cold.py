"""The measurement of cold starts: what it compares, and that what it runs answers. No test looks at a clock."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.cold.aws import Aws, serving
from benchmarks.cold.contenders import CREATE, FLOOR, PEERS, PROGRAMS, contenders, requests
from benchmarks.cold.pages import PAGE, PLOTS, plot_name, table
from benchmarks.cold.plots import Bar, plot
from benchmarks.cold.processes import Run, run
from benchmarks.cold.rounds import Result, Spread, results_of
from benchmarks.cold.stepwire_forms import registered, with_an_empty_catalog, with_its_catalog
from tests.cold_start import ROOT

REQUESTS = {request.name: request for request in requests("a task")}


def taken(cpu: float, wall: float = 1) -> Run:
    return Run(cpu, wall, 3, ("GetItem",), {})


def test_a_ratio_is_taken_within_a_round() -> None:
    slow_minute = {FLOOR: [taken(1), taken(10), taken(2)], "Stepwire": [taken(1.5), taken(16), taken(3)]}

    _, found = results_of(slow_minute)

    assert found == Result("Stepwire", Spread(1.5, 1.5, 1.6), Spread(1, 1, 1), 3, 3, ("GetItem",))


def test_a_plot_has_a_bar_for_each_contender_and_is_xml() -> None:
    drawn = plot("a <request>", [Bar("floor", 1, 1, 1), Bar("Stepwire & more", 0.5, 0.4, 2)], goal=0.6)

    svg = ET.fromstring(drawn)  # our own text
    widths = [float(bar.get("width", "")) for bar in svg.iter("{http://www.w3.org/2000/svg}rect")]
    assert widths == [210, 105]


@pytest.mark.parametrize("name", REQUESTS)
def test_the_page_has_the_figures_of_each_request(name: str) -> None:
    request = REQUESTS[name]
    names = [one.name for one in contenders(request, ())]

    text = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")[2].partition("<!-- end -->")[0]

    assert text.startswith(table(request, ()).rstrip("\n"))
    assert all(f"\n| {one} |" in text for one in names)
    assert (PLOTS / plot_name(request)).is_file()


@pytest.mark.parametrize("peer", PEERS)
def test_each_peer_has_a_lock_and_a_program(peer: str) -> None:
    environment, program = PEERS[peer]

    assert (ROOT / f"requirements/bench-{environment}.txt").is_file()
    assert (PROGRAMS / f"{program}.py").is_file()


@pytest.mark.parametrize("is_registered", [False, True])
def test_function_mcp_and_the_floor_answer_with_the_same_reads(tmp_path: Path, is_registered: bool) -> None:
    packaged, empty = with_its_catalog(tmp_path / "full"), with_an_empty_catalog(tmp_path / "empty")
    items = registered(tmp_path / "full") if is_registered else {}
    request = next(one for one in REQUESTS.values() if one.is_registered is is_registered and "list" in one.name)
    floor = contenders(request, ())[0]

    with serving(Aws(items)) as aws:
        ours = [run(one, request.event, aws) for one in (empty if is_registered else packaged)]
        least = run(floor, request.event, aws)

    assert {tool["name"] for one in ours for tool in one.answer["result"]["tools"]} >= {"wait_and_echo"}
    assert all(len(one.aws_calls) <= len(least.aws_calls) for one in ours)


def test_a_contender_that_answers_with_an_error_stops_the_measurement(tmp_path: Path) -> None:
    function = with_an_empty_catalog(tmp_path / "empty")[0]

    with serving(Aws()) as aws, pytest.raises(RuntimeError, match=r"Stepwire did not answer: .*Unknown tool"):
        run(function, CREATE, aws)
