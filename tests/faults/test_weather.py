"""Bad weather loses, doubles and mixes up nothing, asks nobody twice, and counts as no fault."""

import pytest

from tests.faults.site import Account
from tests.faults.weather import Figures, Run


def wrongs(figures: Figures) -> dict[str, int]:
    """Return what must not happen, and how often it did."""
    names = ("lost", "doubled", "mixed_up", "asked_twice", "failed_states", "faults", "without_time")
    return {name: getattr(figures, name) for name in names if getattr(figures, name)}


@pytest.mark.parametrize(
    ("seed", "tasks"), [(1, 8), *(pytest.param(*one, marks=pytest.mark.long) for one in ((2, 350), (3, 100)))]
)
def test_in_bad_weather_every_call_gets_its_own_result(account: Account, seed: int, tasks: int) -> None:
    figures = Run(account, seed, tasks).go()

    assert wrongs(figures) == {}
    assert figures.weather > 0


def test_a_seed_gives_the_same_run(account: Account) -> None:
    first, second = (Run(account, 5, 4).go() for _ in range(2))

    assert first == second
