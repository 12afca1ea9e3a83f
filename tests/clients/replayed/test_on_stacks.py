"""The raw clients against the real functions, two instances of each, which serve invocations in turn.

Time is the test's: what a client or a handler waits passes at once, and workflows sleep by the same clock. How much
time passes until an end is known is the machine's to say; so each case goes on as the client's model would, and what
counts is where it ends: at the tool's own result, with nothing started twice and the session unharmed.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import pytest

from stepwire_local import at_once
from tests.clients.replayed.behaviours import (
    IN_PART,
    NEVER,
    OF_UNKNOWN_NAME,
    OLDER,
    RESUMING,
    TOLD_BY_URL,
    Behaviour,
    Expected,
)
from tests.clients.replayed.raw_client import Dropped, Outcome, RawClient, Returned
from tests.clients.replayed.timeline import Timeline
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.waiting import until

_FOR_EVER: Final = 10**9  # seconds
REFUND: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}
EVERY: Final = (*NEVER, *IN_PART, *OF_UNKNOWN_NAME, *OLDER, *RESUMING, *TOLD_BY_URL)
each_client = pytest.mark.parametrize("behaviour", EVERY, ids=lambda one: one.label)
pytestmark = pytest.mark.long


class StackTimeline(Timeline):
    """On a stack: an event happens while the client waits, and not within a handler."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._clock = clock

    def wait(self, seconds: float) -> None:
        """Let time pass for a client."""
        self._clock.move(seconds=seconds)
        self._catch_up()


@pytest.fixture(scope="module")
def clock() -> Clock:
    """The time of the handlers and of the workflows."""
    return Clock()


@pytest.fixture(scope="module")
def stack(clock: Clock) -> Iterator[Deployed]:
    """The root template, two instances of each function."""
    many = {"MostActiveTasks": "1000", "MostTasksPerMinute": "6000", "INLINE_WAIT_SECONDS": "0"}
    with (
        deployed(ROOT / "stack.yaml", at_once, 2, clock, RESUMING_CLIENTS="known", **many) as stack,
        clock.passing(seconds=_FOR_EVER),
    ):
        yield stack


@pytest.fixture
def connect(stack: Deployed, clock: Clock) -> Callable[[Behaviour], RawClient]:
    """Connect a client."""

    def connected(behaviour: Behaviour) -> RawClient:
        client = RawClient(behaviour, StackTimeline(clock), cast(Any, itertools.repeat(stack.server)))
        client.connect()
        return client

    return connected


def result_of(outcome: Outcome) -> Any:
    assert isinstance(outcome, Returned), outcome
    assert not outcome.result.get("isError"), outcome
    return outcome.result["structuredContent"]


def echoed(client: RawClient, seconds: int) -> Any:
    """Call a tool that takes so long, go on as the model does, and give what the tool returned."""
    outcome = client.call("wait_and_echo", {"message": client.behaviour.label, "seconds": seconds})
    return result_of(client.go_on(outcome))["message"]


@each_client
def test_a_first_call_ends_with_the_tools_own_result(
    stack: Deployed, connect: Callable[[Behaviour], RawClient], behaviour: Behaviour
) -> None:
    before = set(stack.executions())

    message = echoed(connect(behaviour), 1)

    assert message == behaviour.label
    assert len(set(stack.executions()) - before) == 1


@each_client
def test_a_call_of_a_minute_ends_with_the_tools_own_result(
    stack: Deployed, connect: Callable[[Behaviour], RawClient], behaviour: Behaviour
) -> None:
    before, client = set(stack.executions()), connect(behaviour)

    message = echoed(client, 60)

    assert message == behaviour.label
    assert len(set(stack.executions()) - before) == 1
    assert echoed(client, 1) == behaviour.label


@each_client
def test_a_question_is_put_to_those_who_come_back_and_the_others_get_what_the_tool_makes_of_it(
    connect: Callable[[Behaviour], RawClient], behaviour: Behaviour
) -> None:
    client = connect(behaviour)

    outcome = client.go_on(client.call("approve_refund", REFUND))

    is_asked = behaviour.expects is Expected.POLLED
    assert result_of(outcome)["status"] == ("refunded" if is_asked else "not_asked")
    assert client.answered == is_asked
    assert echoed(client, 1) == behaviour.label


@each_client
def test_a_cancel_stops_what_is_waited_for_and_nothing_that_was_answered(
    stack: Deployed, connect: Callable[[Behaviour], RawClient], behaviour: Behaviour
) -> None:
    before, client = set(stack.executions()), connect(behaviour)
    is_polled = behaviour.expects is Expected.POLLED
    if is_polled:
        client.timeline.after(5, client.cancel)

    outcome = client.call("wait_and_echo", {"message": behaviour.label, "seconds": 100})

    (execution,) = set(stack.executions()) - before
    task_id = execution.rpartition("-")[2]
    if is_polled:
        assert isinstance(outcome, Dropped)
        until(lambda: stack.status_of(task_id) == "ABORTED")
    else:
        client.timeline.wait(1)
        client.cancel()
        assert result_of(client.go_on(outcome))["message"] == behaviour.label
    assert echoed(client, 1) == behaviour.label
