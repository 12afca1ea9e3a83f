"""How the tests wait for what happens in another thread."""

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


def until(look: Callable[[], Seen], *, within: float = 5.0) -> Seen:
    """Look again and again until there is something to see, and return it."""
    end = time.monotonic() + within
    while not (seen := look()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)
    return seen
