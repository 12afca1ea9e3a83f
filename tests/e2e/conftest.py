"""The root template and one of our own on the local stack, once for each test process, and real clients before them.

Each function is there twice, and its invocations go to one instance after the other: what a client sees may depend on
nothing that one of them remembers.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from local import LocalStack

ROOT: Final = Path(__file__).parents[2]
LEGACY_PYTHON: Final = ROOT / ".venv-legacy" / "bin" / "python"
LEGACY_READY: Final = ROOT / ".venv-legacy" / "ready"
LEGACY_DRIVER: Final = Path(__file__).parent / "legacy_driver.py"
LEGACY_SECONDS: Final = 120

LegacyClient = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the test that waits longest begin first, so that the other test processes work meanwhile."""
    items.sort(key=lambda item: "a_call_of_75_seconds" not in item.name)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The endpoint."""
    limits = {"MostActiveTasks": "1000", "MostTasksPerMinute": "6000"}  # all tests are one caller
    with LocalStack(ROOT / "template.yaml", instances=2, parameters=limits) as stack:
        yield stack.url


@pytest.fixture(scope="session")
def own_url() -> Iterator[str]:
    """The endpoint of the template with workflows that no example has."""
    with LocalStack(Path(__file__).parent / "template.yaml", instances=2) as stack:
        yield stack.url


@pytest.fixture
def anyio_backend() -> str:
    """Run the asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def legacy_command(url: str) -> list[str]:
    """The beginning of the command that runs a scenario with `mcp` 1.30."""
    return command_for(url)


@pytest.fixture
def legacy_client(legacy_command: list[str]) -> LegacyClient:
    """Run a scenario of legacy_driver.py against the root template, and give what it has seen."""
    return partial(run_scenario, legacy_command)


@pytest.fixture
def own_legacy_client(own_url: str) -> LegacyClient:
    """Run a scenario against our own template."""
    return partial(run_scenario, command_for(own_url))


@pytest.fixture(scope="session")
def legacy_client_of() -> Callable[[str], LegacyClient]:
    """Run scenarios against any endpoint."""
    return lambda url: partial(run_scenario, command_for(url))


def command_for(url: str) -> list[str]:
    """Give the beginning of the command that runs a scenario against an endpoint."""
    assert LEGACY_READY.exists(), f"{LEGACY_READY.parent.name} is missing: run `make .venv-legacy/ready`"
    return [str(LEGACY_PYTHON), str(LEGACY_DRIVER), url]


def run_scenario(command: list[str], scenario: str, *arguments: str) -> Any:
    """Run a scenario of legacy_driver.py, and give what it has seen."""
    ended = subprocess.run(
        [*command, scenario, *arguments], capture_output=True, text=True, timeout=LEGACY_SECONDS, check=False
    )
    assert ended.returncode == 0, ended.stderr
    sys.stderr.write(ended.stderr)
    return json.loads(ended.stdout)
