"""A thousand callers wait, and the functions that end their waits run all the same (A5).

Lambda is simulated, with a limit for the account, reservations, and its own retries of events; the server is the real
one. Every invocation is a thread of its own, of which one runs at a time, and the clock moves from one moment at which
something happens to the next: so a run is the same every time, and takes no time to speak of.
"""

import heapq
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Final

import pytest

from stepwire.engine.waiting import WaitLimits
from stepwire.json_text import JsonObject, write
from stepwire.principal import Principal, principal_of
from stepwire.protocol.http import HttpRequest
from stepwire.tasks.usage import Limits
from tests.fakes import START_OF_TIME, FixedClock
from tests.kits import OPTIONAL, OUTPUT, World

CALLERS: Final = 1_000
NEW_ACCOUNT: Final = 10
"""Concurrent executions of a new account, of which none can be reserved."""
ORDINARY_ACCOUNT: Final = 500
"""What other stacks leave to this one of the 1,000 of an ordinary account."""
SERVICE_TIME: Final = 0.03  # seconds of an invocation beside its waits
TIMEOUT: Final = timedelta(seconds=29)
COMES_BACK: Final = 10.0  # seconds; a client that got no result
FIRST_END: Final = 30.0  # seconds
LAST_END: Final = 90.0  # seconds; 17 ends a second
IN_TIME: Final = 5.0  # seconds
HEADERS: Final = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
}
MCP, EVENTS = "mcp", "execution_events"


class Schedule(FixedClock):
    """A clock, and what is to happen when."""

    def __init__(self) -> None:
        super().__init__()
        self._coming: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return (self.time - START_OF_TIME).total_seconds()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Let something happen later."""
        heapq.heappush(self._coming, (self.seconds + seconds, next(self._order), act))

    def sleep(self, seconds: float) -> None:
        """Let the others go on; called by an invocation."""
        Invocation.current().sleep(seconds)

    def run(self, until: float) -> None:
        """Let everything happen up to a moment."""
        while self._coming and self._coming[0][0] <= until:
            at, _, act = heapq.heappop(self._coming)
            self.time = START_OF_TIME + timedelta(seconds=at)
            act()


class Invocation:
    """One invocation: a thread that has the baton from its begin to its sleeps, and from these to its end."""

    _own: Final = threading.local()

    def __init__(self, schedule: Schedule, work: Callable[[], object], ended: Callable[[], object]) -> None:
        self._schedule, self._work, self._ended = schedule, work, ended
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._is_over = False
        threading.Thread(target=self._run, daemon=True).start()
        self._pass_on()

    @classmethod
    def current(cls) -> "Invocation":
        """Return the one that runs."""
        return cls._own.invocation

    def sleep(self, seconds: float) -> None:
        """Give the baton back for a while."""
        self._schedule.after(seconds, self._pass_on)
        self._back.release()
        self._go.acquire()

    def _pass_on(self) -> None:
        self._go.release()
        self._back.acquire()
        if self._is_over:
            self._ended()

    def _run(self) -> None:
        self._own.invocation = self
        self._go.acquire()
        self._work()
        self._is_over = True
        self._back.release()


@dataclass
class Lambda:
    """Runs functions, as many invocations at once as the account allows, or a function has reserved."""

    schedule: Schedule
    limit: int
    reserved: dict[str, int] = field(default_factory=dict[str, int])
    running: Counter[str] = field(default_factory=Counter[str])
    most_running: int = 0

    def invoke(self, function: str, work: Callable[[], object], ended: Callable[[], object]) -> bool:
        """Begin an invocation; False where it is throttled."""
        if not self._has_room(function):
            return False
        self.running[function] += 1
        self.most_running = max(self.most_running, self.running.total())

        def over() -> None:
            self.running[function] -= 1
            ended()

        def whole() -> None:
            self.schedule.sleep(SERVICE_TIME)
            work()

        Invocation(self.schedule, whole, over)
        return True

    def bring(self, function: str, work: Callable[[], object], pause: float = 1.0) -> None:
        """Deliver an event; one that is throttled comes again, after a second and then ever later, up to 5 minutes."""
        if not self.invoke(function, work, lambda: None):
            self.schedule.after(pause, lambda: self.bring(function, work, min(2 * pause, 300)))

    def _has_room(self, function: str) -> bool:
        if function in self.reserved:
            return self.running[function] < self.reserved[function]
        shared = sum(number for name, number in self.running.items() if name not in self.reserved)
        return shared < self.limit - sum(self.reserved.values())


@dataclass
class Site:
    """A stack in an account, and a thousand callers who ask for results that are not there yet."""

    limit: int
    waits: WaitLimits = field(default_factory=WaitLimits)
    reserved: dict[str, int] = field(default_factory=dict[str, int])
    recorded: list[float] = field(default_factory=list[float])
    """How long after each end it was recorded, in seconds."""

    def __post_init__(self) -> None:
        self.schedule = Schedule()
        limits = Limits(active=10_000, per_minute=60_000)
        self.world = World(clock=self.schedule, waits=self.waits, limits=limits)
        self.functions = Lambda(self.schedule, self.limit, self.reserved)

    def run(self) -> None:
        """Let all callers wait, then all workflows end, and see when that is recorded."""
        for number in range(CALLERS):
            owner = principal_of(("jwt", "https://issuer.example", str(number)), "a stack")
            task_id = self.world.call(OPTIONAL, owner=owner).task_id
            self.schedule.after(COMES_BACK * number / CALLERS, lambda o=owner, t=task_id: self._ask(o, t))
            ends_at = FIRST_END + (LAST_END - FIRST_END) * number / CALLERS
            self.schedule.after(ends_at, lambda t=task_id: self._end(t))
        self.schedule.run(until=LAST_END + 120)

    def _ask(self, owner: Principal, task_id: str) -> None:
        """Ask for a result as a client does that cannot come back for it: now, and until it is there."""
        answers = list[JsonObject]()
        params = {"jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": {"taskId": task_id}}

        def ask() -> None:
            deadline = self.schedule.now() + TIMEOUT
            request = HttpRequest("POST", HEADERS, write(params).encode(), owner, deadline=deadline)
            answers.append(json.loads(self.world.server.handle(request).body))

        def again() -> None:
            if not any("result" in answer for answer in answers):
                self.schedule.after(COMES_BACK, lambda: self._ask(owner, task_id))

        if not self.functions.invoke(MCP, ask, again):
            again()

    def _end(self, task_id: str) -> None:
        workflows = self.world.workflows
        workflows.succeed(workflows.execution_of(task_id), OUTPUT)
        change, ended_at = workflows.undelivered.pop(), self.schedule.seconds

        def record() -> None:
            self.world.events.record(change)
            self.recorded.append(self.schedule.seconds - ended_at)

        self.functions.bring(EVENTS, record)


long = pytest.mark.long
NO_CAP: Final = WaitLimits(all=CALLERS, per_caller=CALLERS)
RESERVED: Final = {EVENTS: 20}


@pytest.mark.parametrize(
    ("limit", "waits", "reserved"),
    [
        pytest.param(NEW_ACCOUNT, WaitLimits(), {}, id="a new account, with the defaults"),
        pytest.param(
            ORDINARY_ACCOUNT, WaitLimits(), {}, id="an ordinary account, with the defaults", marks=pytest.mark.long
        ),
        pytest.param(
            ORDINARY_ACCOUNT, NO_CAP, RESERVED, id="an ordinary account, with a reservation", marks=pytest.mark.long
        ),
    ],
)
def test_a_thousand_waiting_callers_do_not_delay_the_recording_of_an_end(
    limit: int, waits: WaitLimits, reserved: dict[str, int]
) -> None:
    site = Site(limit, waits, reserved)

    site.run()

    assert site.functions.most_running <= limit
    assert len(site.recorded) == CALLERS
    assert max(site.recorded) < IN_TIME


@pytest.mark.parametrize("limit", [NEW_ACCOUNT, pytest.param(ORDINARY_ACCOUNT, marks=long)])
def test_without_the_limits_waiting_callers_delay_it(limit: int) -> None:
    """What both are for: so it was before there were any."""
    site = Site(limit, NO_CAP)

    site.run()

    assert site.functions.most_running == limit
    assert len(site.recorded) < CALLERS or max(site.recorded) > IN_TIME
