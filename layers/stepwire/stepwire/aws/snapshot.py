"""What is built before Lambda takes a snapshot of a function (SnapStart). Every instance starts as a copy of it.

A snapshot may contain only what is the same for every copy and valid for the life of the version: code, settings, the
catalog, compiled schemas, the models of AWS services. It must not contain what is unique per instance or expires: ids,
randomness, the time, credentials, secrets, connections, state of requests. The first request that needs them creates
them.
"""

import os
from collections.abc import Callable
from typing import Final

_INITIALIZATION: Final = "AWS_LAMBDA_INITIALIZATION_TYPE"  # how Lambda started this instance


def before_snapshot(build: Callable[[], None]) -> None:
    """Build now if Lambda is about to take a snapshot; otherwise the first request builds what it needs."""
    if os.environ.get(_INITIALIZATION) == "snap-start":
        build()
