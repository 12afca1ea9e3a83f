"""A thousand callers wait, and the functions that end their waits still run (A5).

Lambda is simulated, with the limit of the account, reserved concurrency, and its retries of events; the server is the
real one. Every invocation is a thread in virtual time, of which one runs at a time: so every run is the same.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import pytest

from stepwire.engine.limiter import WAITS
from stepwire.json_text import JsonObject, write
from stepwire.principal import Caller, Principal, principal_of
from stepwire.protocol.http import HttpRequest
from stepwire.tasks.limiter import Limits, Places
from tests.kits import OPTIONAL, OUTPUT, World
from tests.virtual_time import VirtualClock, VirtualTime

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


@dataclass
class Lambda:
    """Runs functions, within the concurrency of the account and the reserved concurrency of each function."""

    time: VirtualTime
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

        def whole() -> None:
            work()
            self.running[function] -= 1
            ended()

        self.time.at(self.time.now + SERVICE_TIME, lambda: self.time.spawn(whole))
        return True

    def bring(self, function: str, work: Callable[[], object], pause: float = 1.0) -> None:
        """Deliver an event; a throttled one is retried after a second, then with growing delays up to 5 minutes."""
        if not self.invoke(function, work, lambda: None):
            self.time.at(self.time.now + pause, lambda: self.bring(function, work, min(2 * pause, 300)))

    def _has_room(self, function: str) -> bool:
        if function in self.reserved:
            return self.running[function] < self.reserved[function]
        shared = sum(number for name, number in self.running.items() if name not in self.reserved)
        return shared < self.limit - sum(self.reserved.values())


@dataclass
class Site:
    """A stack in an account, and a thousand callers who ask for results that are not ready."""

    time: VirtualTime
    limit: int
    waits: Places = WAITS
    reserved: dict[str, int] = field(default_factory=dict[str, int])
    recorded: list[float] = field(default_factory=list[float])
    """The delay between each end and its recording, in seconds."""

    def __post_init__(self) -> None:
        limits = Limits(active=10_000, per_minute=60_000)
        self.world = World(clock=VirtualClock(self.time), waits=self.waits, limits=limits)
        self.functions = Lambda(self.time, self.limit, self.reserved)

    def run(self) -> None:
        """Let all callers wait, then end all workflows, and measure when the ends are recorded."""
        for number in range(CALLERS):
            owner = principal_of(("jwt", "https://issuer.example", str(number)), "a stack")
            task_id = self.world.call(OPTIONAL, owner=owner).task_id
            self.time.at(COMES_BACK * number / CALLERS, lambda o=owner, t=task_id: self._ask(o, t))
            ends_at = FIRST_END + (LAST_END - FIRST_END) * number / CALLERS
            self.time.at(ends_at, lambda t=task_id: self._end(t))
        self.time.run(until=LAST_END + 120)

    def _ask(self, owner: Principal, task_id: str) -> None:
        """Ask for a result as a client that cannot resume: now, and again until it is ready."""
        answers = list[JsonObject]()
        params = {"jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": {"taskId": task_id}}

        def ask() -> None:
            deadline = self.world.clock.now() + TIMEOUT
            request = HttpRequest("POST", HEADERS, write(params).encode(), Caller(owner), deadline=deadline)
            answers.append(json.loads(self.world.server.handle(request).body))

        def again() -> None:
            if not any("result" in answer for answer in answers):
                self.time.at(self.time.now + COMES_BACK, lambda: self._ask(owner, task_id))

        if not self.functions.invoke(MCP, ask, again):
            again()

    def _end(self, task_id: str) -> None:
        workflows = self.world.workflows
        workflows.succeed(workflows.execution_of(task_id), OUTPUT)
        change, ended_at = workflows.undelivered.pop(), self.time.now

        def record() -> None:
            self.world.events.record(change)
            self.recorded.append(self.time.now - ended_at)

        self.functions.bring(EVENTS, record)


long = pytest.mark.long
NO_CAP: Final = Places(CALLERS)
RESERVED: Final = {EVENTS: 20}


@pytest.mark.parametrize(
    ("limit", "waits", "reserved"),
    [
        pytest.param(NEW_ACCOUNT, WAITS, {}, id="a new account, with the defaults", marks=pytest.mark.long),
        pytest.param(ORDINARY_ACCOUNT, WAITS, {}, id="an ordinary account, with the defaults", marks=pytest.mark.long),
        pytest.param(
            ORDINARY_ACCOUNT, NO_CAP, RESERVED, id="an ordinary account, with a reservation", marks=pytest.mark.long
        ),
    ],
)
def test_a_thousand_waiting_callers_do_not_delay_the_recording_of_an_end(
    limit: int, waits: Places, reserved: dict[str, int]
) -> None:
    with VirtualTime() as time:
        site = Site(time, limit, waits, reserved)
        site.run()

    assert site.functions.most_running <= limit
    assert len(site.recorded) == CALLERS
    assert max(site.recorded) < IN_TIME


@long
def test_without_the_limits_waiting_callers_delay_it() -> None:
    """Shows what the limits are for."""
    with VirtualTime() as time:
        site = Site(time, NEW_ACCOUNT, NO_CAP)
        site.run()

    assert site.functions.most_running == NEW_ACCOUNT
    assert len(site.recorded) < CALLERS or max(site.recorded) > IN_TIME
