"""The line in which runs wait for their turns, and where a task stands in it. Values only.

Who gets a turn is decided behind the gate (`stepwire.engine.ports.Gate`), by terms that only the gate reads.
"""

from datetime import datetime, timedelta

from msgspec import Struct


class LineTerms(Struct, frozen=True, omit_defaults=True):
    """The line in which the runs of a task wait for their turns, as it was when the task was called."""

    line: str
    """The key of the line."""
    pool: str
    """The name of the limit, for operators."""
    terms: str = ""
    """What the gate keeps of the limit for itself, as JSON text."""


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
