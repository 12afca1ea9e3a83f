"""What all tests share: how hypothesis works; and that no function asks AWS for what its role may not do."""

import atexit
import gc
import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# The same examples for everybody and every time. No deadline and no check for slow data: both measure the machine. No
# database: a test depends on nothing left on the disk.
settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
# `make explore` chooses this profile, and a new seed for each round.
settings.register_profile("explore", settings.get_profile("fixed"), derandomize=False, print_blob=True)
settings.load_profile("fixed")

if "PYTEST_XDIST_WORKER" in os.environ:
    # As in local/terminal/leaving.py: DuckDB would write a page about leaked objects, which are none.
    atexit.register(os._exit, 0)


# Collection creates millions of objects that live until the process ends. Garbage collections that visit them, now and
# in each test, cost each worker seconds.
gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the objects of the collection from garbage collection, and turn it on again."""
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the choice of examples independent of the tests that ran before.

    Hypothesis also draws constants of the local modules that happen to be loaded, which differ from worker to worker.
    """
    if config.getoption("--hypothesis-profile") != "explore":
        inside: Any = providers  # no setting turns it off
        none_yet = inside._local_constants
        inside._get_local_constants = lambda: none_yet


class Refusals(logging.Handler):
    """Keeps what the local stack refused to roles."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record.getMessage())


# By its log, so that tests which need no local stack do not load it.
@pytest.fixture(autouse=True)
def refusals() -> Iterator[list[str]]:
    """Fail a test in which a role was refused something; one that wants it so clears the list."""
    handler, log = Refusals(), logging.getLogger("local.iam.permissions")
    log.addHandler(handler)
    yield handler.seen
    log.removeHandler(handler)
    assert handler.seen == [], "the template does not allow what the code does"
