"""A thousand callers wait, and the functions that end their waits still run (A5).

Lambda is simulated, with the limit of the account, reserved concurrency, and its retries of events; the server is the
real one. Every invocation is a thread, of which one runs at a time, and the clock jumps to the next scheduled moment:
so
every run is the same and takes almost no time.
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
from stepwire.principal import Caller, Principal, principal_of
from stepwire.protocol.http import HttpRequest
from stepwire.tasks.usage import Limits
from tests.fakes import START_OF_TIME, FixedClock
from tests.kits import OPTIONAL, OUTPUT, World

CALLERS: Final = 1_000
NEW_ACCOUNT: Final = 10
"""The concurrency of a new account, none of which can be reserved."""
ORDINARY_ACCOUNT: Final = 500
"""The concurrency that other stacks leave to this one, of the 1,000 of an ordinary account."""
SERVICE_TIME: Final = 0.03  # seconds of an invocation without its waits
TIMEOUT: Final = timedelta(seconds=29)
COMES_BACK: Final = 10.0  # seconds until a client without a result asks again
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
    """A clock with scheduled actions."""

    def __init__(self) -> None:
        super().__init__()
        self._coming: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return (self.time - START_OF_TIME).total_seconds()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Schedule an action."""
        heapq.heappush(self._coming, (self.seconds + seconds, next(self._order), act))

    def sleep(self, seconds: float) -> None:
        """Let other threads run; called by an invocation."""
        Invocation.current().sleep(seconds)

    def run(self, until: float) -> None:
        """Run all actions up to a time."""
        while self._coming and self._coming[0][0] <= until:
            at, _, act = heapq.heappop(self._coming)
            self.time = START_OF_TIME + timedelta(seconds=at)
            act()


class Invocation:
    """One invocation: a thread that runs only while it has control, which it gives up in its sleeps."""

    _own: Final = threading.local()

    def __init__(self, schedule: Schedule, work: Callable[[], object], ended: Callable[[], object]) -> None:
        self._schedule, self._work, self._ended = schedule, work, ended
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._is_over = False
        threading.Thread(target=self._run, daemon=True).start()
        self._pass_on()

    @classmethod
    def current(cls) -> "Invocation":
        """Return the running invocation."""
        return cls._own.invocation

    def sleep(self, seconds: float) -> None:
        """Give up control for some time."""
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
    """Runs functions, within the concurrency of the account and the reserved concurrency of each function."""

    schedule: Schedule
    limit: int
    reserved: dict[str, int] = field(default_factory=dict[str, int])
    running: Counter[str] = field(default_factory=Counter[str])
    most_running: int = 0

    def invoke(self, function: str, work: Callable[[], object], ended: Callable[[], object]) -> bool:
        """Start an invocation; return False if it is throttled."""
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
        """Deliver an event; a throttled one is retried after a second, then with growing delays up to 5 minutes."""
        if not self.invoke(function, work, lambda: None):
            self.schedule.after(pause, lambda: self.bring(function, work, min(2 * pause, 300)))

    def _has_room(self, function: str) -> bool:
        if function in self.reserved:
            return self.running[function] < self.reserved[function]
        shared = sum(number for name, number in self.running.items() if name not in self.reserved)
        return shared < self.limit - sum(self.reserved.values())


@dataclass
class Site:
    """A stack in an account, and a thousand callers who ask for results that are not ready."""

    limit: int
    waits: WaitLimits = field(default_factory=WaitLimits)
    reserved: dict[str, int] = field(default_factory=dict[str, int])
    recorded: list[float] = field(default_factory=list[float])
    """The delay between each end and its recording, in seconds."""

    def __post_init__(self) -> None:
        self.schedule = Schedule()
        limits = Limits(active=10_000, per_minute=60_000)
        self.world = World(clock=self.schedule, waits=self.waits, limits=limits)
        self.functions = Lambda(self.schedule, self.limit, self.reserved)

    def run(self) -> None:
        """Let all callers wait, then end all workflows, and measure when the ends are recorded."""
        for number in range(CALLERS):
            owner = principal_of(("jwt", "https://issuer.example", str(number)), "a stack")
            task_id = self.world.call(OPTIONAL, owner=owner).task_id
            self.schedule.after(COMES_BACK * number / CALLERS, lambda o=owner, t=task_id: self._ask(o, t))
            ends_at = FIRST_END + (LAST_END - FIRST_END) * number / CALLERS
            self.schedule.after(ends_at, lambda t=task_id: self._end(t))
        self.schedule.run(until=LAST_END + 120)

    def _ask(self, owner: Principal, task_id: str) -> None:
        """Ask for a result as a client that cannot resume: now, and again until it is ready."""
        answers = list[JsonObject]()
        params = {"jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": {"taskId": task_id}}

        def ask() -> None:
            deadline = self.schedule.now() + TIMEOUT
            request = HttpRequest("POST", HEADERS, write(params).encode(), Caller(owner), deadline=deadline)
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
        pytest.param(NEW_ACCOUNT, WaitLimits(), {}, id="a new account, with the defaults", marks=pytest.mark.long),
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


@long
def test_without_the_limits_waiting_callers_delay_it() -> None:
    """Shows what the limits are for."""
    site = Site(NEW_ACCOUNT, NO_CAP)

    site.run()

    assert site.functions.most_running == NEW_ACCOUNT
    assert len(site.recorded) < CALLERS or max(site.recorded) > IN_TIME
