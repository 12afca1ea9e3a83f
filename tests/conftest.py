"""What all tests share: how hypothesis works; and that no function asks AWS for what its role may not do."""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# No deadline: the first example pays for what is built lazily. No database: a test depends on nothing left on the disk.
settings.register_profile("stepwire", deadline=None, database=None)
# What is found by chance is found by people, who can look into it; for CI the same commit passes or fails every time.
settings.register_profile("ci", settings.get_profile("stepwire"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "stepwire")


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
    handler, log = Refusals(), logging.getLogger("local.permissions")
    log.addHandler(handler)
    yield handler.seen
    log.removeHandler(handler)
    assert handler.seen == [], "the template does not allow what the code does"
