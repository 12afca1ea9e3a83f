"""The gate: ask for a turn, give it back, and hand it to the next in line.

Every change of a line is decided by `rules` and written under the condition that the line is as it was read. The line
says who holds a turn; the head of a task says that a run needs one (`Pending.TURN`). A run that has got a turn begins
after its head has been saved, so whoever ends the task before that finds a run that never begins, and whoever ends it
afterwards stops it.

What a process that dies leaves undone, a look at the line does: a run that was handed a turn and has not begun, a turn
whose run is over, a place of a task that has ended, and turns that are free while others wait (`mend`). Readers of a
task that waits look, at most once in `MEND_PAUSE` for all of a line, and so does the sweep.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum
from secrets import SystemRandom
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stepwire.engine.ports import Asked, Turn, WakeUps, Workflows
from stepwire.engine.recorder import Recorder
from stepwire.errors import LimitReached, StoreBusy, WakeUpsUnavailable, WorkflowsUnavailable
from stepwire.extras.lines.limits import terms_of
from stepwire.extras.lines.ports import Lines
from stepwire.extras.lines.rules import (
    MOST_COUNTED,
    Asking,
    Change,
    Held,
    Line,
    Place,
    Seen,
    Ticket,
    called,
    freed,
    is_mendable,
    joined,
    joined_again,
    left,
    left_behind,
    mended,
    needs_newcomers,
    position_of,
    refusal_of,
    standing_of,
    taken,
)
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.line import InLine, LineTerms
from stepwire.tasks.outcomes import Running
from stepwire.tasks.runs import Pending
from stepwire.tasks.task import Task

_MOST_TRIES: Final = 20
_LONGEST_PAUSE: Final = 0.1  # seconds, after the second lost race
_MOST_CALLED: Final = 10
"""Runs that one process calls at once, because a limit was raised or a line had stood still; it wakes the next one."""
MOST_FREED: Final = 50
"""Turns that one repair takes back. A transaction has at most 100 parts: each turn is one, and the line itself two."""
MOST_LEFT: Final = 16
"""Places that one repair takes out of the line: each is two parts, and its caller's share another one."""
_LONGEST_DELAY: Final = timedelta(minutes=15)  # of a message
_Result = TypeVar("_Result")


class _Standing(Struct, frozen=True):
    """What a run has in its line after it has asked for a turn."""

    in_line: InLine | None = None
    """Where it is in line; None: it has its turn."""
    others: tuple[Turn, ...] = ()
    """Others that are to begin."""


class _Nobody(Enum):
    """Why a free turn goes to nobody in line."""

    WAITS = "no run waits"
    IS_NEW = "the turn is reserved for newcomers, and none is among the first who wait"


class Turns(Struct, frozen=True):
    """`Gate` with lines."""

    lines: Lines
    recorder: Recorder
    workflows: Workflows
    wake_ups: WakeUps
    report: Callable[[Exception], None]
    """Receives faults that delay what follows."""

    def ask(self, task: Task, runs: Sequence[int], /, *, is_new: bool) -> Asked:
        taken, standings, others = list[int](), list[InLine](), list[Turn]()
        for index in runs:
            standing = self._ask(task, index, together=len(runs) if is_new and index == runs[0] else 0)
            others += standing.others
            if standing.in_line is None:
                taken.append(index)
            else:
                standings.append(standing.in_line)
        return Asked(frozenset(taken), standings[0] if standings else None, tuple(others))

    def _ask(self, task: Task, run: int, *, together: int) -> _Standing:
        """Give a run its turn, or a place in line.

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
            return _Standing()
        begins_at, others = task.runs[run].attempt.begins_at, list[Turn]()

        def attempt(now: datetime) -> _Standing | None:
            seen = self.lines.see(line.line, ticket)
            if seen.turn is not None and seen.turn.is_before(begins_at):
                # Whoever recorded the end of that attempt died before this, or is about to do it.
                others.extend(self._over(line.line, ticket, begins_at))
                return None
            if seen.turn is not None:
                return _Standing()
            if seen.line is not None and seen.place is not None:
                return self._stand(line.line, seen.line, seen.place, now)
            try:
                change = self._asked(task, _asking(task, ticket), seen, together, now)
            except LimitReached:
                self._take_over(line, seen.line, now)
                raise
            if not self._changes(line.line, seen.line, change, now, ticket):
                return None
            return self._stand(line.line, change.line, change.joins[0], now) if change.joins else _Standing()

        standing = self.until_written(attempt)
        return replace(standing, others=(*others, *standing.others))

    def hold(self, task: Task, run: int) -> None:
        terms, ticket = task.line, Ticket(task.owner, task.task_id, run)
        if terms is None:
            return

        def attempt(now: datetime) -> bool | None:
            seen = self.lines.see(terms.line, ticket)
            if seen.turn is not None:
                return True
            line = seen.line or Line(terms.pool, terms_of(terms).rules)
            change = called(line, seen.place, now) if seen.place else taken(line, _asking(task, ticket), now)
            return self._changes(terms.line, seen.line, change, now, ticket) or None

        self.until_written(attempt)

    def over(self, turn: Turn, begins_at: datetime | None = None) -> tuple[Turn, ...]:
        return self._over(turn.line, Ticket(turn.key.owner, turn.key.task_id, turn.run), begins_at)

    def _over(self, key: str, ticket: Ticket, begins_at: datetime | None) -> tuple[Turn, ...]:
        def attempt(now: datetime) -> tuple[Turn, ...] | None:
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
            return (*(_turn(key, one.ticket) for one in handed), *more)

        return self.until_written(attempt)

    def due(self, line: str) -> tuple[Turn, ...]:
        found = list[Turn]()
        for _ in range(_MOST_TRIES + _MOST_CALLED):
            now, state = self.recorder.clock.now(), self.lines.line(line)
            if state is None or not state.waiting or not (state.may_begin(now) or _is_timed(state, now)):
                break
            first = self._next(line, state)
            if isinstance(first, Place) and len(found) >= _MOST_CALLED:
                self.wake(first.ticket, timedelta())
                break
            change = _next_change(state, first, now)
            if change is None:
                break
            if self._changes(line, state, change, now):
                found += [_turn(line, one.ticket) for one in change.holds]
            else:
                self._pause()
        return tuple(found)

    def mend(self, key: str) -> tuple[Turn, ...]:
        """Do what processes that died have left undone in a line, and return the runs that are to begin.

        At most once in `MEND_PAUSE` for each line.
        """
        now, line = self.recorder.clock.now(), self.lines.line(key)
        if line is None or not is_mendable(line, now):
            return ()
        held, first = self.lines.turns(key), self.lines.first(key, MOST_COUNTED) if line.waiting else ()
        known = self.recorder.store.load_all([one.ticket.key for one in (*held, *first)])
        over, unbegun = self._examined(held, known, now)
        behind = left_behind(first, {name for name, task in known.items() if task.has_ended}, now)
        change = mended(line, held, over, behind[:MOST_LEFT], now)
        if not self._changes(key, line, change, now):
            return ()  # whoever changed it has begun or ended something; the next look mends the rest
        return (*(_turn(key, one) for one in unbegun), *self.due(key))

    def sweep(self, begin: Callable[[Collection[Turn]], None]) -> timedelta:
        longest = timedelta()  # each line is one look, however many wait
        try:
            keys = self.lines.in_use()
        except Exception as fault:  # noqa: BLE001 - the tasks must be swept all the same
            self.report(fault)
            return longest
        for key in keys:
            try:
                begin(self.mend(key))
                now = self.recorder.clock.now()
                longest = max(longest, *(now - one.joined_at for one in self.lines.first(key)), timedelta())
            except Exception as fault:  # noqa: BLE001 - the other lines must be mended too
                self.report(fault)
        return longest

    def wake(self, ticket: Ticket, delay: timedelta) -> None:
        """Let a run be woken after a delay; a fault is reported, because readers and the sweep look at the line."""
        try:
            self.wake_ups.schedule(ticket.key, min(delay, _LONGEST_DELAY), ticket.run)
        except WakeUpsUnavailable as fault:
            self.report(fault)

    def _take_over(self, terms: LineTerms, line: Line | None, now: datetime) -> None:
        """Let a line have the rules of a call that it refuses, and wake the first in line if they let more begin."""
        rules = terms_of(terms).rules
        if line is None or line.rules == rules:
            return
        after = replace(line, rules=rules)
        first = next(iter(self.lines.first(terms.line)), None)
        if self._changes(terms.line, line, Change(after), now) and first is not None and after.may_begin(now):
            self.wake(first.ticket, timedelta())

    def _stand(self, key: str, line: Line, place: Place, now: datetime) -> _Standing:
        """Return what a run that waits has in line, after handing out the turns that are free."""
        more = self.mend(key) if is_mendable(line, now) else ()
        if not more and (line.may_begin(now) or _is_timed(line, now)):
            more = self.due(key)
        mine = _turn(key, place.ticket)
        if mine in more:
            return _Standing(others=tuple(one for one in more if one != mine))
        before = self.lines.before(key, place, MOST_COUNTED)
        return _Standing(standing_of(line, position_of(line, place, before), now), more)

    def _filled(self, key: str) -> tuple[Turn, ...]:
        """Hand out free turns, after a change that has handed one already: a fault must not hide that."""
        try:
            return self.due(key)
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
        line = seen.line or Line(terms.pool, terms_of(terms).rules)
        if together:  # a new call knows the rules as they are now
            line = replace(line, rules=terms_of(terms).rules)
        if line.may_begin(now) and not (together and line.is_drained) and self._is_next(terms.line, line, owner):
            return taken(line, asking, now)
        attempt = task.runs[asking.ticket.run].attempt
        if attempt.number > 1 and attempt.begins_at is not None:  # of an operator's redrive, it has no time
            return joined_again(line, asking, seen.share, now)
        arrival = joined(line, asking, seen.share, now)
        if not together:
            return arrival
        is_newcomer = terms_of(terms).is_own or (
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

    def _examined(
        self, held: Sequence[Held], known: Mapping[TaskKey, Task], now: datetime
    ) -> tuple[list[Ticket], list[Ticket]]:
        """Return which turns are of runs that are over, and which of runs that have not begun.

        `known`: their tasks, which may be older than the turns.
        """
        over, unbegun = list[Ticket](), list[Ticket]()
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
        return over[:MOST_FREED], unbegun[:_MOST_CALLED]

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


def _turn(key: str, ticket: Ticket) -> Turn:
    return Turn(key, ticket.key, ticket.run)
