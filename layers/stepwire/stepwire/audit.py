"""What is written down of what callers do: who, what, which task, how it went; never arguments, results or tokens.

One entry for each creation, end, poll, retrieval of a result, cancellation and refusal (T28). Principals are hashes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from stepwire.principal import Principal


class Action(Enum):
    """What was done."""

    CREATED = "created"
    ENDED = "ended"
    EXPIRED = "expired"
    POLLED = "polled"
    """A client asked how a task is; it is counted by its entry, as all else."""
    RETRIEVED = "retrieved"
    CANCELLED = "cancelled"
    REFUSED = "refused"


class Source(Enum):
    """How the end of an execution came to be known."""

    EVENT = "event"
    """Step Functions reported it."""
    LOOK = "look"
    """A reader of the task found it out: its event was late, or lost."""


@dataclass(frozen=True)
class Entry:
    """One thing that was done."""

    action: Action
    owner: Principal
    tool: str | None = None
    task_id: str | None = None
    outcome: str | None = None
    """How a task ended, or why something was refused: a status, or the name of an error."""
    duration: timedelta | None = None
    """From the creation of a task to its end."""
    source: Source | None = None
    """Of an end; None where the task ended without its execution's doing, such as by a cancel."""


Audit: TypeAlias = Callable[[Entry], None]


def unheard(_entry: Entry) -> None:
    """Write nothing down."""
