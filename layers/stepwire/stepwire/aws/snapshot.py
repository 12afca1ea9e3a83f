"""What is built before Lambda takes a snapshot of a function (SnapStart): each instance then begins as a copy of it.

The rule: into a snapshot goes only what is the same for every copy, and stays right for as long as the version lives:
code, settings, the catalog, compiled schemas, the models of AWS's services. Never what makes one copy another, or grows
old: ids and randomness, the time, credentials, secrets, connections, the memory of requests. Those are made by the
request that needs them.
"""

import os
from collections.abc import Callable
from typing import Final

_INITIALIZATION: Final = "AWS_LAMBDA_INITIALIZATION_TYPE"  # Lambda's word for how this instance began


def before_snapshot(build: Callable[[], None]) -> None:
    """Build now if this start ends in a snapshot; else nothing is built before a request needs it."""
    if os.environ.get(_INITIALIZATION) == "snap-start":
        build()
