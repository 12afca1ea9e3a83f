"""A trial: what a page says, what is done about it, and what was seen."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tools.first_run.account import Account


class Verdict(Enum):
    """How what was seen compares with what is expected."""

    SO = "so"
    NOT_SO = "not so"
    NOT_HERE = "not tried here"


@dataclass(frozen=True)
class Seen:
    """What a trial saw."""

    verdict: Verdict
    evidence: str
    """In one sentence."""


@dataclass(frozen=True)
class Sentence:
    """What a page says, word for word."""

    page: str
    """Its path in the project."""
    words: str


@dataclass(frozen=True)
class Trial:
    """One row of the table."""

    name: str
    sentences: tuple[Sentence, ...]
    """They may change after it."""
    does: str
    expects: str
    run: Callable[[Account], Seen]
    """Raises `Failed` if a deployment fails, and `TooLong`: both mean that it is not so."""
    minutes: int
    """About how long it takes."""
    most: int
    """After how many minutes it is given up."""


def so(is_so: object, evidence: str) -> Seen:
    """Return what was seen, by whether it is as expected."""
    return Seen(Verdict.SO if is_so else Verdict.NOT_SO, evidence)


def not_here(why: str) -> Seen:
    """Return that a thing could not be tried."""
    return Seen(Verdict.NOT_HERE, why)
