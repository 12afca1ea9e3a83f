"""A fresh world for each test, in which the server must not have had a fault of its own."""

from collections.abc import Iterator

import pytest

from tests.kits import World
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient


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
