"""What all tests share: the settings of hypothesis, and a check that no function calls AWS without permission."""

import atexit
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from stepwire_cli.deployment.parts import write_stack
from tests.longest_first import in_order

# The same examples in every run. No deadline and no check for slow data, because both depend on the machine. No
# database, because a test must not depend on files of an earlier run.
settings.register_profile(
    "full", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
# `make test` tries fewer examples; with ALL=1 it chooses the profile above.
settings.register_profile("quick", settings.get_profile("full"), max_examples=10)
# `make explore` chooses this profile, and a new seed for each round.
settings.register_profile("explore", settings.get_profile("full"), derandomize=False, print_blob=True)
settings.load_profile("quick")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell makes what it starts in the background ignore interrupts, and all that this starts; tests send them.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# The stack of most tests; `make` makes it too, and a worker of pytest has it from whoever started it.
if "PYTEST_XDIST_WORKER" not in os.environ:
    write_stack(Path(__file__).parent, Path(__file__).parent / "stack.yaml")

# The tests of the projects that these templates make; a package's folder, where its tests run alone, has them too.
collect_ignore_glob = ["packages/command/stepwire_cli/templates/*"]


# Collecting the tests creates millions of objects that live until the process ends. A garbage collection that visits
# them costs each worker seconds.
gc.disable()


@pytest.fixture
def anyio_backend() -> str:
    """Run the asynchronous tests on asyncio, as the users of the libraries do."""
    return "asyncio"


@pytest.fixture
def printed(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], str]:
    """Return what has been printed and logged since the last call.

    Powertools caches loggers by the name of the service, and each keeps its first stream: so the test has its own.
    """
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", request.node.nodeid)
    return lambda: capsys.readouterr().out


def _is_worker(config: pytest.Config) -> bool:
    """Tell whether this is a worker of xdist; what a test starts is none, although it inherits a worker's environment.

    A worker leaves with 0 whatever has failed: it has told.
    """
    return hasattr(config, "workerinput")


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Let a worker report of a test what the terminal shows: its outcome, and what failed before and after it.

    A worker sends six messages for each test, and for thousands of tests that take milliseconds the process that reads
    them is as busy as a worker.
    """
    if not _is_worker(item.config) or item.config.getoption("durations") is not None:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.passed:
            report.sections.clear()  # what it printed
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let workers begin with the files that take longest."""
    if _is_worker(config):
        order = in_order([item.nodeid.partition("::")[0] for item in items])
        items[:] = [items[at] for at in order]


def pytest_collection_finish() -> None:
    """Exclude the objects of the test collection from garbage collection, and turn it on again, but collect rarely.

    With Python's own threshold, collections took about a tenth of the time of the tests.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Draw the same examples whichever tests ran before, and let a worker leave at once.

    Hypothesis also draws constants from the local modules that happen to be loaded, which differ between workers.
    """
    if _is_worker(config):
        # As in stepwire_local/terminal/leaving.py: DuckDB would otherwise report leaked objects, although none leak.
        atexit.register(os._exit, 0)
    if config.getoption("--hypothesis-profile") != "explore":
        inside: Any = providers  # Hypothesis has no setting for this
        none_yet = inside._local_constants
        inside._get_local_constants = lambda: none_yet


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Fail the last test of a file that leaves the simulated account open: the tests of other files would find it."""
    yield
    stubber = sys.modules.get("moto.core.models")
    if nextitem is None or nextitem.path != item.path:
        assert stubber is None or not stubber.botocore_stubber.enabled, f"{item.path.name} leaves a stack running"


class Refusals(logging.Handler):
    """Collects the calls that the local stack denied, because the role did not allow them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record.getMessage())


# Read from the log, so that tests without a local stack do not import it.
@pytest.fixture(autouse=True)
def refusals() -> Iterator[list[str]]:
    """Fail a test in which a role was denied a call; a test that expects denials clears the list."""
    handler, log = Refusals(), logging.getLogger("stepwire_local.iam.permissions")
    log.addHandler(handler)
    yield handler.seen
    log.removeHandler(handler)
    assert handler.seen == [], "a function made an AWS call that its role in template.yaml does not allow"
