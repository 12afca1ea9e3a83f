"""Clients, workflows, lost and doubled news, time, deaths and the sweep, interleaved at every call: all ends well.

In CI these are the same runs every time. `make model` runs others, and many more: docs/reliability.md.
"""

from typing import Final

import pytest

from tests.model.profile import explore

STEPS: Final = 10_000
"""The least that all parts together make."""
PARTS: Final = 8
"""Each a test of its own, for several workers."""


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_is_interleaved_clients_are_told_what_they_may_be(part: int) -> None:
    made = explore(STEPS // PARTS, name=f"Part{part}")

    assert made["steps"] >= STEPS / PARTS
