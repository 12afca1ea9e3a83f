"""The scenarios of the official suite, with the expected outcome of each, as in `scenarios.yaml`."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

SCENARIOS: Final = Path(__file__).parent / "scenarios.yaml"
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


def read_scenarios() -> tuple[Scenario, ...]:
    """Read all scenarios, including those that are not served.

    Raises:
        ValueError: an entry has a scenario twice.
    """
    scenarios = tuple(one for entry in yaml.safe_load(SCENARIOS.read_text()) for one in _of_entry(entry))
    counts = Counter((one.package, one.era, one.name) for one in scenarios)
    twice = [" ".join(key) for key, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"{SCENARIOS.name} names twice: {', '.join(twice)}")
    return scenarios


def _of_entry(entry: dict[str, Any]) -> Iterator[Scenario]:
    package, era, alone = entry["package"], entry["era"], entry.get("alone", [])
    for name in entry["must_pass"]:
        yield Scenario(package, era, name, alone=name in alone)
    for group in entry["not_served"]:
        for name in group["scenarios"]:
            yield Scenario(package, era, name, group["reason"], frozenset(group.get("checks", ())))


def differences(wanted: Collection[Scenario], listed: Collection[str]) -> Iterator[str]:
    """Return the differences between the file and the list of a package for an era."""
    names = {scenario.name for scenario in wanted}
    for name in sorted(set(listed) - names):
        yield f"new in the suite, decide about it in {SCENARIOS.name}: {name}"
    for name in sorted(names - set(listed)):
        yield f"not in the suite any more, take it out of {SCENARIOS.name}: {name}"
