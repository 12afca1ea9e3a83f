"""The task tokens that wait at the gate. Functions run in the stack's process, so they share it with the opener."""

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
