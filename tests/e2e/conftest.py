"""The root template and a test template on the local stack, once per test process, for real clients.

Each function has two instances, which serve invocations in turn: no client may depend on an instance's memory.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from stepwire_local import LocalStack
from stepwire_local.lambdas import functions
from tests.adopted import ADOPTER
from tests.waiting import HANG_GUARD, PATIENT

# Stretch the timeouts of functions, so that no invocation fails because the machine is busy.
functions.timeout_scale = PATIENT

ROOT: Final = Path(__file__).parents[2]
LEGACY_PYTHON: Final = ROOT / ".venv-legacy" / "bin" / "python"
LEGACY_READY: Final = ROOT / ".venv-legacy" / "ready"
LEGACY_DRIVER: Final = Path(__file__).parent / "legacy_driver.py"

LegacyClient = Callable[..., Any]


class LegacyProcess:
    """A process of `.venv-legacy` that has imported `mcp` 1.30, and runs scenarios in sequence."""

    def __init__(self) -> None:
        command = [*_driver(), "--serve"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, url: str, *arguments: str) -> Any:
        """Run a scenario of legacy_driver.py against an endpoint; return what the client saw."""
        assert self._process.stdin
        assert self._process.stdout
        guard = threading.Timer(HANG_GUARD, self.close)
        guard.start()
        try:
            print(json.dumps([url, *arguments]), file=self._process.stdin, flush=True)
            answer = json.loads(self._process.stdout.readline())
        finally:
            guard.cancel()
        assert "traceback" not in answer, answer["traceback"]
        return answer["seen"]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="session")
def legacy_process() -> Iterator[LegacyProcess]:
    """The process that all tests share."""
    process = LegacyProcess()
    yield process
    process.close()


# No longer than a file: the stacks of a process share an account, which is emptied when the last one closes.
@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The endpoint."""
    limits = {"MostActiveTasks": "1000", "MostTasksPerMinute": "6000"}  # all tests are one caller
    with LocalStack(ROOT / "stack.yaml", others=[ADOPTER], instances=2, parameters=limits) as stack:
        yield stack.url


@pytest.fixture(scope="module")
def own_url() -> Iterator[str]:
    """The endpoint of the test template, which has workflows that the examples do not have."""
    with LocalStack(Path(__file__).parent / "template.yaml", instances=2) as stack:
        yield stack.url


@pytest.fixture
def anyio_backend() -> str:
    """Run the asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture(scope="module")
def legacy_command(url: str) -> list[str]:
    """The beginning of the command that runs a scenario with `mcp` 1.30."""
    return command_for(url)


@pytest.fixture
def legacy_client(legacy_process: LegacyProcess, url: str) -> LegacyClient:
    """Run a scenario of legacy_driver.py against the root template; return what the client saw."""
    return partial(legacy_process.run, url)


@pytest.fixture
def own_legacy_client(legacy_process: LegacyProcess, own_url: str) -> LegacyClient:
    """Run a scenario against the test template."""
    return partial(legacy_process.run, own_url)


@pytest.fixture(scope="session")
def legacy_client_of(legacy_process: LegacyProcess) -> Callable[[str], LegacyClient]:
    """Run scenarios against any endpoint."""
    return lambda url: partial(legacy_process.run, url)


def command_for(url: str) -> list[str]:
    """Return the beginning of the command that runs a scenario against an endpoint."""
    return [*_driver(), url]


def _driver() -> list[str]:
    assert LEGACY_READY.exists(), f"{LEGACY_READY.parent.name} is missing: run `make .venv-legacy/ready`"
    return [str(LEGACY_PYTHON), str(LEGACY_DRIVER)]


def run_scenario(command: list[str], scenario: str, *arguments: str) -> Any:
    """Run a scenario of legacy_driver.py; return what the client saw."""
    ended = subprocess.run(
        [*command, scenario, *arguments], capture_output=True, text=True, timeout=HANG_GUARD, check=False
    )
    assert ended.returncode == 0, ended.stderr
    sys.stderr.write(ended.stderr)
    return json.loads(ended.stdout)
