"""Several instances of the server that share only the store, the workflows and the clock."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from stepwire.server.mcp_server import McpServer
from tests.kits import ALLOWED_ORIGIN, World


@dataclass(frozen=True)
class RoundRobinEndpoint:
    """An endpoint that sends each request to the next instance."""

    turns: Iterator[McpServer]

    @property
    def server(self) -> McpServer:
        """The next instance."""
        return next(self.turns)


def another_instance(world: World) -> McpServer:
    """Build another server for a world; it shares only what lies outside a function instance."""
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
    # Two counting sources of randomness would create the same ids, so both servers share one.
    calls = replace(other.calls, randomness=world.calls.randomness)
    return McpServer(replace(other.services, calls=calls), frozenset({ALLOWED_ORIGIN}), world.faults.append)
