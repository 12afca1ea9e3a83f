"""What an operation is: who triggers it, the calls that it makes if nothing fails, and what is wrong without it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from stepwire.tasks.limiter import Limits
from tests.extras import parts
from tests.faults.seen import Act
from tests.faults.site import Site

ANSWERED: Final = ("GetItem task", "PutItem task", "SendTaskSuccess", "PutItem task")
QUERIES: Final = (
    *(step for part in parts("faulty_tools") for step in part.SWEPT),
    *("GetItem bookmark", *("Query neglected",) * 4, "BatchGetItem tasks"),
)
"""Of the sweep."""


class Caller(Enum):
    """Who triggers an operation; the value describes a repetition by them."""

    CLIENT = "retry"
    RESUMING = "next GET"
    EVENTBRIDGE = "redelivery"
    LETTER = "redelivery, or replay of the dead letter"
    OPERATOR = "repeated command"
    STREAM = "redelivery by the stream"
    QUEUE = "redelivery by the queue"
    WORKFLOW = "retry of the state"
    SCHEDULE = "next sweep"

    @property
    def always_comes_again(self) -> bool:
        """Tell whether this caller always retries until it succeeds; the others may not."""
        return self not in {Caller.CLIENT, Caller.RESUMING, Caller.EVENTBRIDGE, Caller.OPERATOR}


def nothing_more(site: Site) -> list[str]:
    """Check nothing more: the operation has no goal of its own."""
    return []


@dataclass(frozen=True)
class Operation:
    """One operation."""

    name: str
    caller: Caller
    steps: tuple[str, ...]
    """The calls to AWS, in order."""
    arrange: Callable[[Site], Act]
    wrongs: Callable[[Site], list[str]] = nothing_more
    """Returns what is still missing afterwards, besides the general `wrongs`."""
    limits: Limits = field(default_factory=Limits)
    first: int = 0
    """The first call that gets faults here; the calls before it are tested with another operation."""
    last: int | None = None
    """The last call that gets faults here; None is the last of all."""
    repeats: bool = False
    """Whether a repeated request creates another task."""
    executions: int = 1
    """How many executions there are afterwards, at most."""

    @property
    def own_steps(self) -> range:
        """The indexes of the calls that get faults here."""
        return range(self.first, len(self.steps) if self.last is None else self.last + 1)
