"""`make mutants`: try mutants of the kit's modules, keep what became of them in .mutants/tried.jsonl, write the page.

A run goes on where another stopped: what is in that file is not tried again. Remove it after the kit or tests change.

Exit code 0, whatever was found; 1 where the tests cannot be collected.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tools.mutants.mutations import ROOT, chosen, files_of
from tools.mutants.page import PAGE, equivalents, latest, page
from tools.mutants.reaching import reach_of
from tools.mutants.trying import Tried, try_all

CORE: Final = ("tasks", "engine", "protocol", "schemas", "catalog", "codec")
SUITES: Final = ("unit", "server", "extras", "model", "faults", "integration", "fuzz")
# Collected here, run in the children; their output would mix.
PYTEST: Final = ("-q", "--capture=sys", "-p", "no:cacheprovider", "-p", "no:xdist")


class _Tries:
    """A plugin of pytest that tries mutants in place of running the tests."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._terminal = os.dup(1)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the mutants that the options choose."""
        options = self._options
        count = os.cpu_count() or 1
        reach = reach_of(session, options.folder, count)
        self._say(f"{len(reach.seconds)} tests.", *(f"Fails without a change: {test}" for test in reach.failed))
        results = options.folder / "tried.jsonl"
        known = set[str]() if options.only else tried_in(results)
        mutants = chosen(files_of(options.modules), options.sample, options.seed, options.only)
        mutants = (one for one in mutants if one.name not in known)
        with results.open("a", encoding="utf-8") as file:
            for tried in try_all(mutants, session, reach, count, options.seconds, by_suite=options.by_suite):
                file.write(json.dumps(tried.written()) + "\n")
                file.flush()
                self._say(_line(tried))
        return True

    def _say(self, *lines: str) -> None:
        os.write(self._terminal, "".join(f"{line}\n" for line in lines).encode())


def tried_in(results: Path) -> set[str]:
    """Return the names of the mutants that an earlier run has tried."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return {row["mutant"] for row in latest(lines)}


def _line(tried: Tried) -> str:
    return f"{tried.outcome:9} {tried.mutant.name:44} {tried.seconds:5.1f} s  {' '.join(tried.killers)}"


def main(arguments: Sequence[str]) -> int:
    """Try mutants as the arguments say, or write the page."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--modules", nargs="+", default=CORE, help="folders and files of the kit (the core)")
    parser.add_argument("--tests", nargs="+", default=[f"tests/{suite}" for suite in SUITES])
    parser.add_argument("--sample", type=int, default=2000, help="of so many mutants (2000); 0 is all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=(), help="these mutants, such as tasks/runs.py:169")
    parser.add_argument("--by-suite", action="store_true", help="find the first failure of each suite")
    parser.add_argument("--seconds", type=float, default=60.0, help="for a mutant, before it counts as hung (60)")
    parser.add_argument("--folder", type=Path, default=ROOT / ".mutants")
    parser.add_argument("--page", action="store_true", help="only write docs/mutants.md from what was tried")
    options = parser.parse_args(arguments)
    options.folder.mkdir(exist_ok=True)
    if options.page:
        with (options.folder / "tried.jsonl").open(encoding="utf-8") as lines:
            PAGE.write_text(page(latest(lines), equivalents()), encoding="utf-8")
        return 0
    return min(1, pytest.main([*PYTEST, *options.tests], plugins=[_Tries(options)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
