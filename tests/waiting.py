"""Wait for something that happens in another thread or process: always for a condition, never for a fixed time."""

import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

HANG_GUARD: Final = 300.0
"""Seconds after which a wait fails; long enough for any machine."""
PATIENT: Final = 20.0
"""Factor by which the Timeout of functions is stretched, so that none is exceeded on a busy machine."""

Seen = TypeVar("Seen")


def until(look: Callable[[], Seen]) -> Seen:
    """Call `look` until it returns something, and return that.

    Raises:
        AssertionError: it returned nothing for HANG_GUARD seconds.
    """
    return next(seen for _ in attempts() if (seen := look()))


def attempts() -> Iterator[None]:
    """Yield whenever it is time to look again.

    Raises:
        AssertionError: nothing was seen for HANG_GUARD seconds.
    """
    end = time.monotonic() + HANG_GUARD
    while True:
        yield
        assert time.monotonic() < end, f"nothing was seen within {HANG_GUARD} seconds"
        time.sleep(0.01)
