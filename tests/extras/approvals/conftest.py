"""A tool whose workflow asks others than its caller, and Bob, who may decide it, with a client of either era."""

from collections.abc import Iterator

import pytest

from tests.extras.approvals.approving import Decider, refunds
from tests.kits import World


@pytest.fixture
def world() -> Iterator[World]:
    world = refunds()
    yield world
    assert world.faults == []


@pytest.fixture(params=["modern", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def bob(world: World, era: str) -> Decider:
    return Decider.of(world, era)
