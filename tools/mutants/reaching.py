"""Which tests run which lines of the kit, and how long each test takes: found by one run of all of them."""

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage, CoverageData

from tools.mutants.forks import Job, side_by_side
from tools.mutants.mutations import KIT, ROOT, Mutant

HOUR = 3600.0


@dataclass(frozen=True)
class Reach:
    """What a run of all tests showed."""

    tests: Mapping[str, Mapping[int, frozenset[str]]]
    """By file and line, the tests that run it. FILE:: stands for all tests of a file: a fixture of theirs does."""
    seconds: Mapping[str, float]
    """By test, of those that passed."""
    failed: Sequence[str]
    """The tests that fail without a change: they tell nothing of a mutant."""

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that run what is changed, those of the quickest files first."""
        lines = self.tests.get(mutant.file, {})
        reaching = frozenset[str]().union(*(lines.get(at, ()) for at in range(mutant.lines[0], mutant.lines[1] + 1)))
        found = [test for test in self.seconds if test in reaching or f"{file_of(test)}::" in reaching]
        total: dict[str, float] = {}
        for test in found:
            total[file_of(test)] = total.get(file_of(test), 0.0) + self.seconds[test]
        return sorted(found, key=lambda test: (total[file_of(test)], file_of(test)))


def file_of(test: str) -> str:
    """Return the file of a test, of its name as pytest has it."""
    return test.partition("::")[0]


@dataclass(frozen=True)
class _Recorded:
    seconds: Mapping[str, float]
    failed: frozenset[str]


class Failures:
    """A plugin of pytest that notes the tests that fail."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure, in whatever part of the test."""
        if report.failed:
            self.seen.append(report.nodeid)


class _Recorder(Failures):
    """A plugin that also records the lines that each test runs, into a file of coverage."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._coverage = Coverage(data_file=str(file), include=[f"{KIT}/*"], config_file=False)
        self._running = ""

    def run(self, items: Sequence[pytest.Item]) -> _Recorded:
        """Run these tests, in their order."""
        seconds: dict[str, float] = {}
        self._coverage.start()
        for item, following in zip(items, [*items[1:], None], strict=True):
            self._running = item.nodeid
            begun = time.perf_counter()
            self._coverage.switch_context(item.nodeid)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[item.nodeid] = time.perf_counter() - begun
        self._coverage.stop()
        self._coverage.save()
        failed = frozenset(self.seen)
        return _Recorded({test: spent for test, spent in seconds.items() if test not in failed}, failed)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Give what a fixture of several tests runs to all tests of its file."""
        if fixturedef.scope == "function":
            return (yield)
        self._coverage.switch_context(f"{file_of(self._running)}::")
        try:
            return (yield)
        finally:
            self._coverage.switch_context(self._running)


def reach_of(session: pytest.Session, folder: Path, count: int) -> Reach:
    """Run the session's tests in this many parts at the same time, and return what they reach."""
    parts = _parts(session.items, count)
    files = [folder / f"reach-{number}.coverage" for number in range(count)]
    for file in files:
        file.unlink(missing_ok=True)

    def record(number: int) -> _Recorded:
        recorder = _Recorder(files[number])
        session.config.pluginmanager.register(recorder)
        return recorder.run(parts[number])

    jobs = [Job(partial(record, number), HOUR) for number in range(count)]
    results = [ended.result for ended in side_by_side(jobs, session.config, count)]
    seconds = {test: spent for one in results if one for test, spent in one.seconds.items()}
    return Reach(_lines_of(files), seconds, sorted({test for one in results if one for test in one.failed}))


def _parts(items: Sequence[pytest.Item], count: int) -> list[list[pytest.Item]]:
    """Divide tests by their files; the parts take turns."""
    files = list(dict.fromkeys(file_of(item.nodeid) for item in items))
    part_of = {file: at % count for at, file in enumerate(files)}
    return [[item for item in items if part_of[file_of(item.nodeid)] == part] for part in range(count)]


def _lines_of(files: Sequence[Path]) -> dict[str, dict[int, frozenset[str]]]:
    found: dict[str, dict[int, set[str]]] = {}
    for file in files:
        data = CoverageData(basename=str(file))
        data.read()
        for name in data.measured_files():
            lines = found.setdefault(str(Path(name).relative_to(ROOT)), {})
            for line, tests in data.contexts_by_lineno(name).items():
                lines.setdefault(line, set()).update(test for test in tests if test)
    return {name: {at: frozenset(tests) for at, tests in lines.items()} for name, lines in found.items()}
