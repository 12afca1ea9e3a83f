"""A fresh world for each test, in which the server must not have had a fault of its own."""

from collections.abc import Iterator

import pytest

from tests.kits import World
from tests.server.clients import LegacyClient, ModernClient


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
def modern(world: World) -> ModernClient:
    """A client of 2026-07-28 that declares the tasks extension."""
    return ModernClient(world)
