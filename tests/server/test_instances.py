"""Any instance can answer: two that take turns, and share only the store, the workflows and the time, are like one."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from stepwire.server import McpServer
from tests.kits import ALLOWED_ORIGIN, World
from tests.server.flows import FLOWS, Flow


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
        clock=world.clock,
        store=world.store,
        workflows=world.workflows,
        faults=world.faults,
        troubles=world.troubles,
    )
    # Two that count from 1 would make the same ids, as no two sources of randomness do.
    operations = replace(other.operations, randomness=world.operations.randomness)
    return McpServer(replace(other.kit, operations=operations), frozenset({ALLOWED_ORIGIN}), world.faults.append)


# M22, L10, L11, L19, K8
@pytest.mark.parametrize("flow", FLOWS.values(), ids=list(FLOWS))
def test_two_instances_that_take_turns_are_like_one(flow: Flow) -> None:
    one, two = World(), World()
    turns = itertools.cycle([two.server, another_instance(two)])

    over_one, over_two = flow(one, one), flow(two, TakingTurns(turns))

    assert over_two == over_one
    assert two.workflows.resumptions == one.workflows.resumptions
    assert two.workflows.starts == one.workflows.starts
    assert one.faults == two.faults == []


# M22: each request an instance of its own
@pytest.mark.parametrize("flow", FLOWS.values(), ids=list(FLOWS))
def test_an_instance_for_each_request_is_like_one(flow: Flow) -> None:
    one, many = World(), World()
    turns = (another_instance(many) for _ in itertools.count())

    over_one, over_many = flow(one, one), flow(many, TakingTurns(turns))

    assert over_many == over_one
    assert one.faults == many.faults == []
