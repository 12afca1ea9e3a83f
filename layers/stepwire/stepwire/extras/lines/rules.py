"""A line: who holds a turn, who waits, and who is next. Pure decisions; the store keeps the state.

A run of a limited tool begins only with a turn of its line, and gives it back when its execution is over. The rules:

- A turn that is given back goes to the first of those who wait, in the same write; nobody overtakes the line.
- Some turns and some places are reserved for newcomers, which have neither a turn nor a place (`limiter`). So the first
  of those who wait is the first newcomer while only reserved turns are free.
- Callers take turns. Each place in the line has a round: the one after that which was served last, or after the last
  one of its caller, whichever is later (start-time fair queueing). The lowest round is served first, and within a
  round, whoever came first. So a caller's thousand calls stand in a thousand rounds, and another's one in the first.
- Rounds only grow, so every place is overtaken by a bounded number of others. An operator may move one into round 0,
  before all that were not moved so.
- A run that has had a turn before, and is tried again, comes back to the round that is served now.
- A line is one state with a version, and every change of it is one write. So a turn is never given twice.
"""

from collections.abc import Collection, Container, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain, repeat
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.codec import MILLISECOND
from stepwire.extras.lines.limits import Rules
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.limiter import Places, Refused
from stepwire.tasks.line import InLine, span
from stepwire.tasks.task import Execution

MOST_COUNTED: Final = 50
"""Places that are read to tell a position; a later one is estimated from its round. With 10,000 that wait and are
polled, reading them is most of what a line's partition bears (docs/performance.md)."""
MEND_PAUSE: Final = timedelta(seconds=60)
"""The least time between two repairs of a line: it bounds what they read, however many runs wait."""
_NEWEST_PART: Final = 8  # the newest execution changes the average by an eighth
_MOST_REMEMBERED: Final = 16  # turns; the newest say when the next is given back
_SHORTEST_RETRY: Final = timedelta(seconds=1)
_UNKNOWN_RETRY: Final = timedelta(seconds=10)


class Ticket(Struct, frozen=True):
    """A run that holds a turn, or waits for one."""

    owner: Principal
    task_id: TaskId
    run: int = 0

    @property
    def key(self) -> TaskKey:
        """The key of its task."""
        return TaskKey(self.owner, self.task_id)


class Asking(Struct, frozen=True):
    """A run that asks for a turn."""

    ticket: Ticket
    execution: Execution
    """What begins with the turn."""
    expires_at: datetime
    """When its task expires."""


class Held(Struct, frozen=True):
    """A turn that is held."""

    ticket: Ticket
    execution: Execution
    """What begins with the turn: it says whether the turn is over where the task is gone."""
    since: datetime

    def is_before(self, begins_at: datetime | None) -> bool:
        """Tell whether it is of an attempt before the one that begins then, which asks for a turn no earlier."""
        return begins_at is not None and self.since < begins_at


class Place(Struct, frozen=True):
    """A place in a line."""

    ticket: Ticket
    execution: Execution
    round: int
    """Whose turn it is; 0: an operator has moved it to the front."""
    joined_at: datetime
    expires_at: datetime
    """When its task expires."""


class Share(Struct, frozen=True):
    """What a caller has in a line."""

    waiting: int = 0
    round: int = 0
    """Of its last place; means nothing if none waits."""


class Line(Struct, frozen=True, omit_defaults=True):
    """The state of a line."""

    pool: str
    rules: Rules
    """As they were last seen."""
    held: int = 0
    """How many turns are held."""
    waiting: int = 0
    round: int = 0
    """The latest round that was served."""
    furthest: int = 0
    """The latest round in which anybody was placed."""
    is_paused: bool = False
    """Whether an operator lets nobody begin."""
    is_drained: bool = False
    """Whether an operator lets nobody join."""
    took: timedelta | None = None
    """How long executions took lately; None: none has ended yet."""
    running: tuple[datetime, ...] = ()
    """When the newest turns that are held were taken, oldest first."""
    started: tuple[datetime, ...] = ()
    """The times of the last starts, oldest first, if the rules have a rate."""
    wakes_at: datetime | None = None
    """When somebody is woken because the rate then lets a run begin."""
    mended_at: datetime | None = None
    version: int = 0
    """Number of changes, for optimistic locking; only the store changes it."""

    @property
    def is_restricted(self) -> bool:
        """Tell whether an operator has paused or drained it."""
        return self.is_paused or self.is_drained

    @property
    def is_in_use(self) -> bool:
        """Tell whether somebody waits, or an operator has restricted it."""
        return self.waiting > 0 or self.is_restricted

    @property
    def is_full(self) -> bool:
        """Tell whether all turns are held; more than all, after the limit was lowered or an operator's redrive."""
        return self.rules.most is not None and self.held >= self.rules.most

    @property
    def is_open_to_all(self) -> bool:
        """Tell whether a turn is free that is not reserved for newcomers."""
        return self.rules.most is None or self.held < Places(self.rules.most, self.rules.reserved).each

    def begins_at(self, at: datetime) -> datetime:
        """Return when the rate lets the next run begin: now, or later."""
        starts = self.rules.starts
        if starts is None or len(self.started) < starts.most:
            return at
        return max(at, self.started[-starts.most] + starts.every)

    def may_begin(self, at: datetime) -> bool:
        """Tell whether another run may begin now."""
        return not (self.is_paused or self.is_full) and self.begins_at(at) <= at


class Seen(Struct, frozen=True):
    """A line, and what a run has in it, as they were at one moment."""

    line: Line | None
    """None: nobody has asked for a turn of it."""
    turn: Held | None = None
    place: Place | None = None
    share: Share = Share()
    """What the run's caller has in it."""


class Change(Struct, frozen=True):
    """A change of a line, which is written as a whole or not at all."""

    line: Line
    holds: tuple[Held, ...] = ()
    """Turns that are held from now on."""
    frees: tuple[Ticket, ...] = ()
    """Turns that are held no more."""
    joins: tuple[Place, ...] = ()
    leaves: tuple[Place, ...] = ()
    moves: tuple[tuple[Place, Place], ...] = ()
    """Places that are served at another time: as they were, and as they are."""
    share: Share | None = None
    """What the caller of the only place that joins has in the line then."""

    def then(self, following: "Change") -> "Change":
        """Return this change and the one that follows it, in which nobody joins, as one."""
        return Change(
            following.line,
            self.holds + following.holds,
            self.frees + following.frees,
            self.joins + following.joins,
            self.leaves + following.leaves,
            self.moves,
            self.share,
        )


class LineFull(Refused, frozen=True):
    """No more runs may wait."""

    message: str
    """Why, and when to call again."""


def taken(line: Line, asking: Asking | Place, at: datetime) -> Change:
    """Give a run a turn."""
    starts = line.rules.starts
    started = () if starts is None else (*line.started, at)[-starts.most :]
    running = (*line.running, at)[-_MOST_REMEMBERED:]
    held = Held(asking.ticket, asking.execution, at)
    return Change(replace(line, held=line.held + 1, running=running, started=started), holds=(held,))


def joined(line: Line, asking: Asking, share: Share, at: datetime) -> Change:
    """Place a run behind the last one of its caller."""
    last = share.round if share.waiting else line.round
    number = max(line.round, last) + 1
    place = Place(asking.ticket, asking.execution, number, at, asking.expires_at)
    return _placed(line, place, Share(share.waiting + 1, number))


def joined_again(line: Line, asking: Asking, share: Share, at: datetime) -> Change:
    """Place a run that has had a turn before in the round that is served now."""
    last = share.round if share.waiting else line.round
    place = Place(asking.ticket, asking.execution, line.round, at, asking.expires_at)
    return _placed(line, place, Share(share.waiting + 1, last))


def _placed(line: Line, place: Place, share: Share) -> Change:
    # Nobody waited until now, so a repair is not due before a while.
    mended_at = line.mended_at if line.waiting else place.joined_at
    after = replace(line, waiting=line.waiting + 1, furthest=max(line.furthest, place.round), mended_at=mended_at)
    return Change(after, joins=(place,), share=share)


def left(line: Line, place: Place) -> Change:
    """Take a run out of the line."""
    return Change(replace(line, waiting=max(0, line.waiting - 1)), leaves=(place,))


def moved_to_front(line: Line, place: Place) -> Change:
    """Let a run that waits be served before all that were not moved so."""
    return Change(line, moves=() if not place.round else ((place, replace(place, round=0)),))


def freed(line: Line, turn: Held, at: datetime) -> Change:
    """Take back the turn of a run whose execution is over."""
    lasted = max(timedelta(), at - turn.since) // MILLISECOND * MILLISECOND
    took = lasted if line.took is None else line.took + (lasted - line.took) / _NEWEST_PART
    running = list(line.running)
    if turn.since in running:
        running.remove(turn.since)
    after = replace(line, held=max(0, line.held - 1), took=took // MILLISECOND * MILLISECOND, running=tuple(running))
    return Change(after, frees=(turn.ticket,))


def called(line: Line, place: Place, at: datetime) -> Change:
    """Give the turn to a run that waits."""
    gone = left(replace(line, round=max(line.round, place.round)), place)
    return gone.then(taken(gone.line, place, at))


def left_behind(places: Iterable[Place], ended: Container[TaskKey], at: datetime) -> tuple[Place, ...]:
    """Return the places of runs that never begin: of tasks that have ended, or have expired.

    `ended`: the keys of those that are known to have ended. A task that nobody finds may have been written only now.
    """
    return tuple(one for one in places if one.expires_at <= at or one.ticket.key in ended)


def mended(line: Line, held: Iterable[Held], over: Collection[Ticket], behind: Sequence[Place], at: datetime) -> Change:
    """Take back turns and places that nobody needs, and count the turns anew.

    Args:
        line: the line.
        held: all turns that are held.
        over: those of them that are taken back.
        behind: the places that are taken out of the line.
        at: now.
    """
    kept = sorted(one.since for one in held if one.ticket not in over)
    after = replace(
        line,
        held=len(kept),
        waiting=max(0, line.waiting - len(behind)),
        running=tuple(kept[-_MOST_REMEMBERED:]),
        wakes_at=None if behind else line.wakes_at,  # one of them may be whoever is woken for all
        mended_at=at,
    )
    return Change(after, frees=tuple(over), leaves=tuple(behind))


def is_mendable(line: Line, at: datetime) -> bool:
    """Tell whether the last repair is long enough ago for another one."""
    return line.mended_at is None or line.mended_at <= at - MEND_PAUSE


def position_of(line: Line, place: Place, before: int) -> int:
    """Return the position of a place in its line, from 1.

    `before`: how many places are before it, counted up to `MOST_COUNTED`.
    """
    if before < MOST_COUNTED:
        return before + 1
    return max(MOST_COUNTED + 1, _ahead(line, place))


def _ahead(line: Line, place: Place) -> int:
    """Estimate from its round how many of those who wait are before a place."""
    rounds = line.furthest - line.round
    part = min(1.0, max(0.0, (place.round - line.round) / rounds)) if rounds > 0 else 1.0
    return round(part * line.waiting)


def wait_of(line: Line, position: int, at: datetime) -> timedelta | None:
    """Estimate how long the run at a position waits; None: nobody can know.

    What runs now counts as much as what has ended: whoever has held a turn for a day does not end in a second.
    """
    if line.is_paused:
        return None
    by_rate = timedelta()
    if line.rules.starts is not None:
        starts = line.rules.starts
        by_rate = line.begins_at(at) - at + (position - 1) / starts.most * starts.every
    if line.rules.most is None:
        return by_rate
    if line.took is None and (not line.running or at - line.running[-1] < _UNKNOWN_RETRY):
        return None
    usual = line.took or timedelta()
    if not line.running:
        return max(by_rate, usual * position / line.rules.most)
    older = repeat(line.running[0], max(0, line.held - len(line.running)))
    return max(by_rate, _wait_for_turns(position, chain(line.running, older), usual, at))


def _wait_for_turns(position: int, held_since: Iterable[datetime], usual: timedelta, at: datetime) -> timedelta:
    """Estimate when so many turns are free, while all are held, since these times.

    A turn is held on for as long as usual, or for as long as it is held already, whichever is longer.
    """
    left = [max(usual, at - since, timedelta(milliseconds=1)) for since in held_since]
    return position / sum(timedelta(seconds=1) / one for one in left) * timedelta(seconds=1)


def needs_newcomers(line: Line, count: int) -> bool:
    """Tell whether so many more places are left for newcomers alone."""
    return line.waiting + count > Places.shared(line.rules.waiting).each


def refusal_of(line: Line, mine: int, place: Place, count: int, at: datetime, *, is_newcomer: bool) -> LineFull | None:
    """Return why so many more runs of a caller may not wait; None: they may.

    Args:
        line: the line.
        mine: how many runs of the caller wait.
        place: the place of the first.
        count: how many more ask.
        at: now.
        is_newcomer: whether the caller has neither a turn nor a place, or nobody else needs the line.
    """
    rules, each = line.rules, wait_of(line, 1, at)
    soon = max(_SHORTEST_RETRY, each or _UNKNOWN_RETRY)
    if line.is_drained:
        return LineFull(soon, "The line of this tool takes no calls at the moment: its operator has closed it.")
    after = line.waiting + count
    if after > rules.waiting:
        words = f"The line of this tool is full: {line.waiting} calls wait, of at most {rules.waiting}."
        return LineFull(soon, f"{words} Call again {_in(soon)}.")
    if needs_newcomers(line, count) and not is_newcomer:
        words = f"What is left of the line of this tool is for other callers; calls of yours that wait: {mine}."
        return LineFull(soon, f"{words} Call again {_in(soon)}.")
    ahead = _ahead(line, place)
    wait = wait_of(line, ahead + count, at)
    if rules.longest is not None and wait is not None and wait > rules.longest:
        words = f"The call would have to wait {span(wait)}, and may wait at most {span(rules.longest)}."
        later = max(_SHORTEST_RETRY, wait - rules.longest)
        return LineFull(later, f"{words} {ahead} others would be before it. Call again {_in(later)}.")
    return None


def standing_of(line: Line, position: int, at: datetime) -> InLine:
    """Return where a run stands that has this position."""
    wait = wait_of(line, position, at)
    return InLine(position, None if wait is None else at + wait // MILLISECOND * MILLISECOND, line.is_paused)


def _in(time: timedelta) -> str:
    return f"in {span(time)}"


def waiting_by_caller(places: Iterable[Place]) -> dict[Principal, int]:
    """Return how many runs of each caller wait, the most first."""
    counted = dict[Principal, int]()
    for place in places:
        counted[place.ticket.owner] = counted.get(place.ticket.owner, 0) + 1
    return dict(sorted(counted.items(), key=lambda one: -one[1]))
