"""Clients, workflows, lost and doubled news, time, deaths and the sweep, interleaved at every call: all ends well.

These are the same runs every time. `make model` runs others, and many more: docs/reliability.md.
"""

from typing import Final

import pytest

from tests.model.profile import explore

QUICK: Final = 300
"""The steps of every test run, at least."""
STEPS: Final = 10_000
"""The steps that all parts together make, at least."""
PARTS: Final = 8
"""Each a test of its own, for several workers."""


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
