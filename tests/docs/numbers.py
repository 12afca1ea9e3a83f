"""docs/numbers.md: what was counted and measured, on one page.

    python -m tests.docs.numbers            # writes the page from the recorded results; nothing is run
    python -m tests.docs.numbers --record   # counts the tests first, and the bytes of the release in dist/

The rule: no number is written by hand. Each is read where the command that found it has left it: a file of results, a
table of another page, or numbers.json, which --record writes.
"""

import json
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from benchmarks.cost import idle
from tests.conformance.scenarios import read_scenarios
from tests.docs.pages import ROOT
from tests.faults.report import read_outcomes
from tests.server.test_rows import ROWS, WITHOUT_A_TEST
from tools.hosts.cases import CASES
from tools.hosts.hosts import HOSTS

PAGE: Final = ROOT / "docs/numbers.md"
RECORD: Final = Path(__file__).parent / "numbers.json"
_KINDS: Final = {"in `make test`": (), "with the long ones, `make test ALL=1`": ("-m", "not deployed")}
_IN_A_FILE: Final = re.compile(r"^\S+\.py: (\d+)$", re.MULTILINE)

_NOT_BY_ITSELF: Final = ("replay of the dead letter", "repeated command", "ends with an error")
"""Words of outcomes in which an operator acts, or a task ends with an error."""
_HEAD: Final = """\
`python -m tests.docs.numbers` writes this page from recorded results, and a test holds the page to them: no number
here is written by hand. *From* is the command that finds a number again. The tests and the release were counted on
{date}; cold starts and delays were measured on the days that [Performance](performance.md) names. Nothing was
measured on an AWS account."""


class Number(NamedTuple):
    """A row of the page."""

    what: str
    number: str
    command: str
    """The command that found it."""


def page() -> str:
    """Return the text of the page."""
    record = recorded()
    sections = {
        "MCP": protocol(),
        "Clients": clients(),
        "Faults": faults(),
        "Cost": cost(),
        "Time": times(),
        "Tests and the release": tests(record),
    }
    lines = ["# Numbers", "", _HEAD.format(date=record["date"])]
    for title, rows in sections.items():
        lines += ["", f"## {title}", "", "| what | number | from |", "|---|---|---|"]
        lines += [f"| {row.what} | {row.number} | `{row.command}` |" for row in rows]
    return "\n".join(lines) + "\n"


def recorded() -> dict[str, Any]:
    """Return what --record has left."""
    return cast(dict[str, Any], json.loads(RECORD.read_text(encoding="utf-8")))


def protocol() -> Iterator[Number]:
    """Yield the scenarios of the official suite, and the rules of the protocol."""
    scenarios = read_scenarios()
    passed = Counter((one.package, one.era) for one in scenarios if one.reason_not_served is None)
    whole = Counter((one.package, one.era) for one in scenarios)
    for (package, era), number in whole.items():
        others = "the others are not served, each with its reason"
        which = "scenarios of extensions" if era == "extension" else f"scenarios for {era}"
        what = (
            f"Official MCP conformance suite ({package.partition('-')[2]}), {which}: passed without a warning; {others}"
        )
        yield Number(what, f"{passed[package, era]} of {number}", "make conformance")
    tested = len(ROWS) - len(WITHOUT_A_TEST)
    what = "Rules of the protocol, its extensions and Stepwire's own that a test names (the others have a reason)"
    yield Number(what, f"{tested} of {len(ROWS)}", "python -m pytest tests/server/test_rows.py")


def clients() -> Iterator[Number]:
    """Yield the hosts that were driven, and the clients whose behaviour is known."""
    yield Number("Hosts, driven with a scripted model", str(len(HOSTS)), "make hosts")
    yield Number("Cases that each host is driven through, where they apply", str(len(CASES)), "make hosts")
    known = _table("docs/clients.md", "## By client\n", "\nMeasured")
    yield Number(
        "Released clients and SDKs in the table of [Clients](clients.md#by-client)",
        str(len(known)),
        "python -m pytest tests/clients",
    )


def faults() -> Iterator[Number]:
    """Yield the faults that somebody notices, and what a month of bad weather does."""
    outcomes = read_outcomes()
    command = "python -m tests.faults"
    yield Number("Faults at one call to AWS that a caller notices or that need repair", str(len(outcomes)), command)
    kept = sum(not any(word in one.returning + one.gone for word in _NOT_BY_ITSELF) for one in outcomes.values())
    yield Number("of these, repaired by retries, events and the sweep alone, with the right result", str(kept), command)
    weather = _table("docs/reliability.md", "<!-- weather", "<!-- end of weather -->", headed=True)
    for what, number in weather:
        if what.startswith(("calls,", "lost,")):
            yield Number(f"In bad weather of AWS: {what}", number, "python -m tests.faults --weather")


def cost() -> Iterator[Number]:
    """Yield what an idle stack and a thousand tasks cost."""
    command = "python -m benchmarks.cost"
    yield Number("An idle stack with the defaults, US dollars a month", f"{idle.total():.2f}", command)
    yield Number("with everything on", f"{idle.total(**idle.MOST):.2f}", command)
    head, *rows = _table("docs/cost.md", "<!-- costs -->", "<!-- end -->", headed=True)
    (hinted,) = (row for row in rows if row[0] == "as hinted")
    for lasts, dollars in zip(head[1:], hinted[1:], strict=True):
        yield Number(f"A thousand tasks of {lasts}, polled as hinted, US dollars", dollars, command)


def times() -> Iterator[Number]:
    """Yield the cold starts, as ratios to the bare calls, and how late a client learns of an end."""
    for name in (
        "tools/list, the catalog in the package",
        "server/discover",
        "tasks/get",
        "tools/call that starts a workflow",
    ):
        for form, _, *_rest in (rows := _table("docs/performance.md", f"<!-- {name} -->", "<!-- end -->")):
            if form.startswith("Stepwire"):
                (ratio,) = (row[1] for row in rows if row[0] == form)
                yield Number(
                    f"Cold `{name.partition(',')[0]}`, CPU time by that of the bare calls: {form}", ratio, "make bench"
                )
    for name, _, released, _, sources, *_rest in _table("docs/performance.md", "<!-- the release -->", "<!-- end -->"):
        what = f"Cold `{name}` of the release, on Lambda's Python, CPU time by that of the bare calls"
        yield Number(what, released, "make bench-release")
        yield Number(f"{what}: its bytecode removed", sources, "make bench-release")
    for way, _, median, *_rest in _table("docs/performance.md", "<!-- end to end -->", "<!-- end -->"):
        yield Number(
            f"From the end of a workflow until the client knows: {way}, median",
            median,
            "python -m benchmarks.end_to_end",
        )


def tests(record: dict[str, Any]) -> Iterator[Number]:
    """Yield how many tests there are, and how large the release is."""
    for kind, number in record["tests"].items():
        yield Number(f"Tests {kind}", f"{number:,}", "python -m tests.docs.numbers --record")
    for name, size in record["release"].items():
        yield Number(f"Bytes of the release, {name}", f"{size:,}", "make release")


def _table(path: str, begins: str, ends: str, *, headed: bool = False) -> list[list[str]]:
    """Return the cells of the first table between two texts of a page, without its head if not wanted."""
    text = (ROOT / path).read_text(encoding="utf-8").partition(begins)[2].partition(ends)[0]
    rows = [
        [cell.strip() for cell in line.strip("|\n ").split(" | ")]
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    return [row for row in rows if not set("".join(row)) <= set("-: |")][0 if headed else 1 :]


def record() -> None:
    """Count the tests, and the bytes of the release."""
    files = [*(ROOT / "dist").glob("stepwire-*.zip")]
    if len(files) != 1:
        sys.exit(f"dist/ has {len(files)} releases, and one is measured: run `make clean` and `make release` first.")
    counted = dict[str, int]()
    for kind, words in _KINDS.items():
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *words]
        said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout
        counted[kind] = sum(map(int, _IN_A_FILE.findall(said)))
    sizes = {"the whole file": files[0].stat().st_size}
    with zipfile.ZipFile(files[0]) as archive:
        for one in archive.infolist():
            name = one.filename.removeprefix("files/").partition("-")[0]
            if name in ("McpFunction", "StepwireLayer"):
                sizes[f"the zip of {name}"] = one.file_size
    found = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "tests": counted, "release": sizes}
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    PAGE.write_text(page(), encoding="utf-8")
