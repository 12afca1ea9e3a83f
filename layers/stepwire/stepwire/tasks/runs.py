"""The runs of a task: one to five state machines work on it, until the quorum has succeeded. Pure.

A plain task has one run and the quorum one. A run has attempts: each begins in a new execution, whose name derives from
the task's (`restart`), or in the failed execution, from its failed state (`redrive`). The number of its execution and
the number of its redrives identify an attempt. The rule: an end counts once, only for its attempt, and an ended run
never changes, so ends may arrive late and more than once.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.codec import MILLISECOND, NO_TIME
from stepwire.json_text import JsonObject, load_json, write
from stepwire.tasks.ids import LETTERS

MOST_RUNS: Final = len(LETTERS)
MOST_ATTEMPTS: Final = 10
LARGEST_CONSTANTS: Final = 1_024
"""Bytes of JSON of the constants of all runs: they are in the head of each task."""
LONGEST_ERROR: Final = 300  # characters of a run's error; the errors of all runs are in the head
TIMEOUT: Final = "States.Timeout"
ALL: Final = "States.ALL"
TASK_FAILED: Final = "States.TaskFailed"
META_RACE: Final = "stepwire/race"
"""The member of `_meta` in the result of several runs: the winner, and the outcome of each."""
_NEVER_BY_WILDCARD: Final = frozenset({"States.DataLimitExceeded", "States.Runtime", "Stepwire.ProtocolError"})
"""Errors that a retry repeats, and a workflow's deliberate error: retried only if a policy names them."""
_NEXT_AT: Final = ", next at "
_LONGEST_NAME: Final = 80  # characters of an error's name in a message
_SKEW: Final = timedelta(seconds=1)
"""Largest difference between two instances' clocks: a run may have started this much too early."""
_LONGEST_SAVE: Final = timedelta(seconds=60)
"""Longer than from the decision about a task to its save, in which others may start due runs."""


class Retry(Struct, frozen=True, omit_defaults=True):
    """A policy: when another attempt follows a failed one."""

    attempts: int
    """The most attempts, the first included."""
    errors: tuple[str, ...]
    """Names of errors, or wildcards, as Amazon States Language matches them."""
    redrives: bool = False
    """Whether the failed execution continues; else a new one starts."""
    may_restart: bool = True
    """Whether a new execution starts if Step Functions refuses to redrive."""
    delay: timedelta = timedelta(seconds=1)
    """The time between the first failure and the second attempt."""
    backoff: float = 2.0
    """The factor by which each further delay is longer."""
    longest_delay: timedelta = timedelta(hours=1)
    has_jitter: bool = False
    """Whether a delay is a random part of its full length, as ASL's FULL."""


ONCE: Final = Retry(1, (), may_restart=False)
"""The policy of a tool that has none: the first end is the last."""


class Attempt(Struct, frozen=True, omit_defaults=True):
    """The attempt that runs, or that waits until it begins."""

    number: int = 1
    execution: int = 1
    """Number of its execution among those of the run, from 1."""
    redrives: int = 0
    """How often this execution has been, or is to be, redriven."""
    begins_at: datetime | None = None
    """When it begins; None: a first attempt, which begins with the task."""
    after: str = ""
    """Name of the error of the attempt before, as the caller may read it; it may be empty."""

    @property
    def is_redriven(self) -> bool:
        """Tell whether it begins in an execution that has failed before."""
        return self.redrives > 0

    @property
    def is_first(self) -> bool:
        """Tell whether it is the run's first attempt and execution."""
        return self.number == 1 and not self.is_redriven

    def is_of(self, execution: int, redrives: int) -> bool:
        """Tell whether an end belongs to this attempt, and not to an earlier one."""
        return execution == self.execution and redrives >= self.redrives

    def time_left(self, at: datetime) -> timedelta:
        """Return the time until it begins."""
        return NO_TIME if self.begins_at is None else max(NO_TIME, self.begins_at - at)


class RunState(Enum):
    """The state of a run."""

    OPEN = "open"
    """It runs, or will start."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Its last attempt failed."""
    REFUSED = "refused"
    """Its attempt could not be started; perhaps another request has started it, as permissions change gradually."""
    STOPPED = "stopped"
    """An operator stopped it."""


class Pending(Enum):
    """An action that may be left to do for a run; the next reader of the task does it."""

    START = "start"
    """Its execution may not have begun, because its start was throttled or got no answer."""
    STOP = "stop"
    """Its execution may run although the task has ended: another request may have started it, or start it now."""
    TURN = "turn"
    """It begins when it gets a turn in its line: it waits for one, or has yet to ask."""


class Run(Struct, frozen=True, omit_defaults=True):
    """One of the state machines that work on a task."""

    state_machine_arn: str
    """With the version or the alias that the manifest names, if any."""
    name: str = ""
    """Its name in the manifest and the result; empty if the task has no other run."""
    role: str = ""
    """ARN of the role that runs a state machine of another account or Region; empty: the functions' own."""
    constants: str = ""
    """JSON text of an object with constant members of its input; empty: none."""
    delay: timedelta = NO_TIME
    """Delay of its start after the task's: the head start of the others."""
    attempt: Attempt = Attempt()
    state: RunState = RunState.OPEN
    place: int = 0
    """Rank of a run that succeeded among those that did, from 1."""
    error: str = ""
    """Error of a run that failed, as its caller may read it."""
    pending: Pending | None = None

    @property
    def is_open(self) -> bool:
        """Tell whether it runs, or will start."""
        return self.state is RunState.OPEN

    def is_due(self, at: datetime) -> bool:
        """Tell whether its execution must exist."""
        return self.pending is not Pending.TURN and self.is_ready(at)

    def is_ready(self, at: datetime) -> bool:
        """Tell whether its execution must exist, or begins with its next turn."""
        begins_at = self.attempt.begins_at
        return self.state is RunState.OPEN and (begins_at is None or begins_at <= at)

    def beginning_at(self, at: datetime) -> "Run":
        """Return this run, with a time of its own at which it starts."""
        return replace(self, attempt=replace(self.attempt, begins_at=at))

    def input_text(self, common: str) -> str:
        """Return its input as JSON text, from the input that all runs have in common."""
        return write({**load_json(common), **load_json(self.constants)}) if self.constants else common


class Plan(Struct, frozen=True, omit_defaults=True):
    """The runs of each task of a tool."""

    runs: tuple[Run, ...]
    quorum: int = 1
    """How many runs must succeed."""

    @property
    def largest_constants(self) -> int:
        """The most bytes by which a run's input is larger than the common one."""
        return max(len(run.constants.encode()) for run in self.runs)


class RunEnd(Struct, frozen=True):
    """The end of an attempt."""

    run: int
    """Index of the run."""
    execution: int
    """Number of the execution among those of the run."""
    redrives: int
    """How often it had been redriven."""
    state: RunState
    """The state of the run after it, unless another attempt follows."""
    error: str | None = None
    """Name of the error that a policy may match; None: there is none."""
    shown: str = ""
    """The name as the caller may read it."""
    text: str = ""
    """What the caller may read of a failure."""


def matches(errors: tuple[str, ...], error: str) -> bool:
    """Tell whether a policy names an error, as Amazon States Language does.

    `States.ALL` matches every error, and `States.TaskFailed` every one but `States.Timeout`, except for the errors
    that a policy must name (`_NEVER_BY_WILDCARD`).
    """
    if error in errors:
        return True
    if error in _NEVER_BY_WILDCARD:
        return False
    return ALL in errors or (TASK_FAILED in errors and error != TIMEOUT)


def delay_before(policy: Retry, number: int, seed: str) -> timedelta:
    """Return the time from a failure to the attempt with this number, in whole milliseconds.

    With jitter, it depends on the seed and the number alone: every process that computes it gets the same.
    """
    # Bounded in floats: a power of the factor may be larger than any timedelta.
    seconds = min(policy.delay.total_seconds() * policy.backoff ** (number - 2), policy.longest_delay.total_seconds())
    if policy.has_jitter:
        import hashlib  # noqa: PLC0415 - few tasks are retried

        seconds *= int.from_bytes(hashlib.blake2b(f"{seed}.{number}".encode(), digest_size=6).digest()) / (1 << 48)
    return timedelta(seconds=seconds) // MILLISECOND * MILLISECOND


def next_attempt(attempt: Attempt, policy: Retry, error: str, seed: str, at: datetime) -> Attempt | None:
    """Return the attempt that follows one which failed with this error; None: it was the last."""
    number = attempt.number + 1
    if number > policy.attempts or not matches(policy.errors, error):
        return None
    following = replace(attempt, number=number, begins_at=at + delay_before(policy, number, seed))
    return replace(following, redrives=attempt.redrives + 1) if policy.redrives else in_new_execution(following)


def in_new_execution(attempt: Attempt) -> Attempt:
    """Return the same attempt in an execution of its own."""
    return replace(attempt, execution=attempt.execution + 1, redrives=0)


def successes(runs: Sequence[Run]) -> int:
    """Return how many runs have succeeded."""
    return sum(run.state is RunState.SUCCEEDED for run in runs)


def left_running(runs: Sequence[Run], ended_at: datetime) -> list[int]:
    """Return the indices of the runs that may run although their task has ended, or before its end is saved."""
    last = ended_at + _LONGEST_SAVE
    return [index for index, run in enumerate(runs) if run.is_due(last) or run.state is RunState.REFUSED]


def may_have_started(run: Run, ended_at: datetime, at: datetime) -> bool:
    """Tell whether a run may have started by now although its task has ended: once that is saved, none starts."""
    return run.state is RunState.REFUSED or run.is_due(min(at, ended_at + _LONGEST_SAVE) + _SKEW)


def with_run(runs: tuple[Run, ...], index: int, changed: Run) -> tuple[Run, ...]:
    """Return the runs with one of them changed."""
    return (*runs[:index], changed, *runs[index + 1 :])


def needed_now(runs: Sequence[Run], quorum: int, at: datetime) -> list[int]:
    """Return the indices of the runs that start now, after a failure of all runs with a head start."""
    waiting = [
        index for index, run in enumerate(runs) if run.is_open and run.attempt.number == 1 and run.attempt.time_left(at)
    ]
    running = sum(run.is_open for run in runs) - len(waiting)
    in_order = sorted(waiting, key=lambda index: runs[index].attempt.time_left(at))
    return in_order[: max(0, quorum - successes(runs) - running)]


def begun(runs: Sequence[Run], at: datetime) -> tuple[Run, ...]:
    """Return the runs of a task that begins now: those with a delay have the times of their starts."""
    return tuple(run.beginning_at(at + run.delay) if run.delay else run for run in runs)


def retry_text(attempt: Attempt, policy: Retry, at: datetime) -> str:
    """Say which attempt runs, or when it begins."""
    begins_at = attempt.begins_at
    if begins_at is None or begins_at <= at:
        return f"{_which(attempt, policy)}."
    time = f"{begins_at:%H:%M:%S} UTC" if begins_at.date() == at.date() else f"{begins_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{_which(attempt, policy)}{_NEXT_AT}{time}."


def begun_text(message: str | None, attempt: Attempt, policy: Retry, at: datetime) -> str | None:
    """Return a message without the time at which an attempt begins, after that time."""
    is_of_it = message and message.startswith(f"{_which(attempt, policy)}{_NEXT_AT}")
    return retry_text(attempt, policy, at) if is_of_it else message


def _which(attempt: Attempt, policy: Retry) -> str:
    return f"Attempt {attempt.number} of {policy.attempts} after {_named(attempt.after)}"


def _named(error: str) -> str:
    return error[:_LONGEST_NAME] or "an unnamed error"


def end_text(runs: Sequence[Run], quorum: int, policy: Retry, end: RunEnd) -> str:
    """Return the message after the end of one of several runs, for a task that continues."""
    run = runs[end.run]
    if run.state is RunState.SUCCEEDED:
        return f"{run.name} succeeded: {successes(runs)} of {quorum} successes."
    after = _named(end.shown)
    if run.is_open:
        return f"{run.name}: attempt {run.attempt.number} of {policy.attempts} after {after}."
    why = {RunState.STOPPED: "was stopped", RunState.REFUSED: "could not be started"}.get(
        run.state, f"failed with {after}"
    )
    left = ", ".join(one.name for one in runs if one.is_open)
    return f"{run.name} {why}; left: {left}."


def lost_text(runs: Sequence[Run], quorum: int) -> str:
    """Return the error of a task whose quorum is out of reach: each run with its own."""
    needed = f"{quorum} of its {len(runs)} arms had" if quorum > 1 else "one arm had"
    head = f"The race was lost: {needed} to succeed, and {successes(runs) or 'none'} did."
    return "\n".join((head, *(f"- {run.name}: {_fate(run)}" for run in runs)))


def result_meta(runs: Sequence[Run], winner: Run | None, ended_at: datetime) -> JsonObject:
    """Return the member of `_meta` with the outcomes of several runs; empty for one run."""
    if len(runs) == 1:
        return {}
    won = {} if winner is None else {"winner": winner.name}
    return {META_RACE: {**won, "arms": [{"name": run.name, "outcome": _outcome(run, ended_at)} for run in runs]}}


def _outcome(run: Run, ended_at: datetime) -> str:
    """Name the outcome of a run; one that was open at its task's end was stopped, or never started."""
    if run.state is RunState.REFUSED:
        return RunState.FAILED.value
    if not run.is_open:
        return run.state.value
    return RunState.STOPPED.value if run.is_due(ended_at) or run.attempt.number > 1 else "not_started"


def _fate(run: Run) -> str:
    match run.state:
        case RunState.FAILED | RunState.REFUSED:
            return run.error
        case RunState.SUCCEEDED:
            return "succeeded."
        case RunState.STOPPED:
            return "was stopped by an operator."
        case RunState.OPEN:
            return "was stopped, because the others had failed."
