"""Several instances of the server that share only the store, the workflows and the time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from stepwire.server.mcp_server import McpServer
from tests.kits import ALLOWED_ORIGIN, World


@dataclass(frozen=True)
class TakingTurns:
    """An endpoint where each request goes to the next instance."""

    turns: Iterator[McpServer]

    @property
    def server(self) -> McpServer:
        """The instance whose turn it is."""
        return next(self.turns)


def another_instance(world: World) -> McpServer:
    """Build the server of a world once more, from nothing of the first but what lies outside of a function."""
    other = World(
        patience=world.patience,
        intervals=world.intervals,
        catalog=world.catalog,
        clock=world.clock,
        store=world.store,
        workflows=world.workflows,
        faults=world.faults,
        troubles=world.troubles,
    )
    # Two that count from 1 would make the same ids, as no two sources of randomness do.
    operations = replace(other.operations, randomness=world.operations.randomness)
    return McpServer(replace(other.kit, operations=operations), frozenset({ALLOWED_ORIGIN}), world.faults.append)
