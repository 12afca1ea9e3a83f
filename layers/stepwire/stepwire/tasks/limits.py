"""What a tool limits: how many executions run at once, how many start in a time, and who may wait; where a task stands.

A limit has a name, that of its tool, and a line for each value that it is counted for: one for all, one for each
caller, or one for each value of an argument. `lines` says what happens in a line. Values only.
"""

import hashlib
import json
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.json_text import Json, equal_form

MOST_WAITING: Final = 1_000
"""Of a line whose manifest does not say."""
MOST_STARTS: Final = 300
"""Of a rate: the times of the last starts are in one small item."""


class Starts(Struct, frozen=True):
    """A rate: at most so many starts in any span of that length."""

    most: int
    every: timedelta


class Rules(Struct, frozen=True, omit_defaults=True):
    """The rules of a line."""

    most: int | None = None
    """The most executions at once; None: any number."""
    starts: Starts | None = None
    waiting: int = MOST_WAITING
    """The most runs that may wait."""
    longest: timedelta | None = None
    """The longest that a run may have to wait, as far as that can be estimated; None: any time."""
    reserved: int = 0
    """Of `most`, the turns that only callers without one get."""


class LineTerms(Struct, frozen=True, omit_defaults=True):
    """The line in which the runs of a task wait for their turns, as it was when the task was called."""

    line: str
    """The key of the line (`line_key`)."""
    pool: str
    """The name of the limit."""
    rules: Rules
    is_own: bool = False
    """Whether nobody else may stand in it, or all callers are one."""


class InLine(Struct, frozen=True, omit_defaults=True):
    """Where a task stands in its line, as it was when somebody last looked."""

    position: int
    """Of its first run that waits, from 1."""
    begins_at: datetime | None = None
    """When that run begins, estimated from what executions took lately; None: nobody can know."""
    is_paused: bool = False
    """Whether an operator lets nobody begin."""

    def text(self, at: datetime) -> str:
        """Say it to the caller, at the time of the look."""
        head = "Next in line" if self.position == 1 else f"{ordinal(self.position)} in line"
        if self.is_paused:
            return f"{head}; the line is paused by its operator."
        return f"{head}." if self.begins_at is None else f"{head}; about {span(self.begins_at - at)}."


def ordinal(number: int) -> str:
    """Write a number as a place: 1st, 2nd, 3rd, 4th."""
    suffix = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"


def span(time: timedelta) -> str:
    """Say how long something is, in the largest unit that says enough."""
    seconds = max(1, round(time.total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return _plural(round(seconds / size), unit)
    return _plural(seconds, "second")


def _plural(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def line_key(pool: str, kind: str = "", value: Json = None) -> str:
    """Return the key of a line, which is nobody's principal.

    Args:
        pool: the name of the limit.
        kind: what it is counted for: `caller`, `argument`, or nothing, if there is one line.
        value: the principal, or the value of the argument.
    """
    text = json.dumps([pool, kind, equal_form(value)], sort_keys=True)
    return f"line#{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"
