"""What a function builds once: before Lambda takes a snapshot of it (SnapStart), and with its first event.

Every instance starts as a copy of the snapshot.

A snapshot may contain only what is the same for every copy and valid for the life of the version: code, settings, the
catalog, compiled schemas, the models of AWS services. It must not contain what is unique per instance or expires: ids,
randomness, the time, credentials, secrets, connections, state of requests. The first request that needs them creates
them.
"""

import gc
import os
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

_Handler = TypeVar("_Handler")
_Event = ParamSpec("_Event")
_Answer = TypeVar("_Answer")

_RUNTIME: Final = "AWS_LAMBDA_RUNTIME_API"  # where a process that is one function's alone gets its events
_frozen: list[bool] = []
_INITIALIZATION: Final = "AWS_LAMBDA_INITIALIZATION_TYPE"  # how Lambda started this instance


def before_snapshot(build: Callable[[], None]) -> None:
    """Build now if Lambda is about to take a snapshot; otherwise the first request builds what it needs."""
    if os.environ.get(_INITIALIZATION) == "snap-start":
        build()
        gc.freeze()


def builds_once(
    handle: Callable[Concatenate[_Handler, _Event], _Answer],
) -> Callable[Concatenate[_Handler, _Event], _Answer]:
    """Leave what a handler has built by the end of its first event out of all garbage collections.

    These tens of thousands of objects stay for the life of the instance. Each full collection would visit them all.
    """

    @wraps(handle)
    def handled(self: Any, *event: _Event.args, **more: _Event.kwargs) -> _Answer:
        try:
            return handle(self, *event, **more)
        finally:
            if not _frozen and _RUNTIME in os.environ:
                _frozen.append(True)
                gc.freeze()

    return handled
