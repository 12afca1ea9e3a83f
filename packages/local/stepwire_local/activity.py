"""What happens in the stacks, as it happens: an entry for each event, and for each state of an execution.

The rule: whoever tells does not wait for whoever listens, and does not fail because of them.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

logger = logging.getLogger(__name__)

Kind = Literal["bucket", "execution", "mail", "queue", "rule", "schedule", "state", "stream", "topic"]


@dataclass(frozen=True)
class Activity:
    """An event and what gets it, a state that an execution enters, or a status that it has."""

    kind: Kind  # of what it comes from
    source: str  # its name; of a state or an execution, that of the state machine
    target: str  # the name of what gets the event; the state; the status
    about: str = ""  # what the event says, in a few words; the execution


NOT_DELIVERED: Final = "not delivered"
"""What an entry begins to say about an event that reaches nothing."""


def not_delivered(why: str, subject: str | None, text: str) -> str:
    """Return what an entry says about a message that reaches nobody: also its text, for links and tokens are in it."""
    head = f"Subject: {subject}. " if subject else ""
    return f"{NOT_DELIVERED}: {why}. {' '.join(f'{head}Text: {text}'.split())}"


def counted(number: int, noun: str) -> str:
    """Return how many things an event has, in words."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


Listener = Callable[[Activity], None]
_listeners: Final = list[Listener]()


def tell(activity: Activity) -> None:
    """Tell whoever listens."""
    for listener in _listeners.copy():
        try:
            listener(activity)
        except Exception:
            logger.exception("An event could not be shown.")


@contextmanager
def heard_by(listener: Listener) -> Generator[None]:
    """Let a function receive each entry until the block ends."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
