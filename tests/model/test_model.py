"""Clients, workflows, lost and duplicated events, time, deaths and the sweep, interleaved at every AWS call.

These are the same runs each time. `make model` makes other and many more runs: docs/reliability.md.
"""

from typing import Final

import pytest

from tests.model.profile import explore

QUICK: Final = 300
"""The smallest number of steps of every test run."""
STEPS: Final = 6_000
"""The smallest number of steps of all parts together."""
PARTS: Final = 6
"""The number of parts, each a separate test for several workers."""


def test_a_few_runs_pass() -> None:
    made = explore(QUICK, name="Quick")

    assert made["steps"] >= QUICK


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_under_any_interleaving_answers_agree_with_the_reference(part: int) -> None:
    made = explore(STEPS // PARTS, name=f"Part{part}")

    assert made["steps"] >= STEPS / PARTS


@pytest.mark.long
def test_a_seed_determines_the_runs() -> None:
    one, same, other = (explore(200, name="Seeded", seed_of_all=seed) for seed in (1, 1, 2))

    assert one == same != other
