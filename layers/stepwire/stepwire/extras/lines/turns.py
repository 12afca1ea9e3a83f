"""The turns of runs: ask for one, give it back, and hand it to the next in line. Only tools with a limit need this.

Every change of a line is decided by `stepwire.tasks.lines` and written under the condition that the line is as it was
read. The line says who holds a turn; the head of a task says that a run needs one (`Pending.TURN`). A run that has got
a turn begins after its head has been saved, so whoever ends the task before that finds a run that never begins, and
whoever ends it afterwards stops it.

What a process that dies leaves undone, a look at the line does: a run that was handed a turn and has not begun, a turn
whose run is over, and turns that are free while others wait (`mend`). Readers of a task that waits look, at most once
in `MEND_PAUSE` for all of a line, and so does the sweep.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum
from secrets import SystemRandom
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stepwire.engine.ports import Lines, WakeUps, Workflows
from stepwire.engine.recorder import Recorder
from stepwire.errors import LimitReached, StoreBusy, WakeUpsUnavailable, WorkflowsUnavailable
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.limits import InLine, LineTerms
from stepwire.tasks.lines import (
    MOST_COUNTED,
    Asking,
    Change,
    Held,
    Line,
    Place,
    Seen,
    Ticket,
    called,
    counted,
    freed,
    is_mendable,
    joined,
    joined_again,
    left,
    needs_newcomers,
    position_of,
    refusal_of,
    standing_of,
    taken,
)
from stepwire.tasks.outcomes import Running
from stepwire.tasks.runs import Pending
from stepwire.tasks.task import Task

_MOST_TRIES: Final = 20
_LONGEST_PAUSE: Final = 0.1  # seconds, after the second lost race
_MOST_CALLED: Final = 10
"""Runs that one process calls at once, because a limit was raised or a line had stood still; it wakes the next one."""
_MOST_FREED: Final = 50  # turns that one repair takes back: a transaction has at most 100 parts
_LONGEST_DELAY: Final = timedelta(minutes=15)  # of a message
_Result = TypeVar("_Result")


class Called(Struct, frozen=True):
    """A run that has been handed a turn, and is to begin."""

    line: str
    ticket: Ticket


class Standing(Struct, frozen=True):
    """What a run has in its line after it has asked for a turn."""

    in_line: InLine | None = None
    """Where it is in line; None: it has its turn."""
    called: tuple[Called, ...] = ()
    """Others that are to begin."""


class _Nobody(Enum):
    """Why a free turn goes to nobody in line."""

    WAITS = "no run waits"
    IS_NEW = "the turn is reserved for newcomers, and none is among the first who wait"


class Turns(Struct, frozen=True):
    """Gives turns to runs."""

    recorder: Recorder
    workflows: Workflows
    wake_ups: WakeUps
    report: Callable[[Exception], None]
    """Receives faults that delay what follows."""

    @property
    def lines(self) -> Lines:
        """Where the lines are."""
        return self.recorder.store.lines

    def ask(self, task: Task, run: int, *, together: int = 0) -> Standing:
        """Give a run its turn, or a place in line. Idempotent: a run that has either keeps it.

        Args:
            task: the task; without a line, a run has its turn at once.
            run: the index of the run.
            together: how many runs of a new call ask, which may be refused; 0: the call was accepted before.

        Raises:
            LimitReached: the line takes no more calls.
            StoreBusy: others change the line all the time; ask again.
        """
        line, ticket = task.line, Ticket(task.owner, task.task_id, run)
        if line is None:
            return Standing()
        begins_at, others = task.runs[run].attempt.begins_at, list[Called]()

        def attempt(now: datetime) -> Standing | None:
            seen = self.lines.see(line.line, ticket)
            if seen.turn is not None and seen.turn.is_before(begins_at):
                # Whoever recorded the end of that attempt died before this, or is about to do it.
                others.extend(self.give_back(line.line, ticket, begins_at))
                return None
            if seen.turn is not None:
                return Standing()
            if seen.line is not None and seen.place is not None:
                return self._stand(line.line, seen.line, seen.place, now)
            try:
                change = self._asked(task, _asking(task, ticket), seen, together, now)
            except LimitReached:
                self._take_over(line, seen.line, now)
                raise
            if not self._changes(line.line, seen.line, change, now, ticket):
                return None
            return self._stand(line.line, change.line, change.joins[0], now) if change.joins else Standing()

        standing = self.until_written(attempt)
        return replace(standing, called=(*others, *standing.called))

    def hold(self, task: Task, run: int) -> None:
        """Count a run that runs already, whatever the limit is: an operator has redriven its execution."""
        terms, ticket = task.line, Ticket(task.owner, task.task_id, run)
        if terms is None:
            return

        def attempt(now: datetime) -> bool | None:
            seen = self.lines.see(terms.line, ticket)
            if seen.turn is not None:
                return True
            line = seen.line or Line(terms.pool, terms.rules)
            change = called(line, seen.place, now) if seen.place else taken(line, _asking(task, ticket), now)
            return self._changes(terms.line, seen.line, change, now, ticket) or None

        self.until_written(attempt)

    def give_back(self, key: str, ticket: Ticket, begins_at: datetime | None = None) -> tuple[Called, ...]:
        """Take back the turn or the place of a run, and hand the turn to the next in line. Idempotent.

        Args:
            key: the key of the line.
            ticket: the run.
            begins_at: when its next attempt begins, which keeps the turn or the place that it has got meanwhile.

        Returns:
            The runs that are to begin.
        """

        def attempt(now: datetime) -> tuple[Called, ...] | None:
            seen = self.lines.see(key, ticket)
            if begins_at is not None and not (seen.turn and seen.turn.is_before(begins_at)):
                return ()
            if seen.line is None or (seen.turn is None and seen.place is None):
                return ()
            change, handed = self._without(key, seen.line, seen, now)
            if not self._changes(key, seen.line, change, now):
                return None
            after = change.line
            more = self._filled(key) if after.waiting and after.may_begin(now) else ()
            return (*(Called(key, one.ticket) for one in handed), *more)

        return self.until_written(attempt)

    def fill(self, key: str) -> tuple[Called, ...]:
        """Hand free turns to those who wait, and return the runs that are to begin."""
        found = list[Called]()
        for _ in range(_MOST_TRIES + _MOST_CALLED):
            now, line = self.recorder.clock.now(), self.lines.line(key)
            if line is None or not line.waiting or not (line.may_begin(now) or _is_timed(line, now)):
                break
            first = self._next(key, line)
            if isinstance(first, Place) and len(found) >= _MOST_CALLED:
                self.wake(first.ticket, timedelta())
                break
            change = _next_change(line, first, now)
            if change is None:
                break
            if self._changes(key, line, change, now):
                found += [Called(key, one.ticket) for one in change.holds]
            else:
                self._pause()
        return tuple(found)

    def mend(self, key: str) -> tuple[Called, ...]:
        """Do what processes that died have left undone in a line, and return the runs that are to begin.

        At most once in `MEND_PAUSE` for each line.
        """
        now, line = self.recorder.clock.now(), self.lines.line(key)
        if line is None or not is_mendable(line, now):
            return ()
        held = self.lines.turns(key)
        over, unbegun = self._examined(held, now)
        change = Change(counted(line, [one for one in held if one.ticket not in over], now), frees=tuple(over))
        if not self._changes(key, line, change, now):
            return ()  # whoever changed it has begun or ended something; the next look mends the rest
        return (*(Called(key, one) for one in unbegun), *self.fill(key))

    def wake(self, ticket: Ticket, delay: timedelta) -> None:
        """Let a run be woken after a delay; a fault is reported, because readers and the sweep look at the line."""
        try:
            self.wake_ups.schedule(ticket.key, min(delay, _LONGEST_DELAY), ticket.run)
        except WakeUpsUnavailable as fault:
            self.report(fault)

    def _take_over(self, terms: LineTerms, line: Line | None, now: datetime) -> None:
        """Let a line have the rules of a call that it refuses, and wake the first in line if they let more begin."""
        if line is None or line.rules == terms.rules:
            return
        after = replace(line, rules=terms.rules)
        first = next(iter(self.lines.first(terms.line)), None)
        if self._changes(terms.line, line, Change(after), now) and first is not None and after.may_begin(now):
            self.wake(first.ticket, timedelta())

    def _stand(self, key: str, line: Line, place: Place, now: datetime) -> Standing:
        """Return what a run that waits has in line, after handing out the turns that are free."""
        more = self.mend(key) if is_mendable(line, now) else ()
        if not more and (line.may_begin(now) or _is_timed(line, now)):
            more = self.fill(key)
        if any(one.ticket == place.ticket for one in more):
            return Standing(called=tuple(one for one in more if one.ticket != place.ticket))
        before = self.lines.before(key, place, MOST_COUNTED)
        return Standing(standing_of(line, position_of(line, place, before), now), more)

    def _filled(self, key: str) -> tuple[Called, ...]:
        """Hand out free turns, after a change that has handed one already: a fault must not hide that."""
        try:
            return self.fill(key)
        except Exception as fault:  # noqa: BLE001 - the next look at the line does it
            self.report(fault)
            return ()

    def _asked(self, task: Task, asking: Asking, seen: Seen, together: int, now: datetime) -> Change:
        """Return the change that gives a run a turn, or a place: at the end, or at the front if it had a turn before.

        Raises:
            LimitReached: the line takes no more calls.
        """
        terms, owner = task.line, asking.ticket.owner
        assert terms is not None  # noqa: S101 - only a task with a line asks
        line = seen.line or Line(terms.pool, terms.rules)
        if together:  # a new call knows the rules as they are now
            line = replace(line, rules=terms.rules)
        if line.may_begin(now) and not (together and line.is_drained) and self._is_next(terms.line, line, owner):
            return taken(line, asking, now)
        attempt = task.runs[asking.ticket.run].attempt
        if attempt.number > 1 and attempt.begins_at is not None:  # of an operator's redrive, it has no time
            return joined_again(line, asking, seen.share, now)
        arrival = joined(line, asking, seen.share, now)
        if not together:
            return arrival
        is_newcomer = terms.is_own or (
            needs_newcomers(line, together) and not seen.share.waiting and not self._has_turn(terms.line, owner)
        )
        refusal = refusal_of(line, seen.share.waiting, arrival.joins[0], together, now, is_newcomer=is_newcomer)
        if refusal is not None:
            raise refusal.error("waiting calls", refusal.message)
        return arrival

    def _is_next(self, key: str, line: Line, owner: Principal) -> bool:
        """Tell whether a run of a caller that asks for a turn, and has no place, may take one that is free."""
        if line.is_open_to_all:
            return not line.waiting
        if self._has_turn(key, owner):
            return False
        return not line.waiting or self._next(key, line) is _Nobody.IS_NEW

    def _has_turn(self, key: str, owner: Principal, but: Ticket | None = None) -> bool:
        return any(one.ticket != but for one in self.lines.turns(key, owner))

    def _next(self, key: str, line: Line, leaving: Ticket | None = None) -> "Place | _Nobody":
        """Return the first place in line that may have a free turn.

        `leaving`: whose turn this very change gives back.
        """
        first = self.lines.first(key, 1 if line.is_open_to_all else MOST_COUNTED)
        if not first:
            return _Nobody.WAITS
        if line.is_open_to_all:
            return first[0]
        owners = dict.fromkeys(one.ticket.owner for one in first)
        new = next((one for one in owners if not self._has_turn(key, one, leaving)), None)
        return next((one for one in first if one.ticket.owner == new), _Nobody.IS_NEW)

    def _without(self, key: str, line: Line, seen: Seen, now: datetime) -> tuple[Change, tuple[Held, ...]]:
        """Return the change that takes a run out of a line, and the turns that it hands to others."""
        if seen.turn is None:
            # Somebody else must be woken for all: the task of whoever leaves may be gone by then.
            return (left(replace(line, wakes_at=None), seen.place) if seen.place else Change(line)), ()
        change = freed(line, seen.turn, now)
        if change.line.waiting and change.line.may_begin(now):
            first = self._next(key, change.line, seen.turn.ticket)
            if isinstance(first, Place) and first.expires_at > now:
                change = change.then(called(change.line, first, now))
        return change, change.holds

    def _changes(
        self, key: str, before: Line | None, change: Change, now: datetime, asking: Ticket | None = None
    ) -> bool:
        """Write a change; if only the rate keeps the next run from beginning, let somebody be woken then."""
        after = change.line
        if not _is_timed(after, now):
            return self.lines.change(key, before, change, now)
        delay = min(after.begins_at(now) - now, _LONGEST_DELAY)
        if not self.lines.change(key, before, replace(change, line=replace(after, wakes_at=now + delay)), now):
            return False
        first = asking or next((one.ticket for one in self.lines.first(key)), None)
        if first is not None:
            self.wake(first, delay)
        return True

    def _examined(self, held: Sequence[Held], now: datetime) -> tuple[list[Ticket], list[Ticket]]:
        """Return which turns are of runs that are over, and which of runs that have not begun."""
        over, unbegun = list[Ticket](), list[Ticket]()
        known = self.recorder.store.load_all([one.ticket.key for one in held])
        for turn in held:
            ticket = turn.ticket
            task = known.get(ticket.key)
            if task is not None and _holds(task, ticket.run, now):
                continue
            task = self.recorder.store.load(ticket.key)  # consistently: what was read may be older than the turn
            if task is not None and _holds(task, ticket.run, now):
                continue
            if task is None:
                over += [ticket] if self._is_over(turn) else []
            elif not task.has_ended and _waits_for(task, turn, now):
                unbegun.append(ticket)
            else:
                over.append(ticket)
        return over[:_MOST_FREED], unbegun[:_MOST_CALLED]

    def _is_over(self, turn: Held) -> bool:
        """Tell whether the execution of a task that is gone is over: whoever cleans up after the task stops it."""
        try:
            return not isinstance(self.workflows.describe(turn.execution), Running)
        except WorkflowsUnavailable as fault:  # an execution that cannot be described keeps no other turn from mending
            self.report(fault)
            return False

    def until_written(self, attempt: Callable[[datetime], _Result | None]) -> _Result:
        """Return what an attempt returns that has lost no race: None says so, and StoreBusy, which a read can meet too.

        Raises:
            StoreBusy: all attempts have lost.
        """
        for number in range(_MOST_TRIES):
            if number > 1:  # no pause after the first lost race: two writers rarely meet again
                self._pause()
            with suppress(StoreBusy):
                result = attempt(self.recorder.clock.now())
                if result is not None:
                    return result
        raise StoreBusy

    def _pause(self) -> None:
        self.recorder.clock.sleep(SystemRandom().uniform(0, _LONGEST_PAUSE))


def _asking(task: Task, ticket: Ticket) -> Asking:
    return Asking(ticket, task.execution_of(ticket.run), task.expires_at)


def _next_change(line: Line, first: "Place | _Nobody", now: datetime) -> Change | None:
    """Return the change that hands the next free turn to the first in line, or makes the line right; None: neither."""
    if first is _Nobody.WAITS:
        return Change(replace(line, waiting=0))
    if first is _Nobody.IS_NEW:
        return None
    if line.may_begin(now):
        return left(line, first) if first.expires_at <= now else called(line, first, now)
    return Change(line) if _is_timed(line, now) else None


def _is_timed(line: Line, now: datetime) -> bool:
    """Tell whether somebody must be woken when the rate lets the next run begin."""
    if not line.waiting or line.is_paused or line.is_full or line.begins_at(now) <= now:
        return False
    return line.wakes_at is None or line.wakes_at <= now


def _holds(task: Task, run: int, now: datetime) -> bool:
    """Tell whether a run has begun with its turn, and is not over as far as is known."""
    if run >= len(task.runs):
        return False
    one = task.runs[run]
    return one.pending is Pending.STOP or (not task.has_ended and one.is_due(now))


def _waits_for(task: Task, turn: Held, now: datetime) -> bool:
    """Tell whether a run is to begin with a turn that it holds."""
    run = turn.ticket.run
    return run in task.waiting_runs(now) and not turn.is_before(task.runs[run].attempt.begins_at)


def tickets_of(key: TaskKey, runs: Sequence[int]) -> tuple[Ticket, ...]:
    """Return the tickets of runs of a task."""
    return tuple(Ticket(key.owner, key.task_id, run) for run in runs)
