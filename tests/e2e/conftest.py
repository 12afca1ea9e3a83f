"""The root template on the local stack, once for each test process, and real clients in front of it."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from local import LocalStack

ROOT: Final = Path(__file__).parents[2]
LEGACY_PYTHON: Final = ROOT / ".venv-legacy" / "bin" / "python"
LEGACY_READY: Final = ROOT / ".venv-legacy" / "ready"
LEGACY_DRIVER: Final = Path(__file__).parent / "legacy_driver.py"
LEGACY_SECONDS: Final = 60

LegacyClient = Callable[..., Any]


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The endpoint."""
    with LocalStack(ROOT / "template.yaml") as stack:
        yield stack.url


@pytest.fixture
def anyio_backend() -> str:
    """Run the asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def legacy_command(url: str) -> list[str]:
    """The beginning of the command that runs a scenario with `mcp` 1.30."""
    assert LEGACY_READY.exists(), f"{LEGACY_READY.parent.name} is missing: run `make .venv-legacy/ready`"
    return [str(LEGACY_PYTHON), str(LEGACY_DRIVER), url]


@pytest.fixture
def legacy_client(legacy_command: list[str]) -> LegacyClient:
    """Run a scenario of legacy_driver.py, and give what it has seen."""

    def run(scenario: str, *arguments: str) -> Any:
        ended = subprocess.run(
            [*legacy_command, scenario, *arguments], capture_output=True, text=True, timeout=LEGACY_SECONDS, check=False
        )
        assert ended.returncode == 0, ended.stderr
        sys.stderr.write(ended.stderr)
        return json.loads(ended.stdout)

    return run
