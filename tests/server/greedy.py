"""Greedy callers and a newcomer, of whom all take places that callers share, and the stack that has them.

Each greedy caller takes what it can, for as long as it can, and asks again at once. Every request is a thread in
virtual time, so every run is the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final

from stepwire.json_text import write
from stepwire.principal import Principal, principal_of
from stepwire.server.services import Patience
from stepwire.tasks.limiter import Limits, Places
from stepwire.tasks.outcomes import ExecutionEnd, Succeeded
from stepwire.tasks.task import Execution
from tests.fake_express import FakeSyncWorkflows
from tests.kits import ALICE, EXPRESS, OPTIONAL, OUTPUT, TOOLS, World, catalog_of
from tests.server.answers import Answer
from tests.server.clients import LegacyClient, ModernClient
from tests.virtual_time import VirtualClock, VirtualTime

WAIT: Final = 15.0  # seconds, `WaitSeconds`
LIMIT_REACHED: Final = -31002
RETRY: Final = 4.0
"""The longest that a refused caller is told to wait."""
EXPRESS_CALL: Final = 14.0
FAST: Final = 0.05
END: Final = 200.0


class SlowWorkflows(FakeSyncWorkflows):
    """Executions of which each takes as long as its caller likes."""

    def run(self, execution: Execution, input_text: str, trace_header: str | None = None) -> ExecutionEnd:
        is_mine = ALICE in execution.name
        self.clock.sleep(FAST if is_mine else EXPRESS_CALL)
        return Succeeded(write(OUTPUT))


@dataclass
class Site:
    """A stack, in virtual time."""

    time: VirtualTime

    def __post_init__(self) -> None:
        self.world = World(
            clock=VirtualClock(self.time),
            catalog=catalog_of(*TOOLS, EXPRESS),
            patience=Patience(unresumable_request=timedelta(seconds=WAIT)),
            limits=Limits(active=10_000, per_minute=1_000_000),
        )
        self.world.sync_workflows.__class__ = SlowWorkflows
        self.tasks = dict[Principal, str]()

    def wait_for_a_task(self, owner: Principal) -> float | None:
        """Ask for the result of a task that runs; return when to ask again, or None if the request waited."""
        if owner not in self.tasks:
            self.tasks[owner] = self.world.call(OPTIONAL, owner=owner).task_id
        task_id = self.tasks[owner]
        began = self.time.now
        LegacyClient(self.world, owner=owner).task("result", task_id)
        return None if self.time.now - began >= WAIT else RETRY

    def call_an_express_tool(self, owner: Principal) -> float | None:
        """Call an EXPRESS tool; return when to call again, or None if it was run."""
        return retry_of(ModernClient(self.world, owner=owner).call(EXPRESS.name))


def retry_of(answer: Answer) -> float | None:
    """Return after how many seconds a caller may try again that was refused; None: it was not."""
    error = answer.error if "error" in answer.body else {}
    return error["data"]["retryAfterMs"] / 1_000 if error.get("code") == LIMIT_REACHED else None


@dataclass(frozen=True)
class Kind:
    """A kind of place."""

    take: Callable[[Site, Principal], float | None]
    """Takes a place for as long as possible, the caller ALICE as shortly; returns when to try again, or None."""
    places: Places
    longest: float
    """Seconds that a place can be held."""

    @property
    def stated(self) -> float:
        """Seconds within which a newcomer is served beside any greedy caller for each place, and two more."""
        # The two more were refused before, and have rested as the newcomer has: all three get the next free places.
        return -(-3 // self.places.all) * self.longest + RETRY


def caller(number: int) -> Principal:
    return principal_of(("jwt", "https://issuer.example", str(number)), "a stack")


@dataclass
class Crowd:
    """Greedy callers, and a newcomer."""

    kind: Kind
    callers: int
    loops: int
    """How many requests each greedy caller makes at the same time, again and again."""
    patience: float | None
    """Seconds after which a greedy caller that was refused asks again; None: when it was told to."""
    begins: float = 0.5
    """When the newcomer makes its first request."""
    requests: int = 1
    """How many the newcomer makes, a second after one another."""
    served: list[float] = field(default_factory=list[float])
    """After how many seconds each request of the newcomer was served."""

    def run(self) -> list[float]:
        """Let all make their requests, and return when the newcomer was served."""
        with VirtualTime() as time:
            site = Site(time)
            for number in range(self.callers * self.loops):
                owner = caller(number % self.callers)
                time.spawn(partial(self._be_greedy, site, owner))
            time.at(self.begins, lambda: time.spawn(partial(self._come_new, site)))
            while len(self.served) < self.requests and time.now < END:
                time.run(until=time.now + 1)
        return self.served

    def _be_greedy(self, site: Site, owner: Principal) -> None:
        while True:
            again = self.kind.take(site, owner)
            if again is not None:
                site.time.sleep(again if self.patience is None else self.patience)

    def _come_new(self, site: Site) -> None:
        for _ in range(self.requests):
            first, began = site.time.now, site.time.now
            while (again := self.kind.take(site, ALICE)) is not None:
                site.time.sleep(again)
                began = site.time.now
            self.served.append(began - first)
            site.time.sleep(1)
