"""Instances that take turns, and share only the store, the workflows and the clock, answer as one instance does."""

import itertools

import pytest

from tests.kits import World
from tests.server.flows import FLOWS, Flow
from tests.server.instances import RoundRobinEndpoint, another_instance


# M22, L10, L11, L19, K8
@pytest.mark.parametrize("flow", FLOWS.values(), ids=list(FLOWS))
def test_two_instances_that_take_turns_answer_as_one_does(flow: Flow) -> None:
    one, two = World(), World()
    turns = itertools.cycle([two.server, another_instance(two)])

    over_one, over_two = flow(one, one), flow(two, RoundRobinEndpoint(turns))

    assert over_two == over_one
    assert two.workflows.resumptions == one.workflows.resumptions
    assert two.workflows.starts == one.workflows.starts
    assert one.faults == two.faults == []


# M22: each request an instance of its own
@pytest.mark.parametrize("flow", FLOWS.values(), ids=list(FLOWS))
def test_a_new_instance_for_each_request_answers_as_one_does(flow: Flow) -> None:
    one, many = World(), World()
    turns = (another_instance(many) for _ in itertools.count())

    over_one, over_many = flow(one, one), flow(many, RoundRobinEndpoint(turns))

    assert over_many == over_one
    assert one.faults == many.faults == []
