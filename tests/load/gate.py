"""Who waits at the gate. Functions run in the process of the stack, so theirs and whoever opens the gate share this."""

from dataclasses import dataclass
from queue import SimpleQueue


@dataclass(frozen=True)
class Waiting:
    """A workflow that waits, and what it was begun with."""

    token: str
    words: str
    ending: str


waiting: SimpleQueue[Waiting | None] = SimpleQueue()
"""None: nobody comes any more."""
