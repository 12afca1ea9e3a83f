"""A fault at every step of a delivery: the event arrives nevertheless, in order, and nobody else gets it.

The steps are the calls to the ports, from the stream's record to the saved position. A fault hits before or after a
call has had its effect. Then what calls the step calls again: the stream, the queue or the client.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.extras.events.delivering import CLAIM
from tests.extras.events.built import fakes_of
from tests.extras.events.test_polls import ended, tell
from tests.extras.events.test_webhooks import OTHER, URL, wish
from tests.kits import BOB, World
from tests.server.clients import ModernClient

STEPS: Final = (
    *("event_store.head", "event_store.append", "subscriptions.live", "subscriptions.ask", "queue.ring"),
    *("subscriptions.claim", "event_store.read", "endpoints.post", "event_store.read", "subscriptions.finish"),
)
"""The calls that record an event and deliver it, in order."""


class FaultError(Exception):
    """A fault of AWS, or the end of the process."""


class Faulty:
    """Passes calls on to a port; the n-th call of all ports fails, before or after its effect."""

    def __init__(self, name: str, port: Any, calls: list[str], fail_at: int, *, is_after: bool) -> None:
        self._name, self._port, self._calls = name, port, calls
        self._fail_at, self._is_after = fail_at, is_after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        def call(*arguments: Any) -> Any:
            self._calls.append(f"{self._name}.{name}")
            fails = len(self._calls) == self._fail_at
            if fails and not self._is_after:
                raise FaultError
            answer = method(*arguments)
            if fails:
                raise FaultError
            return answer

        return call


def with_faults(world: World, fail_at: int, *, is_after: bool = False) -> list[str]:
    """Let the n-th call fail; return the list that the calls are written to."""
    calls, fakes = list[str](), fakes_of(world)

    def faulty(name: str) -> Any:
        return Faulty(name, getattr(fakes, name), calls, fail_at, is_after=is_after)

    ports = {name: faulty(name) for name in ("event_store", "subscriptions", "endpoints", "queue")}
    record, store = ports["event_store"], ports["subscriptions"]
    fakes.recording = replace(fakes.recording, store=record, subscriptions=store, ring=ports["queue"].ring)
    fakes.delivering = replace(fakes.delivering, record=record, store=store, endpoints=ports["endpoints"])
    return calls


def until_it_works(world: World, act: Callable[[], Any]) -> Any:
    """Repeat what fails, as the stream and the queue do, at a time when no claim is left."""
    for _ in range(3):
        try:
            return act()
        except FaultError:
            world.clock.time += CLAIM
    raise AssertionError("it fails again and again")


def take_all(world: World) -> None:
    """Take the messages of the queue, again while they must be."""
    bells = [(*bell, f"m{number}") for number, bell in zip(count(), fakes_of(world).queue.take(), strict=False)]
    while bells:
        bell, *bells = bells
        done = until_it_works(world, lambda bell=bell: fakes_of(world).delivering.deliver(*bell))
        if done.again_after is not None:
            world.clock.time += done.again_after
            bells.append(bell)


def subscribed() -> World:
    world = World()
    ModernClient(world).ask("events/subscribe", wish())
    ModernClient(world, owner=BOB).ask("events/subscribe", wish(url=OTHER))
    fakes_of(world).endpoints.posts.clear()
    return world


def test_a_delivery_takes_the_listed_steps() -> None:
    world = subscribed()
    calls = with_faults(world, 0)

    tell(world, ended(world))
    take_all(world)

    assert tuple(calls) == STEPS


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, len(STEPS) + 1), ids=[f"{at + 1} {name}" for at, name in enumerate(STEPS)])
def test_an_event_arrives_whatever_fails_once(step: int, is_after: bool) -> None:
    world = subscribed()
    with_faults(world, step, is_after=is_after)
    first, second = ended(world), ended(world)

    for change in (first, second):
        until_it_works(world, lambda change=change: tell(world, change))
        take_all(world)
    take_all(world)

    arrived = [post.body["data"]["taskId"] for post in fakes_of(world).endpoints.events()]
    assert list(dict.fromkeys(arrived)) == [first.task.task_id, second.task.task_id]
    assert len(arrived) <= 4, "at least once, and not again and again"
    assert fakes_of(world).endpoints.events(OTHER) == []
    assert fakes_of(world).endpoints.events() == fakes_of(world).endpoints.events(URL)
