"""What happens in the stacks, as it happens: an entry for each event that is delivered.

The rule: whoever tells does not wait for whoever listens, and does not fail because of them.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

logger = logging.getLogger(__name__)

Kind = Literal["bucket", "queue", "rule", "schedule", "stream", "topic"]


@dataclass(frozen=True)
class Activity:
    """An event and what gets it."""

    kind: Kind  # of what the event comes from
    source: str  # its name
    target: str  # the name of what gets the event
    about: str = ""  # what the event says, in a few words


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
