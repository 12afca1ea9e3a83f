"""What MCP Events has in a world of the tests: its stores in memory, receivers, and the queue of function webhooks."""

from dataclasses import dataclass, field
from typing import Any

from stepwire.changes import ChangeServices, TaskChange
from stepwire.extras.events import events_of
from stepwire.extras.events.delivering import Delivering
from stepwire.extras.events.endpoints import sign
from stepwire.extras.events.record import Recording
from stepwire.extras.events.subscribing import PROOFS, Events, Subscribing, proof_places
from stepwire.principal import Principal
from tests.extras.events.event_types import ADDED
from tests.extras.events.fakes import FakeEndpoints, FakeQueue, InMemoryEventStore, InMemorySubscriptionStore
from tests.fakes import counting
from tests.kits import World


@dataclass
class EventFakes:
    """The fakes, and what works on them."""

    world: World
    event_store: InMemoryEventStore = field(default_factory=InMemoryEventStore)
    subscriptions: InMemorySubscriptionStore = field(default_factory=InMemorySubscriptionStore)
    endpoints: FakeEndpoints = field(default_factory=FakeEndpoints)
    queue: FakeQueue = field(default_factory=FakeQueue)
    verifications: list[Principal] = field(default_factory=list[Principal])
    """Who has caused a challenge."""

    def __post_init__(self) -> None:
        world = self.world
        self.subscribing = Subscribing(
            self.event_store,
            self.subscriptions,
            self.endpoints,
            sign,
            self.queue.ring,
            counting(),
            self.verifications.append,
            world.engine.limiter_of(PROOFS, proof_places(world.waits)),
        )
        self.recording = Recording(self.event_store, self.subscriptions, self.queue.ring, world.clock.now)
        self.delivering = Delivering(
            self.event_store, self.subscriptions, self.endpoints, sign, world.clock, counting(), world.refuses
        )

    def record_added(self, change: TaskChange) -> None:
        """Record the events of the types that other extras add. Of those of tasks, a test tells itself."""
        services = ChangeServices(self.world.services.ground, (), self.world.audit.append, _fail)
        self.recording.record([event for one in ADDED for event in one.events(services, change)])


def _fail(words: str, fault: Exception) -> None:
    raise AssertionError(words) from fault


def fakes_of(world: World) -> EventFakes:
    """Return what MCP Events has in a world."""
    return world.fakes["events"]


def built(world: World) -> dict[Any, Any]:
    """Return what a world's server has for MCP Events."""
    fakes = world.fakes["events"] = EventFakes(world)
    world.listeners.append(fakes.record_added)
    return {events_of: Events(fakes.event_store, fakes.subscribing)}
