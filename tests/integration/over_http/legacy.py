"""A client of 2025-11-25 for the tests: a process with `mcp` 1.30, which runs the scenarios of mcp_1.py."""

import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

from tests.clients.programs import LEGACY_PYTHON
from tests.waiting import HANG_GUARD

LegacyClient = Callable[..., Any]
"""Runs a scenario with its arguments; returns what the client saw."""
_PROGRAM: Final = Path(__file__).parent / "mcp_1.py"


class LegacyProcess:
    """A process of `.venv-legacy` that has imported `mcp` 1.30, and runs scenarios in sequence."""

    def __init__(self) -> None:
        assert LEGACY_PYTHON.exists(), ".venv-legacy is missing: run `make .venv-legacy/ready`"
        command = [str(LEGACY_PYTHON), str(_PROGRAM)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._close()

    def run(self, url: str, *arguments: str) -> Any:
        """Run a scenario of mcp_1.py against an endpoint; return what the client saw."""
        assert self._process.stdin
        assert self._process.stdout
        guard = threading.Timer(HANG_GUARD, self._close)
        guard.start()
        try:
            print(json.dumps([url, *arguments]), file=self._process.stdin, flush=True)
            answer = json.loads(self._process.stdout.readline())
        finally:
            guard.cancel()
        assert "traceback" not in answer, answer["traceback"]
        return answer["seen"]

    def _close(self) -> None:
        self._process.kill()
        self._process.wait()
