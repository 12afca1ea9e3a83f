"""What the run costs at most, from the figures of docs/cost.md and of the release.

The rule: list prices, no free tier, every stack for as long as all trials may take. What is not in
benchmarks/cost/prices.py is here, and says that it could not be looked up.
"""

from typing import Final

from benchmarks.cost.prices import HOURS, UNVERIFIED, Price
from benchmarks.cost.tables import HINTED, used
from stepwire_cli.deployment.release import Release

KEY: Final = Price(1.00, 1, "KMS key and month", UNVERIFIED)
EXPORT: Final = Price(0.10, 1, "GB of an exported table", UNVERIFIED)
IMPORT: Final = Price(0.15, 1, "GB of an imported table", UNVERIFIED)
TASKS: Final = 100
"""More than the run calls."""
_THOUSAND: Final = 1_000
_CHOSEN: Final = {"SnapStart": "PublishedVersions", "MetricsDashboard": "on"}


def parts(release: Release, hours: float) -> dict[str, float]:
    """Return the cost of a run of so many hours by part, in dollars."""
    share = hours / HOURS
    return {
        "two endpoints": 2 * release.cost.with_(_CHOSEN) * share,
        f"{TASKS} tasks of a minute": sum(used(60, HINTED).dollars().values()) * TASKS / _THOUSAND,
        "a key": KEY.of(share),
        "an export and an import of less than 1 GB": EXPORT.of(1) + IMPORT.of(1),
    }
