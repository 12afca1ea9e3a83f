"""The root template and the suite's own on the local stack, once per file, for real clients over HTTP.

Each function has two instances, which serve invocations in turn: no client may depend on an instance's memory.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import pytest

from stepwire_local import LocalStack
from tests.integration.over_http.legacy import LegacyClient, LegacyProcess
from tests.integration.stacks import OWN, as_deployed

# A client that does not come back is soon let go, and nothing is repaired before it is waited for.
UNHURRIED: Final = {
    "SignIn": "none",
    "WaitSeconds": "2",
    "InlineWaitSeconds": "0.5",
    "RepairAfterSeconds": "60",
    "StateAfterSeconds": "30",
}


@pytest.fixture(scope="session")
def legacy_process() -> Iterator[LegacyProcess]:
    """The process that all tests share."""
    with LegacyProcess() as process:
        yield process


# No longer than a file: the stacks of a process share an account, which is emptied when the last one closes.
@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The endpoint."""
    with as_deployed(MostActiveTasks="1000", MostTasksPerMinute="6000") as stack:  # all tests are one caller
        yield stack.url


@pytest.fixture(scope="module")
def own_url() -> Iterator[str]:
    """The endpoint of the suite's own template, which has workflows that the examples do not have."""
    with LocalStack(OWN, instances=2, parameters=UNHURRIED) as stack:
        yield stack.url


@pytest.fixture
def legacy_client(legacy_process: LegacyProcess, url: str) -> LegacyClient:
    """Run a scenario of mcp_1.py against the root template; return what the client saw."""
    return partial(legacy_process.run, url)


@pytest.fixture
def own_legacy_client(legacy_process: LegacyProcess, own_url: str) -> LegacyClient:
    """Run a scenario against the suite's own template."""
    return partial(legacy_process.run, own_url)


@pytest.fixture(scope="session")
def legacy_client_of(legacy_process: LegacyProcess) -> Callable[[str], LegacyClient]:
    """Run scenarios against any endpoint."""
    return lambda url: partial(legacy_process.run, url)
