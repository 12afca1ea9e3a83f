"""Run the official conformance suite against the fixture tools on the local stack: `python -m tests.conformance`.

The exit code is 1 if a required scenario fails, warns, is skipped or checks nothing; if a scenario passes that is
listed as not served; or if the suite has a scenario that is not in the list.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Collection, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Final

from stepwire.composition import EXTRAS
from stepwire_local import LocalStack, LocalStackError
from tests.conformance import suite
from tests.conformance.scenarios import OF_EXTRAS, Scenario, differences, read_scenarios
from tests.conformance.suite import Report
from tests.npm import install

_SERVED: Final = Path(__file__).parents[2] / ".stepwire" / "conformance"
"""As deep as the template itself, whose paths lead to the functions of the kit."""
AT_ONCE = 2
TRIES = 3
COLUMNS = "{:46} {:10} {:15} {:>6} {:>6} {:>6}  {}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    scenarios = read_scenarios()
    try:
        install(suite.FOLDER)
        faults = list(_differences(scenarios))
        with _server(options.url) as url:
            faults += filter(None, map(_shown, _reports(scenarios, url)))
    except (LocalStackError, subprocess.SubprocessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    _show_not_served(scenarios)
    print("", *faults, f"{len(faults)} faults" if faults else "Each scenario ended as it must.", sep="\n")
    return 1 if faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--url", help="of a server that runs already, with the same fixture tools")
    return parser


@contextmanager
def _server(url: str | None) -> Generator[str]:
    if url is not None:
        yield url
        return
    with LocalStack(_template(), variables={"EXTRAS": ",".join(EXTRAS)}) as stack:
        yield stack.url


def _template() -> Path:
    """Copy the template and its tools, with the files that extras add to the tools; return the path of the copy."""
    shutil.rmtree(_SERVED, ignore_errors=True)
    shutil.copytree(suite.FOLDER / "functions", _SERVED / "functions")
    for added in sorted(OF_EXTRAS.glob("*/conformance")):
        shutil.copytree(added, _SERVED / "functions" / "mcp" / "tools", dirs_exist_ok=True)
    return Path(shutil.copy(suite.FOLDER / "template.yaml", _SERVED))


def _differences(scenarios: Collection[Scenario]) -> Iterator[str]:
    for package, era in dict.fromkeys((one.package, one.era) for one in scenarios):
        wanted = [one for one in scenarios if (one.package, one.era) == (package, era)]
        for difference in differences(wanted, suite.listed(package, era)):
            yield f"{package}, {era}: {difference}"


def _reports(scenarios: Collection[Scenario], url: str) -> Iterator[Report]:
    """Run all scenarios; those with their own deadlines run last, when the stack is warm and idle."""
    print(COLUMNS.format("scenario", "era", "suite", "passed", "failed", "warned", ""))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(partial(suite.run, url=url), [one for one in scenarios if not one.alone])
    yield from (_tried(one, url) for one in scenarios if one.alone)


def _tried(one: Scenario, url: str) -> Report:
    """Run a scenario up to a few times until it passes, because a busy machine must not fail it."""
    for _ in range(TRIES - 1):
        report = suite.run(one, url)
        if report.is_good:
            return report
    return suite.run(one, url)


def _shown(report: Report) -> str | None:
    """Print a line for a report; return its fault."""
    one, fault = report.scenario, fault_of(report)
    verdict = "FAULT" if fault else "ok" if one.reason_not_served is None else "not served"
    version = suite.VERSIONS[one.package]
    line = COLUMNS.format(one.name, one.era, version, report.passed, report.failed, report.warned, verdict)
    print(line, *(f"    {complaint}" for complaint in report.complaints if fault), sep="\n", flush=True)
    return f"{one.package}, {one.era}: {one.name}: {fault}" if fault else None


def fault_of(report: Report) -> str | None:
    """Return what is wrong with a report, or None."""
    one = report.scenario
    if one.reason_not_served is None:
        return _fault_of_served(report)
    if not one.failing_checks:
        return "passes now: move it to must_pass" if report.is_good else None
    unexpected, passed = report.bad_checks - one.failing_checks, one.failing_checks - report.bad_checks
    if unexpected:
        return f"failed, and is not expected to: {', '.join(sorted(unexpected))}"
    return f"passes now, take it out of checks: {', '.join(sorted(passed))}" if passed else None


def _fault_of_served(report: Report) -> str | None:
    if report.failed:
        return f"{report.failed} checks failed"
    if report.warned:
        return f"{report.warned} checks gave a warning"
    return None if report.is_good else "nothing was checked"


def _show_not_served(scenarios: Collection[Scenario]) -> None:
    def reason(one: Scenario) -> str:
        return one.reason_not_served or ""

    print("\nNot served, and why:")
    for why, group in groupby(sorted(filter(reason, scenarios), key=reason), reason):
        names = ", ".join(sorted({one.name for one in group}))
        print(
            f"  {why}",
            fill(names, 110, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False),
            sep="\n",
        )


if __name__ == "__main__":
    sys.exit(main())
