"""How tests wait for what happens in another thread or process: for a condition, and never for a time."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

HANG_GUARD: Final = 120.0
"""Seconds after which a test gives up; so long that only what never happens takes longer, on any machine."""
PATIENT: Final = 20.0
"""How long a second of a function's Timeout lasts, so that a busy machine fails no invocation."""

Seen = TypeVar("Seen")


def until(look: Callable[[], Seen]) -> Seen:
    """Look again and again until there is something to see, and return it.

    Raises:
        AssertionError: it never came about.
    """
    end = time.monotonic() + HANG_GUARD
    while not (seen := look()):
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.01)
    return seen
