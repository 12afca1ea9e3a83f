"""One fault at one call of one operation: what whoever asked saw, and what made everything right again.

Every case is judged by the account itself, not by what our own code says of it. What must never be, for longer than
decision 15 allows, is listed in `wrongs`; when all is right again the work is brought to its end, and `settle` checks
that nothing was lost on the way. A case is tried with a client that comes back, and with nobody who ever does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import Final

from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.json_text import parse
from stepwire.tasks.inputs import LONGEST_CONFIRMATION
from stepwire.tasks.outcomes import Aborted, ExecutionFailed, Succeeded
from stepwire.tasks.task import Cancelled, Completed, Failed, Task
from tests.faults.boundary import Fault, Injection, ProcessDied
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.seen import Act, Seen, modern
from tests.faults.site import INTERVALS, Account, Site
from tests.kits import OUTPUT

ITSELF: Final = "nothing needed"
READER: Final = "reader"
SWEPT: Final = "sweep"
AT_THE_LIMIT: Final = "slot freed at the limit"
# The SDK's next try is then heard.
_ALSO_ONCE: Final = (Fault.THROTTLED, Fault.TIMEOUT_AFTER)


@dataclass(frozen=True)
class Case:
    """A fault at a call of an operation."""

    operation: Operation
    injection: Injection

    @property
    def step(self) -> str:
        """Name the call."""
        return f"{self.injection.step + 1} {self.operation.steps[self.injection.step]}"

    @property
    def fault(self) -> str:
        """Name the fault, and whether the SDK's own retry met it again."""
        return f"{self.injection.fault.value}{'' if self.injection.lasts else ', once'}"

    def __str__(self) -> str:
        return f"{self.operation.name}: {self.step}: {self.fault}"


@dataclass(frozen=True)
class Outcome:
    """What became of a case."""

    saw: str
    returning: str
    """What made all right again, where a client comes back, or an event is delivered again."""
    gone: str
    """The same, where nobody ever does."""


def cases() -> Iterator[Case]:
    """Give every fault at every call of every operation; death before a call is death after the one before."""
    for operation in OPERATIONS:
        for step in operation.own_steps:
            for fault in Fault:
                if fault is Fault.DEATH_BEFORE and step > 0:
                    continue
                if fault is Fault.EXPIRED:  # to a handler, the same as access denied
                    continue
                if fault in _ALSO_ONCE:
                    yield Case(operation, Injection(step, fault, lasts=False))
                yield Case(operation, Injection(step, fault, lasts=True))


def quick_cases() -> Iterator[Case]:
    """Give one fault at every call, the faults taking turns: what `make test` tries without ALL=1."""
    calls = groupby(cases(), key=lambda case: (case.operation.name, case.step))
    for number, (_, some) in enumerate(calls):
        of_this_call = list(some)
        yield of_this_call[number % len(of_this_call)]


def tried(case: Case, account: Account) -> Outcome:
    """Try a case both ways.

    Raises:
        AssertionError: something that must never be was so for longer than it may, or was lost.
    """
    returning = _tried(case, account, comes_back=True)
    if returning.mended == (ITSELF,) and returning.saw is Seen.RESULT:
        gone = returning
    else:
        gone = _tried(case, account, comes_back=case.operation.caller.always_comes_again)
    return Outcome(returning.saw.value, ", ".join(returning.mended), ", ".join(gone.mended))


@dataclass(frozen=True)
class _Run:
    saw: Seen
    mended: tuple[str, ...]


def _tried(case: Case, account: Account, *, comes_back: bool) -> _Run:
    site = Site(account, case.operation.limits)
    try:
        act = case.operation.arrange(site)
        saw = _seen(site, case, act)
        mended = _Repair(site, case.operation, act).by(saw, comes_back=comes_back)
        leaked = settle(site, comes_back=comes_back)
        return _Run(saw, (*mended, *leaked))
    finally:
        site.close()


def _seen(site: Site, case: Case, act: Act) -> Seen:
    with site.account.boundary.watch(case.injection):
        try:
            saw = act()
        except ProcessDied:
            site.restart()
            saw = Seen.NOTHING
    expected = list(case.operation.steps[: case.injection.step + 1])
    assert site.account.boundary.calls[: case.injection.step + 1] == expected
    return saw


@dataclass(frozen=True)
class _Repair:
    """What is tried to make all right again, the cheapest first."""

    site: Site
    operation: Operation
    act: Act

    def by(self, saw: Seen, *, comes_back: bool) -> tuple[str, ...]:
        """Make all right again, and say by what."""
        used: list[str] = []
        if comes_back and saw in {Seen.ERROR, Seen.NOTHING, Seen.UNFINISHED}:
            saw = self.act()
            assert saw is not Seen.ERROR, "asking again does not help"
            used.append(self.operation.caller.value + (" (refused)" if saw is Seen.REFUSAL else ""))
        if comes_back and (saw is Seen.UNFINISHED or self._wrongs()):
            self._read()
            used.append(READER)
            assert saw is not Seen.UNFINISHED or self.act() is Seen.RESULT, "the response never comes"
        if self._wrongs():
            self._sweep()
            used.append(SWEPT)
        assert self._wrongs() == []
        if not (self.operation.repeats and comes_back):
            assert len({*self.site.executions(), *self.site.tasks()}) <= 1, "a second execution"
        return tuple(used) or (ITSELF,)

    def _wrongs(self) -> list[str]:
        return [*wrongs(self.site), *self.operation.wrongs(self.site)]

    def _read(self) -> None:
        self.site.clock.time += INTERVALS.repair
        for task in self.site.tasks().values():
            modern(self.site).task("get", task.task_id)

    def _sweep(self) -> None:
        """Decision 15: right again after at most twice the interval."""
        for _ in range(2):
            if self._wrongs():
                self.site.sweep()


def wrongs(site: Site) -> list[str]:
    """Say what is so and must not be."""
    tasks, states, now = site.tasks(), site.executions(), site.clock.now()
    live = {arn: task for arn, task in tasks.items() if task.expires_at > now}
    wanted = {arn: one for arn, one in live.items() if not one.has_ended and not one.awaits_confirmation}
    running = {arn for arn, status in states.items() if status == "RUNNING"}
    known = {task.task_id for task in tasks.values()}
    return [
        *("a task without its execution" for arn in wanted if arn not in states),
        *("an execution without its task" for _ in running - set(wanted)),
        *("an answer that is not delivered" for task in wanted.values() if task.inputs.undelivered),
        *("a handle without its task" for handle in site.handles if handle not in known),
    ]


def settle(site: Site, *, comes_back: bool) -> tuple[str, ...]:
    """Bring all work to its end, check that nothing was lost, and say whether a slot was left over."""
    ended = {arn: task for arn, task in site.tasks().items() if task.has_ended}
    site.succeed(OUTPUT)
    _tell(site, comes_back=comes_back)
    tasks = site.tasks()
    for arn, task in tasks.items():
        if task.awaits_confirmation:
            continue
        _check_end(site, arn, task)
        site.process.events.record(ExecutionStatusChange(task.execution, Aborted()))  # late, and wrong
    after = site.tasks()
    assert after == tasks, "a final status changed"
    assert all(after[arn].status == task.status for arn, task in ended.items()), "a final status changed"
    return _slots(site)


def _tell(site: Site, *, comes_back: bool) -> None:
    """Let the ends be known: by the events, or where nobody comes, by the sweep."""
    if comes_back:
        site.deliver()
        return
    for _ in range(2):
        if not all(task.has_ended or task.awaits_confirmation for task in site.tasks().values()):
            site.sweep()


def _check_end(site: Site, arn: str, task: Task) -> None:
    """Hold what a task says in the end against what became of its execution."""
    if arn not in site.executions():
        assert isinstance(task.status, Failed)  # it was not to be started
        return
    match site.state(arn):
        case Succeeded(output):
            assert isinstance(task.status, Completed)
            shown = modern(site).task("get", task.task_id).result["result"]
            assert shown["structuredContent"] == parse(output or "")
            promised = site.outputs.get(task.execution)
            assert promised is None or shown["structuredContent"] == promised, "an answer was lost"
        case Aborted():
            assert isinstance(task.status, Cancelled)
        case ExecutionFailed():
            assert isinstance(task.status, Completed)
            assert task.status.result.is_error
        case other:
            raise AssertionError(f"the execution is {other}")


def _slots(site: Site) -> tuple[str, ...]:
    """Check that no slot is held by what is over; a caller at the limit frees such a one by calling."""
    open_tasks = {task.task_id for task in site.tasks().values() if not task.has_ended}
    left = site.slots() - open_tasks
    if not left:
        return ()
    site.clock.time += LONGEST_CONFIRMATION + timedelta(minutes=2)
    site.restart(replace(site.limits, active=len(site.slots())))
    called = modern(site).start()
    assert site.slots() - open_tasks == {called}, "a slot was lost"
    return (AT_THE_LIMIT,)
