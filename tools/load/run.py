"""One load from beginning to end: all tasks are created, polled while all are active, and then ended."""

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Final

from packages.local.tests.issuer import TestIssuer
from tools.load.clients import Caller, Endpoint, Kind, Legacy, Modern, Request
from tools.load.site import Account, Call, Cost, Site, site
from tools.load.verdict import Evidence

MIX: Final = (
    Kind.POLLED,
    Kind.STREAMED,
    Kind.ASKING,
    Kind.FAILING,
    Kind.CANCELLED,
    Kind.POLLED,
    Kind.STREAMED,
    Kind.POLLED,
    Kind.POLLED,
    Kind.POLLED,
)
"""The kinds of a client's tasks, in rotation."""
_TOKENS_LIVE: Final = 3600  # seconds
_GLANCE: Final = 0.05


@dataclass(frozen=True)
class Plan:
    """The parameters of a load."""

    tasks: int = 2_000
    clients: int = 200
    steady: float = 15.0
    """Seconds in which all tasks are active and are only polled."""
    patience: float = 900.0
    """Seconds after which a task counts as lost if it is not created or has not ended."""
    lost_events: int = 0
    """How many ends have no status event, to check that the run detects it."""

    @property
    def tasks_of_each(self) -> int:
        """Return the number of tasks of each client."""
        return self.tasks // self.clients


@dataclass(frozen=True)
class Phase:
    """A phase of a load."""

    name: str
    begun: float
    """On the monotonic clock."""
    ended: float
    cpu_seconds: float
    """The CPU time of the stack."""
    own_seconds: float
    """Of it, the functions' own code."""


@dataclass(frozen=True)
class Figures:
    """The measurements."""

    phases: Sequence[Phase]
    requests: Sequence[Request]
    calls: Sequence[Call]
    peak: Cost
    """The resources while all tasks were active."""
    end: Cost


def run(plan: Plan) -> tuple[Evidence, Figures]:
    """Start the stack and the clients, run all phases, and return the evidence and the measurements."""
    limits = {"active": plan.tasks_of_each, "per_minute": plan.tasks_of_each}
    with TestIssuer() as issuer, site(issuer.url, **limits, lost_events=plan.lost_events) as stack:
        requests: list[Request] = []
        all_there = threading.Event()
        kinds = list(islice(cycle(MIX), plan.tasks_of_each))
        url, expiry = stack.url(), int(time.time()) + _TOKENS_LIVE
        names = [f"client {number}" for number in range(1, plan.clients + 1)]
        callers = [
            Caller(name, era, Endpoint(url, issuer.valid(sub=name, exp=expiry), requests), kinds, all_there)
            for name, era in zip(names, cycle((Modern, Legacy)), strict=False)
        ]
        return _Load(plan, stack, callers, requests, all_there).run()


@dataclass(frozen=True)
class _Load:
    plan: Plan
    stack: Site
    callers: Sequence[Caller]
    requests: list[Request]
    all_there: threading.Event
    phases: list[Phase] = field(default_factory=list[Phase])

    def run(self) -> tuple[Evidence, Figures]:
        with self._phase("creation"):
            self._create()
        with self._phase("all open"):
            time.sleep(self.plan.steady)
        peak, at_the_peak = self.stack.cost(), self.stack.account()
        with self._phase("end"):
            self._end()
        at_the_end = self.stack.account()
        figures = Figures(self.phases, self.requests, self.stack.calls(), peak, self.stack.cost())
        return self._evidence(at_the_peak, at_the_end), figures

    @contextmanager
    def _phase(self, name: str) -> Generator[None]:
        begun, before = time.monotonic(), self.stack.cost()
        yield
        ended, after = time.monotonic(), self.stack.cost()
        used, own = after.cpu_seconds - before.cpu_seconds, after.own_seconds - before.own_seconds
        self.phases.append(Phase(name, begun, ended, used, own))

    def _create(self) -> None:
        deadline = time.monotonic() + self.plan.patience
        for caller in self.callers:
            caller.start()
        while not all(caller.has_created for caller in self.callers) and time.monotonic() < deadline:
            time.sleep(_GLANCE)

    def _end(self) -> None:
        deadline = time.monotonic() + self.plan.patience
        self.stack.open_gate()
        self.all_there.set()
        for caller in self.callers:
            caller.join(max(0.0, deadline - time.monotonic()))
        for caller in self.callers:
            caller.give_up()

    def _evidence(self, at_the_peak: Account, at_the_end: Account) -> Evidence:
        return Evidence(
            stories=[story for caller in self.callers for story in caller.stories],
            listed={caller.name: caller.listed for caller in self.callers if caller.listed is not None},
            told=[fault for caller in self.callers for fault in caller.faults],
            requests=self.requests,
            at_the_peak=at_the_peak,
            at_the_end=at_the_end,
        )
