"""The task tokens that wait at the gate. Functions run in the stack's process, so they share this module."""

from dataclasses import dataclass
from queue import SimpleQueue


@dataclass(frozen=True)
class Waiting:
    """A waiting workflow, and its input."""

    token: str
    words: str
    ending: str


waiting: SimpleQueue[Waiting | None] = SimpleQueue()
"""The waiting workflows; None after the gate was opened."""
