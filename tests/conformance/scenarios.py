"""The scenarios of the official suite, with the expected outcome of each, as in `scenarios.yaml`.

An extra has a file of its own in the folder of its tests, with the scenarios that end otherwise where it is there.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

SCENARIOS: Final = Path(__file__).parent / "scenarios.yaml"
OF_EXTRAS: Final = Path(__file__).parents[1] / "extras"
EXTENSION: Final = "extension"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of one package, for one era."""

    package: str
    era: str
    name: str
    reason_not_served: str | None = None
    """Why it may fail; None if it must pass."""
    failing_checks: frozenset[str] = frozenset()
    """The failing checks of a scenario that is served in part; empty if it fails as a whole."""
    alone: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells a scenario from others."""
        return self.package, self.era, self.name


def read_scenarios() -> tuple[Scenario, ...]:
    """Read all scenarios, including those that are not served.

    Raises:
        ValueError: a file has a scenario twice.
    """
    found = dict[tuple[str, str, str], Scenario]()
    for path in (SCENARIOS, *sorted(OF_EXTRAS.glob("*/scenarios.yaml"))):
        scenarios = [one for entry in yaml.safe_load(path.read_text()) for one in _of_entry(entry)]
        counts = Counter(one.key for one in scenarios)
        if twice := [" ".join(key) for key, count in counts.items() if count > 1]:
            raise ValueError(f"{path} names twice: {', '.join(twice)}")
        found |= {one.key: one for one in scenarios}
    return tuple(found.values())


def _of_entry(entry: dict[str, Any]) -> Iterator[Scenario]:
    package, era, alone = entry["package"], entry["era"], entry.get("alone", [])
    for name in entry.get("must_pass", ()):
        yield Scenario(package, era, name, alone=name in alone)
    for group in entry.get("not_served", ()):
        for name in group["scenarios"]:
            yield Scenario(package, era, name, group["reason"], frozenset(group.get("checks", ())))


def differences(wanted: Collection[Scenario], listed: Collection[str]) -> Iterator[str]:
    """Return the differences between the file and the list of a package for an era."""
    names = {scenario.name for scenario in wanted}
    for name in sorted(set(listed) - names):
        yield f"new in the suite, decide about it in {SCENARIOS.name}: {name}"
    for name in sorted(names - set(listed)):
        yield f"not in the suite any more, take it out of {SCENARIOS.name}: {name}"
