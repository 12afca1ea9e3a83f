"""The official suite: two versions of one npm package, run with the Node.js that comes as a Python package.

Every command has a time limit, and a run without a report is a failed run.
"""

import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tests.conformance.scenarios import EXTENSION, Scenario
from tests.npm import node

FOLDER: Final = Path(__file__).parent
# The names under which they are installed.
VERSIONS: Final[Mapping[str, str]] = {
    name: wanted.rpartition("@")[2]
    for name, wanted in json.loads((FOLDER / "package.json").read_text())["dependencies"].items()
}
_LIST_SECONDS: Final = 30
_SCENARIO_SECONDS: Final = 60
# The suite adds this check to every scenario; alone it proves nothing about the scenario.
_ALWAYS_THERE: Final = frozenset({"wire-schema-valid"})


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a scenario."""

    scenario: Scenario
    passed: int = 0
    failed: int = 0
    warned: int = 0
    checked_something: bool = False
    bad_checks: frozenset[str] = frozenset()
    """The checks that failed or warned."""
    complaints: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether something was checked, and nothing failed or warned."""
        return self.checked_something and not self.failed and not self.warned


def listed(package: str, era: str) -> frozenset[str]:
    """Return the server scenarios of a package for an era."""
    chosen = [] if era == EXTENSION else ["--spec-version", era]
    output = node(FOLDER, [*_command(package), "list", "--server", *chosen], _LIST_SECONDS).stdout
    found = re.findall(r"^ +- (\S+)(?: \[(.*)\])?$", output, re.MULTILINE)
    return frozenset(name for name, tags in found if (tags == EXTENSION) == (era == EXTENSION))


def run(scenario: Scenario, url: str) -> Report:
    """Run one scenario against a server."""
    era = [] if scenario.era == EXTENSION else ["--spec-version", scenario.era]
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["server", "--url", url, "--scenario", scenario.name, *era, "--output-dir", folder]
        try:
            ended = node(FOLDER, [*_command(scenario.package), *arguments], _SCENARIO_SECONDS)
        except subprocess.TimeoutExpired:
            return Report(scenario, failed=1, complaints=(f"not done after {_SCENARIO_SECONDS} seconds",))
        checks = [check for path in Path(folder).glob("*/checks.json") for check in json.loads(path.read_text())]
    report = report_of(scenario, checks)
    if ended.returncode and not report.failed:
        last_words = "".join((ended.stderr or ended.stdout).strip().splitlines()[-1:])
        return replace(report, failed=1, complaints=(f"exit code {ended.returncode}: {last_words}",))
    return report


def report_of(scenario: Scenario, checks: list[dict[str, Any]]) -> Report:
    """Summarize the checks of a scenario."""
    count = Counter(check["status"] for check in checks)
    bad = [check for check in checks if check["status"] in {"FAILURE", "WARNING"}]
    complaints = (
        f"{check['status'].lower()} {check['id']}: {check.get('errorMessage') or check['description']}" for check in bad
    )
    return Report(
        scenario,
        passed=count["SUCCESS"],
        failed=count["FAILURE"],
        warned=count["WARNING"],
        checked_something=any(check["status"] == "SUCCESS" and check["id"] not in _ALWAYS_THERE for check in checks),
        bad_checks=frozenset(check["id"] for check in bad),
        complaints=tuple(complaints),
    )


def _command(package: str) -> list[str]:
    return [str(FOLDER / "node_modules" / package / "dist" / "index.js")]
