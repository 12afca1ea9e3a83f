"""Try mutants: run the tests that reach each, until one fails, or until one of each suite has failed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

import pytest

from tests import waiting
from tools.mutants.forks import Job, side_by_side
from tools.mutants.mutations import Mutant
from tools.mutants.patching import Functions
from tools.mutants.reaching import Failures, Reach

Outcome = Literal["killed", "hung", "survived", "unreached"]
"""Hung: the tests did not end in their time, which whoever runs them would see. Unreached: no test runs the lines."""


@dataclass(frozen=True)
class Tried:
    """What became of a mutant."""

    mutant: Mutant
    outcome: Outcome
    killers: Sequence[str]
    """The tests that failed: the first, or the first of each suite."""
    tests: int
    """How many tests reach it."""
    seconds: float

    def written(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "mutant": self.mutant.name,
            "module": self.mutant.module,
            "line": self.mutant.lines[0],
            "difference": self.mutant.difference(),
            "outcome": self.outcome,
            "killers": list(self.killers),
            "tests": self.tests,
            "seconds": round(self.seconds, 2),
        }


HANG_GUARD: Final = 10.0
"""Seconds after which a test's wait fails. The kit under a mutant is often one that never answers."""


def suite_of(test: str) -> str:
    """Return the suite of a test: the first two folders of its path, such as tests/unit."""
    return "/".join(test.split("/")[:2])


def try_all(
    mutants: Iterable[Mutant], session: pytest.Session, reach: Reach, count: int, limit: float, *, by_suite: bool
) -> Iterator[Tried]:
    """Try mutants, this many at a time, each for at most `limit` seconds, and yield them as they end."""
    functions = Functions()
    items = {item.nodeid: item for item in session.items}
    begun: list[tuple[Mutant, int]] = []

    def jobs() -> Iterator[Job[list[str]]]:
        for mutant in mutants:
            tests = reach.of(mutant)
            begun.append((mutant, len(tests)))
            groups = [[items[test] for test in group] for group in _groups(tests, by_suite=by_suite)]
            yield Job(partial(_killers, mutant, functions, groups, session.config), limit)

    for ended in side_by_side(jobs(), session.config, count):
        mutant, tests = begun[ended.number]
        killers = ended.result or []
        yield Tried(mutant, _outcome(ended.result, tests), killers, tests, ended.seconds)


def _outcome(killers: Sequence[str] | None, tests: int) -> Outcome:
    if not tests:
        return "unreached"
    if killers is None:
        return "hung"
    return "killed" if killers else "survived"


def _groups(tests: Sequence[str], *, by_suite: bool) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for test in tests:
        groups.setdefault(suite_of(test) if by_suite else "", []).append(test)
    return list(groups.values())


def _killers(
    mutant: Mutant, functions: Functions, groups: Sequence[Sequence[pytest.Item]], config: pytest.Config
) -> list[str]:
    """Return the tests that fail under a mutant, the first of each group."""
    functions.replace(mutant)
    tests_wait: Any = waiting
    tests_wait.HANG_GUARD = HANG_GUARD
    failures = Failures()
    config.pluginmanager.register(failures)
    found: list[str] = []
    for group in groups:
        failures.seen.clear()
        found += _first_failure(group, failures)
    return found


def _first_failure(items: Sequence[pytest.Item], failures: Failures) -> list[str]:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.seen:
            session: Any = item.session
            session._setupstate.teardown_exact(None)  # noqa: SLF001 - what one suite set up is not for the next
            return failures.seen[:1]
    return []
