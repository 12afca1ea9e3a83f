"""Calls of DynamoDB made at the same time. Loaded by who makes many: threads take their time to import."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

_AT_ONCE: Final = 8  # the client has ten connections

_Answer = TypeVar("_Answer")


def all_of(calls: "Iterable[Callable[[], _Answer]]") -> list[_Answer]:
    """Make calls at the same time, and return their answers in order; each is made, also if another one fails.

    Raises:
        Exception: that of the first that failed.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        made = [pool.submit(copy_context().run, call) for call in calls]
    return [one.result() for one in made]
