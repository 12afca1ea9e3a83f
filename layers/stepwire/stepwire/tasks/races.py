"""Races: several executions work on one task, and as many successes as the quorum end it. Pure.

An arm is one of these executions: a state machine, what it alone gets as input, and when it starts. Its letter is in
the names of its executions, so an event leads to its arm. The rule: an arm that has ended never changes, so an end that
is late, or that comes twice, counts once. What follows an end is decided here: another attempt of the arm (`retries`),
the start of an arm that waits, or nothing.
"""

from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.json_text import JsonObject, load_json, write
from stepwire.tasks.ids import LETTERS
from stepwire.tasks.retries import Attempt, Retry, next_attempt

MOST_ARMS: Final = len(LETTERS)
LARGEST_CONSTANTS: Final = 1_024
"""Bytes of JSON of the constants of all arms: they are in the head of each task."""
LONGEST_ERROR: Final = 300  # characters of an arm's error; the errors of all arms are in the head
NO_RETRY: Final = Retry(1, ())
META_RACE: Final = "stepwire/race"
"""The server's own member of `_meta` on the result of a race: which arm has won, and what became of the others."""
ALL_STOPPED: Final = "The executions were stopped."
_SKEW: Final = timedelta(seconds=1)
"""By how much the clocks of two function instances may differ: an arm may have started so much too early."""
_LONGEST_SAVE: Final = timedelta(seconds=60)
"""More than passes from the decision about a task to its save: until then, others may start arms that become due."""
_NOTHING: Final = timedelta()


class Standing(Enum):
    """How an arm stands."""

    OPEN = "open"
    """It runs, or will start."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Its last attempt failed."""
    REFUSED = "refused"
    """Its attempt could not be started; perhaps another request has started it, as permissions change gradually."""
    STOPPED = "stopped"
    """An operator stopped it."""


class Arm(Struct, frozen=True):
    """One of the executions that race."""

    name: str
    """As the manifest and the result call it."""
    letter: str
    state_machine_arn: str
    """With the version or the alias, where the manifest names one."""
    role: str = ""
    """ARN of the role that runs a state machine of another account or Region; empty: the functions' own."""
    constants: str = ""
    """JSON text of an object: members of its input that are always so; empty: none."""
    delay: timedelta = _NOTHING
    """How long after the task begins it starts: the head start of the others."""
    attempt: Attempt = Attempt(NO_RETRY)
    """The attempt that runs, or the next one. An arm that starts with the task has no time of its own."""
    standing: Standing = Standing.OPEN
    place: int = 0
    """Of an arm that succeeded: its place among those that did, from 1."""
    error: str = ""
    """Of an arm that failed: what its caller may read about it."""

    @property
    def suffix(self) -> str:
        """End of the name of its execution."""
        return f"-{self.letter}r{self.attempt.run}" if self.attempt.run > 1 else f"-{self.letter}"

    @property
    def is_open(self) -> bool:
        """Tell whether it runs, or will start."""
        return self.standing is Standing.OPEN

    @property
    def may_run(self) -> bool:
        """Tell whether an execution of it may run, or start."""
        return self.standing in {Standing.OPEN, Standing.REFUSED}

    @property
    def waits_for_start(self) -> bool:
        """Tell whether it has a start of its own, which no process may have made yet."""
        return self.is_open and self.attempt.number == 1 and self.attempt.begins_at is not None

    def is_due(self, at: datetime) -> bool:
        """Tell whether its execution must be there."""
        begins_at = self.attempt.begins_at
        return self.is_open and (begins_at is None or begins_at <= at)

    def input_text(self, common: str) -> str:
        """Return its input as JSON text, from the input that all arms have in common."""
        return write({**load_json(common), **load_json(self.constants)}) if self.constants else common


class Race(Struct, frozen=True):
    """The arms of a task, or of a tool."""

    arms: tuple[Arm, ...]
    quorum: int = 1
    """How many arms must succeed."""
    slots: int = 1
    """How many slots of its caller's limit of active tasks the task holds: one, or one for each arm."""

    @property
    def winner(self) -> Arm | None:
        """The arm whose success completed the quorum."""
        return next((arm for arm in self.arms if arm.place == self.quorum), None)

    @property
    def successes(self) -> int:
        """How many arms have succeeded."""
        return sum(arm.standing is Standing.SUCCEEDED for arm in self.arms)

    @property
    def is_lost(self) -> bool:
        """Tell whether too few arms are left for the quorum."""
        return self.successes + sum(arm.is_open for arm in self.arms) < self.quorum

    def result_meta(self, ended_at: datetime) -> JsonObject:
        """Return the member of `_meta` in which the result says what became of the arms."""
        winner = {} if self.winner is None else {"winner": self.winner.name}
        return {
            META_RACE: {**winner, "arms": [{"name": arm.name, "outcome": _outcome(arm, ended_at)} for arm in self.arms]}
        }

    @property
    def was_stopped(self) -> bool:
        """Tell whether all arms that have ended were stopped by an operator."""
        return {arm.standing for arm in self.arms} <= {Standing.OPEN, Standing.STOPPED}

    @property
    def largest_constants(self) -> int:
        """The most bytes by which an arm's input is larger than the common one."""
        return max(len(arm.constants.encode()) for arm in self.arms)

    def arm(self, letter: str) -> Arm:
        """Return the arm with this letter."""
        return next(arm for arm in self.arms if arm.letter == letter)

    def due(self, at: datetime) -> tuple[Arm, ...]:
        """Return the arms whose executions must be there."""
        return tuple(arm for arm in self.arms if arm.is_due(at))

    def left_running(self, ended_at: datetime, saved_at: datetime | None = None) -> tuple[Arm, ...]:
        """Return the arms that may run although their task has ended.

        Args:
            ended_at: when that was decided.
            saved_at: a time after it was saved; None: it is not saved yet, so more arms may come to run.
        """
        last = ended_at + _LONGEST_SAVE
        due = self.due(last if saved_at is None else min(last, saved_at + _SKEW))
        return (*due, *(arm for arm in self.arms if arm.standing is Standing.REFUSED))

    def new_attempts(self, before: "Race | None") -> tuple[Arm, ...]:
        """Return the arms that are to begin, now or later, because of a change."""
        known = {} if before is None else {arm.letter: arm.attempt for arm in before.arms}
        return tuple(arm for arm in self.arms if arm.is_open and arm.attempt != known.get(arm.letter))

    def with_attempt(self, letter: str, attempt: Attempt) -> "Race":
        """Return the race with another attempt of an arm."""
        return _with_arm(self, replace(self.arm(letter), attempt=attempt))

    def begun(self, at: datetime) -> "Race":
        """Return the race of a task that begins now: arms with a delay have the times of their starts."""
        return replace(self, arms=tuple(_starting(arm, at + arm.delay) if arm.delay else arm for arm in self.arms))


class ArmEnd(Struct, frozen=True):
    """The end of an attempt of an arm."""

    letter: str
    run: int
    redrives: int
    standing: Standing
    error: str | None
    """Name of the error that a policy may match; None: there is none."""
    shown: str
    """The name as the caller may read it."""
    text: str
    """What the caller may read of a failure."""


def after_end(race: Race, end: ArmEnd, seed: str, at: datetime, expires_at: datetime) -> Race:
    """Return the race after the end of an attempt; the same object if that is not the attempt that runs.

    Args:
        race: the race before.
        end: the end.
        seed: what the jitter of a retry depends on.
        at: the time.
        expires_at: no attempt begins from then on.
    """
    arm = race.arm(end.letter)
    if not arm.is_open or not arm.attempt.is_of(end.run, end.redrives):
        return race
    following = None if end.error is None else next_attempt(arm.attempt, end.error, f"{seed}.{arm.letter}", at)
    if following is not None and (following.begins_at or at) < expires_at:
        return _with_arm(race, replace(arm, attempt=replace(following, after=end.shown)))
    if end.standing is Standing.SUCCEEDED:
        return _with_arm(race, replace(arm, standing=end.standing, place=race.successes + 1))
    return _with_starts(_with_arm(race, replace(arm, standing=end.standing, error=end.text[:LONGEST_ERROR])), at)


def message_after(race: Race, end: ArmEnd) -> str:
    """Say what an arm's end means for a race that goes on."""
    arm = race.arm(end.letter)
    if arm.standing is Standing.SUCCEEDED:
        return f"{arm.name} succeeded: {race.successes} of {race.quorum} successes."
    after = end.shown[:80] or "an unnamed error"
    if arm.is_open:
        return f"{arm.name}: attempt {arm.attempt.number} of {arm.attempt.policy.attempts} after {after}."
    why = {Standing.STOPPED: "was stopped", Standing.REFUSED: "could not be started"}.get(
        arm.standing, f"failed with {after}"
    )
    left = ", ".join(one.name for one in race.arms if one.is_open)
    return f"{arm.name} {why}; left: {left}."


def lost_text(race: Race) -> str:
    """Return the error of a race that is lost: each arm with its own."""
    needed = f"{race.quorum} of its {len(race.arms)} arms had" if race.quorum > 1 else "one arm had"
    head = f"The race was lost: {needed} to succeed, and {race.successes or 'none'} did."
    return "\n".join((head, *(f"- {arm.name}: {_fate(arm)}" for arm in race.arms)))


def _outcome(arm: Arm, ended_at: datetime) -> str:
    """Name what became of an arm; one that was open when its task ended was stopped, or never started."""
    if arm.standing is Standing.REFUSED:
        return Standing.FAILED.value
    if not arm.is_open:
        return arm.standing.value
    return Standing.STOPPED.value if arm.is_due(ended_at) or arm.attempt.number > 1 else "not_started"


def _fate(arm: Arm) -> str:
    match arm.standing:
        case Standing.FAILED | Standing.REFUSED:
            return arm.error
        case Standing.SUCCEEDED:
            return "succeeded."
        case Standing.STOPPED:
            return "was stopped by an operator."
        case Standing.OPEN:
            return "was stopped, because the others had failed."


def _with_starts(race: Race, at: datetime) -> Race:
    """Return the race after a failure: an arm whose head start nobody uses any more starts now."""
    waiting = sorted((arm for arm in race.arms if arm.waits_for_start and not arm.is_due(at)), key=_start_of)
    running = sum(arm.is_open for arm in race.arms) - len(waiting)
    for arm in waiting[: max(0, race.quorum - race.successes - running)]:
        race = _with_arm(race, _starting(arm, at))
    return race


def _start_of(arm: Arm) -> tuple[datetime, str]:
    assert arm.attempt.begins_at is not None  # noqa: S101 - it waits for it
    return arm.attempt.begins_at, arm.letter


def _starting(arm: Arm, at: datetime) -> Arm:
    return replace(arm, attempt=replace(arm.attempt, begins_at=at))


def _with_arm(race: Race, changed: Arm) -> Race:
    return replace(race, arms=tuple(changed if arm.letter == changed.letter else arm for arm in race.arms))
