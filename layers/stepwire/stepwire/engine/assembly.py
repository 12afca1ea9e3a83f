"""The assembly: builds the engine over its ports, in each function as in tests.

Nothing else builds a recorder, an upkeep or operations. An engine is built once per function instance, because its
allowances (`engine.upkeep`) count the calls of the instance.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.audit import Audit, no_audit
from stepwire.engine.answers import Answers
from stepwire.engine.calls import Calls
from stepwire.engine.limiter import EXPRESS, WAITS, Admission, WaitLimiter, express_places
from stepwire.engine.operations import Operations
from stepwire.engine.ports import (
    CallRate,
    Clock,
    Gate,
    Randomness,
    SyncWorkflows,
    TaskStore,
    WaitSlots,
    WakeUps,
    Workflows,
)
from stepwire.engine.recorder import Recorder
from stepwire.engine.runs import NoWakeUps, OpenGate, Runs
from stepwire.engine.upkeep import Intervals, Upkeep
from stepwire.hooks import Router
from stepwire.tasks.limiter import Limits, Places
from stepwire.tasks.outcomes import ReadObject, Sign

if TYPE_CHECKING:
    from stepwire.engine.express import ExpressCalls
    from stepwire.engine.follow_ups import FollowUps


class Ports(Struct, frozen=True):
    """What the engine needs of the world."""

    store: TaskStore
    workflows: Workflows
    clock: Clock
    randomness: Randomness
    wait_slots: WaitSlots
    sign: Sign
    """Presigns the links in results."""
    report: Callable[[Exception], None]
    """Receives faults that do not keep a caller from an answer, or that postpone work."""
    audit: Audit = no_audit
    wake_ups: WakeUps = field(default_factory=NoWakeUps)
    read_object: ReadObject | None = None
    """Reads outputs that workflows left in S3; None where this function may read none."""
    gate: "Callable[[Recorder, Ports], Gate] | None" = None
    """Builds what gives turns to runs; None: no tool has a limit."""
    routers: Mapping[str, Router] = MappingProxyType({})
    """What puts questions to others than the callers, by the extra."""


class Settings(Struct, frozen=True):
    """What an operator sets of the engine."""

    intervals: Intervals = field(default_factory=Intervals)
    limits: Limits = field(default_factory=Limits)
    waits: Places = WAITS
    execution_prefix: str = ""
    """Start of the names of this endpoint's executions; needed to create tasks."""
    paces_itself: bool = True
    """Whether the upkeep limits its calls of DescribeExecution; else its caller does."""

    @staticmethod
    def of_sweep(interval: timedelta) -> "Settings":
        """Return the settings of the sweep, which checks every task at the same interval and at its own pace."""
        return Settings(Intervals(interval, timedelta(), 0), paces_itself=False)


class Engine(Struct, frozen=True):
    """The services over one set of ports."""

    ports: Ports
    settings: Settings
    recorder: Recorder
    runs: Runs
    upkeep: Upkeep
    admission: Admission
    limiter: WaitLimiter
    """Limits waits for tasks."""
    operations: Operations
    calls: Calls
    answers: Answers

    @property
    def follow_ups(self) -> "FollowUps":
        """What makes the tasks that follow ended ones."""
        from stepwire.engine.follow_ups import FollowUps  # noqa: PLC0415 - function mcp makes none

        return FollowUps(self.recorder, self.runs, self.ports.randomness, self.admission)

    def limiter_of(self, kind: str, places: Places) -> WaitLimiter:
        """Return what limits waits of another kind, in pools of their own."""
        return replace(self.limiter, kind=kind, places=places)

    def express(self, rate: CallRate, workflows: SyncWorkflows, patience: timedelta) -> "ExpressCalls":
        """Return what runs tools of type EXPRESS."""
        from stepwire.engine.express import ExpressCalls  # noqa: PLC0415 - most requests run none

        limiter = self.limiter_of(EXPRESS, express_places(self.settings.waits))
        return ExpressCalls(self.calls, rate, workflows, limiter, patience)


def assemble(ports: Ports, settings: Settings | None = None) -> Engine:
    """Build the engine."""
    settings, report = settings or Settings(), ports.report
    recorder = Recorder(ports.store, ports.clock, ports.audit, ports.read_object)
    gate = OpenGate() if ports.gate is None else ports.gate(recorder, ports)
    runs = Runs(recorder, ports.workflows, ports.wake_ups, report, gate)
    upkeep = Upkeep(recorder, ports.workflows, runs, settings.intervals, report, ports.routers)
    upkeep = upkeep if settings.paces_itself else replace(upkeep, describe_calls=None)
    limiter = WaitLimiter(ports.wait_slots, settings.waits, ports.clock, ports.randomness, report)
    admission = Admission(recorder, settings.limits)
    operations = Operations(recorder, ports.workflows, upkeep, ports.sign, report, limiter)
    prefix = settings.execution_prefix
    calls = Calls(recorder, ports.randomness, upkeep, admission, operations, report, prefix, ports.routers)
    answers = Answers(recorder, upkeep)
    return Engine(ports, settings, recorder, runs, upkeep, admission, limiter, operations, calls, answers)
