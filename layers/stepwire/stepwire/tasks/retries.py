"""Retries of a tool's workflow: which errors, how often, when, and by which means. Pure.

A task with a policy has attempts. Each begins in one of two ways: in a new execution, whose name derives from the
task's (`restart`), or in the failed execution, from its failed state (`redrive`). An attempt is known by the execution
and the number of its redrives, so an event that is late, or that comes twice, belongs to its attempt and to no other.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

MOST_ATTEMPTS: Final = 10
TIMEOUT: Final = "States.Timeout"
ALL: Final = "States.ALL"
TASK_FAILED: Final = "States.TaskFailed"
_NEVER_BY_WILDCARD: Final = frozenset({"States.DataLimitExceeded", "States.Runtime", "Stepwire.ProtocolError"})
"""Errors that repeat themselves, and the deliberate answer of a workflow: retried only where a policy names them."""
_NEXT_AT: Final = ", next at "
_LONGEST_NAME: Final = 80  # characters of an error's name in a message
_MILLISECOND: Final = timedelta(milliseconds=1)


class Retry(Struct, frozen=True):
    """A policy: when another attempt follows a failed one."""

    attempts: int
    """The most attempts, the first included."""
    errors: tuple[str, ...]
    """Names of errors, or wildcards, as Amazon States Language matches them."""
    redrives: bool = False
    """Whether the failed execution goes on; else a new one starts."""
    may_restart: bool = True
    """Whether a new execution starts where Step Functions refuses to redrive."""
    delay: timedelta = timedelta(seconds=1)
    """The time between the first failure and the second attempt."""
    backoff: float = 2.0
    """The factor by which each further delay is longer."""
    longest_delay: timedelta = timedelta(hours=1)
    has_jitter: bool = False
    """Whether a delay is a random part of its full length, as ASL's FULL; else it is the full length."""


class Attempt(Struct, frozen=True):
    """The attempt that runs, or that waits until it begins."""

    policy: Retry
    number: int = 1
    run: int = 1
    """Number of its execution among those of the task, from 1."""
    redrives: int = 0
    """How often this execution has been, or is to be, redriven."""
    begins_at: datetime | None = None
    """None of the first attempt, which begins with the task."""
    after: str = ""
    """Name of the error of the attempt before, as the caller may read it; it may be empty."""
    first_task: str | None = None
    """Id of the task whose execution goes on in this one, because an operator has redriven it; None: its own."""

    @property
    def suffix(self) -> str:
        """End of the name of its execution; the first execution has none."""
        return f"-r{self.run}" if self.run > 1 else ""

    @property
    def is_redriven(self) -> bool:
        """Tell whether it begins in an execution that has failed before."""
        return self.redrives > 0

    def is_of(self, run: int, redrives: int) -> bool:
        """Tell whether an end is of this attempt; an end of an earlier one is old news."""
        return run == self.run and redrives >= self.redrives


def matches(errors: tuple[str, ...], error: str) -> bool:
    """Tell whether a policy names an error, as `ErrorEquals` of Amazon States Language does.

    `States.ALL` is every error, and `States.TaskFailed` every one but `States.Timeout`; neither includes the errors
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
    part = _part_of(f"{seed}.{number}") if policy.has_jitter else 1.0
    return timedelta(seconds=seconds * part) // _MILLISECOND * _MILLISECOND


def _part_of(text: str) -> float:
    """Return a number from 0 to 1 that looks random and depends on the text alone."""
    import hashlib  # noqa: PLC0415 - few tasks are retried

    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / (1 << 48)


def next_attempt(attempt: Attempt, error: str, seed: str, at: datetime) -> Attempt | None:
    """Return the attempt that follows one which failed with this error; None: it was the last."""
    policy, number = attempt.policy, attempt.number + 1
    if number > policy.attempts or not matches(policy.errors, error):
        return None
    following = replace(attempt, number=number, begins_at=at + delay_before(policy, number, seed), after="")
    return replace(following, redrives=attempt.redrives + 1) if policy.redrives else in_new_execution(following)


def in_new_execution(attempt: Attempt) -> Attempt:
    """Return the same attempt in an execution of its own."""
    return replace(attempt, run=attempt.run + 1, redrives=0)


def retry_text(attempt: Attempt, at: datetime) -> str:
    """Say which attempt runs, or when it begins."""
    if attempt.begins_at is None or attempt.begins_at <= at:
        return f"{_which(attempt)}."
    return f"{_which(attempt)}{_NEXT_AT}{_time_text(attempt.begins_at, at)}."


def begun_text(message: str | None, attempt: Attempt, at: datetime) -> str | None:
    """Return a message without the time at which an attempt begins, after that time."""
    return retry_text(attempt, at) if message and message.startswith(f"{_which(attempt)}{_NEXT_AT}") else message


def _which(attempt: Attempt) -> str:
    error = attempt.after[:_LONGEST_NAME] or "an unnamed error"
    return f"Attempt {attempt.number} of {attempt.policy.attempts} after {error}"


def _time_text(moment: datetime, at: datetime) -> str:
    return f"{moment:%H:%M:%S} UTC" if moment.date() == at.date() else f"{moment:%Y-%m-%d %H:%M:%S} UTC"
