"""The measurement of cold starts: what it compares, and that what it runs answers. No test looks at a clock."""

import json
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree as ET

import pytest

from benchmarks.cold.aws import Aws, serving
from benchmarks.cold.contenders import CREATE, FLOOR, PEERS, PROGRAMS, Tools, contenders, requests
from benchmarks.cold.pages import plot_name, table
from benchmarks.cold.plots import Bar, plot
from benchmarks.cold.processes import Run, run
from benchmarks.cold.rounds import Place, Result, Spread, places, results_of
from benchmarks.page import PAGE, PLOTS
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


@pytest.fixture(scope="module")
def found() -> Iterator[Mapping[Tools, Place]]:
    with places() as made:
        yield made


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in REQUESTS if name.startswith("tools/list")])
def test_function_mcp_lists_its_tools_with_the_calls_of_the_floor_and_one_for_who_is_blocked(
    found: Mapping[Tools, Place], name: str
) -> None:
    request = REQUESTS[name]
    place = found[request.tools]

    ours = [run(form, request.event, place.aws) for form in place.forms]
    least = run(contenders(request, ())[0], request.event, place.aws)

    assert all("wait_and_echo" in {tool["name"] for tool in one.answer["result"]["tools"]} for one in ours)
    who_is_blocked = int(request.tools is Tools.TABLE)  # what the release answers by itself waits for no list
    assert all(len(one.aws_calls) <= len(least.aws_calls) + who_is_blocked for one in ours)


@pytest.mark.long
def test_a_contender_that_answers_with_an_error_stops_the_measurement(found: Mapping[Tools, Place]) -> None:
    function = found[Tools.TABLE].forms[0]

    with serving(Aws()) as aws, pytest.raises(RuntimeError, match=r"Stepwire did not answer: .*Unknown tool"):
        run(function, CREATE, aws)


# Modules: of Python 3.11 to 3.14. Bytes: of the answer.
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "calls", "modules", "size"),
    [
        ("server/discover", (), 230, 1_500),
        ("tasks/get", ("GetItem", "GetItem"), 450, 400),
        (
            "tools/call that starts a workflow",
            ("GetItem", "GetItem", "UpdateItem", "PutItem", "StartExecution"),
            460,
            900,
        ),
        ("tools/list, the catalog in the package", (), 230, 9_000),
        ("tools/list, the catalog in the table", ("GetItem", "GetItem", "BatchGetItem"), 450, 9_000),
    ],
)
def test_what_a_cold_request_imports_calls_and_answers(
    found: Mapping[Tools, Place], name: str, calls: tuple[str, ...], modules: int, size: int
) -> None:
    usual = found[Tools.ANYWHERE]
    created = run(usual.forms[0], CREATE, usual.aws).answer["result"]["task"]["taskId"]
    request = next(one for one in requests(created) if one.name == name)
    place = found[request.tools]

    taken = run(place.forms[0], request.event, place.aws)

    assert taken.aws_calls == calls
    assert taken.modules <= modules
    assert len(json.dumps(taken.answer)) <= size
