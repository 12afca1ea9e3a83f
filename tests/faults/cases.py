"""One fault at one call of one operation: what the caller saw, and what repaired the effects.

Every case is judged by the contents of the account, not by what our own code reports. `wrongs` lists what must not last
longer than decision 15 allows. After the repair, the work is brought to its end, and `settle` checks that nothing was
lost. Each case runs twice: with a client that retries, and with one that never does.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from stepwire.aws.step_functions import execution_arn_of
from stepwire.aws.storage.limiter import USAGE
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.json_text import parse
from stepwire.tasks.inputs import LONGEST_CONFIRMATION
from stepwire.tasks.outcomes import Aborted, ExecutionFailed, Succeeded
from stepwire.tasks.task import Cancelled, Completed, Failed, Task
from tests.faults.boundary import Fault, Injection, ProcessDied
from tests.faults.moments import Moment
from tests.faults.operation import Operation
from tests.faults.operations import OPERATIONS
from tests.faults.seen import Act, Seen, modern
from tests.faults.site import DELAY, INTERVALS, LEAVING, LEFT, Account, Site
from tests.kits import OUTPUT

ITSELF: Final = "nothing needed"
READER: Final = "reader"
SWEPT: Final = "sweep"
AT_THE_LIMIT: Final = "slot freed at the limit"
UNREAD: Final = "but the task ends with an error"
"""Where this server may not read the object that a workflow left, its caller is told so, and nobody reads it again."""
RESTARTED: Final = re.compile(r"-(?:r\d+|[a-e])$")
"""The end of the name of an execution that retries another one, or of an arm of a race."""
# The SDK's next attempt then succeeds.
_ALSO_ONCE: Final = (Fault.THROTTLED, Fault.TIMEOUT_AFTER)


@dataclass(frozen=True)
class Case:
    """One fault at one call of an operation."""

    operation: Operation
    injection: Injection

    @property
    def step(self) -> str:
        """The name of the call."""
        return f"{self.injection.step + 1} {self.operation.steps[self.injection.step]}"

    @property
    def fault(self) -> str:
        """The name of the fault, and whether it also hit the SDK's own retry."""
        return f"{self.injection.fault.value}{'' if self.injection.lasts else ', once'}"

    def __str__(self) -> str:
        return f"{self.operation.name}: {self.step}: {self.fault}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case."""

    saw: str
    returning: str
    """What repaired the effects if the client retries, or the event is delivered again."""
    gone: str
    """What repaired the effects if nobody retries."""


def cases() -> Iterator[Case]:
    """Return every fault at every call of every operation; death before a call is death after the one before."""
    for operation in OPERATIONS:
        for step in operation.own_steps:
            for fault in Fault:
                if fault is Fault.DEATH_BEFORE and step > 0:
                    continue
                if fault is Fault.EXPIRED:  # for a handler, the same as access denied
                    continue
                if fault in _ALSO_ONCE:
                    yield Case(operation, Injection(step, fault, lasts=False))
                yield Case(operation, Injection(step, fault, lasts=True))


def quick_cases() -> Iterator[Case]:
    """Return one case of every operation, with its calls and the faults in turn: `make test` without ALL=1."""
    for number, (_, some) in enumerate(groupby(cases(), key=lambda case: case.operation.name)):
        of_this_operation = list(some)
        yield of_this_operation[7 * number % len(of_this_operation)]


def tried(case: Case, account: Account) -> Outcome:
    """Run a case with and without a retry by the client.

    Raises:
        AssertionError: something wrong lasted longer than it may, or something was lost.
    """
    scene = _scene_of(case.operation, account)
    try:
        scene.begin()
        saw = _seen(scene.site, case, scene.act)
        returning = scene.repaired(saw, client_returns=True)
        if returning == (ITSELF,) and saw is Seen.RESULT:
            gone = returning
        else:
            gone = scene.repaired(saw, client_returns=case.operation.caller.always_comes_again)
        return Outcome(saw.value, ", ".join(returning), ", ".join(gone))
    finally:
        scene.site.close()


class _Scene:
    """An operation that is arranged once for all its faults, and what repairs each state that they leave.

    Most faults of a call leave one of two states: it was made, or it was not. A state is repaired once.
    """

    def __init__(self, operation: Operation, account: Account) -> None:
        self.operation, self.site = operation, Site(account, operation.limits)
        self.act = operation.arrange(self.site)
        self._start = _Situation(self.site, self.act)
        self._known = dict[object, tuple[str, ...]]()

    def begin(self) -> None:
        """Return to what was arranged."""
        self._start.restore()

    def repaired(self, saw: Seen, *, client_returns: bool) -> tuple[str, ...]:
        """Repair the effects of a fault and settle; return what repaired them. Then all is again as it was before."""
        self.site.forget_what_was_reported()
        left = _Situation(self.site, self.act)
        if (known := (saw, client_returns, left.marks)) not in self._known:
            mended = _Repair(self.site, self.operation, self.act).by(saw, client_returns=client_returns)
            self._known[known] = (*mended, *settle(self.site, client_returns=client_returns))
            left.restore()
        return self._known[known]


class _Situation:
    """All that an operation can change: the objects of its site, and what the account keeps for it."""

    def __init__(self, site: Site, act: Act) -> None:
        self._site, self._kept = site, site.kept()
        self._moment = Moment(site, act)
        self.marks: Final = (site.marks(), self._moment.marks)
        """Equal for equal situations."""

    def restore(self) -> None:
        """Return to this situation."""
        self._moment.restore()
        self._site.keep(self._kept)


_latest: list[_Scene] = []


def _scene_of(operation: Operation, account: Account) -> _Scene:
    """Return the scene of an operation. Only the latest is kept, because cases come operation by operation."""
    if not _latest or _latest[0].operation is not operation or _latest[0].site.account is not account:
        _latest[:] = [_Scene(operation, account)]
    return _latest[0]


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
    """The possible repairs, the cheapest first."""

    site: Site
    operation: Operation
    act: Act

    def by(self, saw: Seen, *, client_returns: bool) -> tuple[str, ...]:
        """Repair the effects; return what repaired them."""
        used: list[str] = []
        if client_returns and saw in {Seen.ERROR, Seen.NOTHING, Seen.UNFINISHED}:
            saw = self.act()
            assert saw is not Seen.ERROR, "a retry by the caller must succeed"
            used.append(self.operation.caller.value + (" (refused)" if saw is Seen.REFUSAL else ""))
        if client_returns and (saw is Seen.UNFINISHED or self._wrongs()):
            self._read()
            used.append(READER)
            assert saw is not Seen.UNFINISHED or self.act() is Seen.RESULT, "the stream must end with a response"
        if self._wrongs():
            self._sweep()
            used.append(SWEPT)
        assert self._wrongs() == []
        if not (self.operation.repeats and client_returns):
            arns = (*self.site.executions(), *self.site.tasks())
            firsts = {RESTARTED.sub("", arn.rpartition(":")[2]) for arn in arns}
            assert len(firsts) <= self.operation.executions, "a retry must not start a second execution"
        return tuple(used) or (ITSELF,)

    def _wrongs(self) -> list[str]:
        return [*wrongs(self.site), *self.operation.wrongs(self.site)]

    def _read(self) -> None:
        self.site.clock.time += INTERVALS.repair
        for task in self.site.tasks().values():
            modern(self.site).task("get", task.task_id)

    def _sweep(self) -> None:
        """Decision 15: everything is repaired after at most two sweep intervals."""
        for _ in range(2):
            if self._wrongs():
                self.site.sweep()


def wrongs(site: Site) -> list[str]:
    """Return the things that are wrong now."""
    tasks, states, now = site.tasks(), site.executions(), site.clock.now()
    live = {arn: task for arn, task in tasks.items() if task.expires_at > now}
    wanted = {
        execution_arn_of(execution): one
        for one in live.values()
        if not (one.has_ended or one.awaits_confirmation or waits_for_attempt(one, now))
        for execution in map(one.execution_of, one.due_runs(now))
    }
    running = {arn for arn, status in states.items() if status == "RUNNING"}
    known = {task.task_id for task in site.all_tasks()}
    return [
        *("a task without its execution" for arn in wanted if arn not in states),
        *("an attempt that has not begun" for one in wanted.values() if one.is_retried and not site.has_begun(one)),
        *("an execution without its task" for _ in running - set(wanted)),
        *("an answer that is not delivered" for task in wanted.values() if task.inputs.undelivered),
        *("a handle without its task" for handle in site.handles if handle not in known),
    ]


def waits_for_attempt(task: Task, now: datetime) -> bool:
    """Tell whether the next attempt of a task begins later."""
    return len(task.runs) == 1 and not task.due_runs(now)


def _begin_attempts(site: Site) -> None:
    """Let the next attempts of all tasks begin: in time, or by the sweep where nothing wakes them."""
    if all(task.has_ended or (site.has_begun(task) and len(task.runs) == 1) for task in site.tasks().values()):
        return
    site.clock.time += DELAY
    site.wake()
    for _ in range(2):
        if wrongs(site):
            site.sweep()
    assert wrongs(site) == []


def settle(site: Site, *, client_returns: bool) -> tuple[str, ...]:
    """End all work, check that nothing was lost, and return whether a slot was left over."""
    ended = {arn: task for arn, task in site.tasks().items() if task.has_ended}
    if any(task.is_retried or len(task.runs) > 1 for task in site.tasks().values()):
        _begin_attempts(site)
    site.succeed(OUTPUT)
    _tell(site, client_returns=client_returns)
    while site.step_functions.running():  # each end lets the next in line begin
        site.succeed(OUTPUT)
        _tell(site, client_returns=client_returns)
    tasks = site.tasks()
    for arn, task in tasks.items():
        if task.awaits_confirmation:
            continue
        _check_end(site, arn, task)
        site.process.events.record(ExecutionStatusChange(task.execution, Aborted()))  # late and contradicting events
    after = site.tasks()
    assert _settled(after) == _settled(tasks), "a final status changed"
    assert all(after[arn].status == task.status for arn, task in ended.items()), "a final status changed"
    return _slots(site) + ((UNREAD,) if any(map(has_unread_object, after.values())) else ())


def _settled(tasks: dict[str, Task]) -> dict[str, Task]:
    """Return the tasks without the mark of races whose arms are yet to be stopped: a late event makes up for that."""
    return {
        arn: replace(task, runs=tuple(replace(run, pending=None) for run in task.runs), version=0)
        for arn, task in tasks.items()
    }


def _tell(site: Site, *, client_returns: bool) -> None:
    """Deliver the ends of executions: by events, or by the sweep if the client does not return."""
    if client_returns:
        site.deliver()
        return
    for _ in range(2):
        if not all(task.has_ended or task.awaits_confirmation for task in site.tasks().values()):
            site.sweep()


def _check_end(site: Site, arn: str, task: Task) -> None:
    """Compare the final status of a task with the end of its execution."""
    if arn not in site.executions():
        # A cancelled task has no execution; nor has one that was cancelled in line.
        assert isinstance(task.status, Failed) or (task.line and isinstance(task.status, Cancelled))
        return
    if not (site.has_begun(task) or len(task.runs) > 1):
        # Between two attempts, or an operator's redrive that Step Functions refused.
        assert isinstance(task.status, Cancelled) or (task.follows is not None and task.has_ended)
        return
    match site.state(arn):
        case Succeeded(output):
            assert isinstance(task.status, Completed)
            shown = modern(site).task("get", task.task_id).result["result"]
            if has_unread_object(task):
                return
            expected = LEFT if task.work.tool == LEAVING.name else parse(output or "")
            assert shown["structuredContent"] == expected
            promised = site.outputs.get(task.execution)
            assert promised is None or shown["structuredContent"] == promised, (
                "an acknowledged answer must reach its execution"
            )
        case Aborted():
            assert isinstance(task.status, Cancelled)
        case ExecutionFailed():
            assert isinstance(task.status, Completed)
            assert task.status.result.is_error
        case other:
            raise AssertionError(f"the execution is {other}")


def has_unread_object(task: Task) -> bool:
    """Tell whether a task has ended with an error because its output in S3 could not be read."""
    status = task.status
    return task.work.tool == LEAVING.name and isinstance(status, Completed) and status.result.is_error


def _slots(site: Site) -> tuple[str, ...]:
    """Check that no ended task holds a slot, except one that the caller's next call at the limit frees."""
    open_tasks = {task.task_id for task in site.tasks().values() if not task.has_ended}
    left = site.slots() - open_tasks
    if not left:
        return ()
    site.clock.time += LONGEST_CONFIRMATION + timedelta(minutes=2)
    site.restart(replace(site.limits, active=len(site.slots(f"{USAGE}#0"))))  # the first shard is full
    called = modern(site).start()
    assert site.slots() - open_tasks == {called}, "only active tasks may hold a slot"
    return (AT_THE_LIMIT,)
