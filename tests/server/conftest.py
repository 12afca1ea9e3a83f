"""Fixtures of the server tests: clients, and a world that must end the test without an internal error."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.kits import World
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, Endpoint, LegacyClient, ModernClient
from tests.server.instances import RoundRobinEndpoint, another_instance


@pytest.fixture
def world() -> Iterator[World]:
    """Stepwire over the fakes."""
    world = World()
    yield world
    assert world.faults == []


@pytest.fixture
def legacy(world: World) -> LegacyClient:
    """A client of 2025-11-25."""
    return LegacyClient(world)


@pytest.fixture
def resuming(world: World) -> LegacyClient:
    """A client of 2025-11-25 with a session: it resumes a response, and can ask its user."""
    return LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)


@pytest.fixture
def asking(world: World) -> ModernClient:
    """A client of 2026-07-28 that declares the tasks extension, and can ask its user."""
    return ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


@pytest.fixture
def modern(world: World) -> ModernClient:
    """A client of 2026-07-28 that declares the tasks extension."""
    return ModernClient(world)


@pytest.fixture
def plain(world: World) -> ModernClient:
    """A client of 2026-07-28 that can ask its user, and does not declare the tasks extension."""
    return ModernClient(world, capabilities=ASKING_CAPABILITY)


@pytest.fixture
def turns(world: World) -> RoundRobinEndpoint:
    """Two instances of the server."""
    return RoundRobinEndpoint(itertools.cycle([world.server, another_instance(world)]))


@pytest.fixture(params=["2025-03-26", "2025-11-25", "2026-07-28", "2026-07-28 without tasks"])
def era(request: pytest.FixtureRequest) -> Callable[[Endpoint], LegacyClient | ModernClient]:
    """Makes clients of a version."""
    version, _, without = request.param.partition(" ")
    if version == "2026-07-28":
        return lambda at: ModernClient(at, capabilities={} if without else TASKS_CAPABILITY)
    return lambda at: LegacyClient.opened(at, version)
