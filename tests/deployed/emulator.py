"""An emulated AWS on 127.0.0.1, in a separate process and environment.

The rule: it inherits nothing of our environment, listens only on 127.0.0.1, stores nothing permanently, and enforces
the
policies of the functions' roles. It runs functions with its own Python (.venv-e2e) on this machine, whatever the
template says.
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import httpx

from tests.ports import free_port

ROOT: Final = Path(__file__).parents[2]
PYTHON: Final = ROOT / ".venv-e2e/bin/python"
REGION: Final = "us-east-1"
START_SECONDS: Final = 90
STOP_SECONDS: Final = 15


class Emulator:
    """The emulated AWS; serves while its block runs. It writes its files and its log to `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.log = folder / "emulator.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        assert PYTHON.exists(), f"{PYTHON.parents[1].name} is missing: run `make e2e`"
        with self.log.open("wb") as log:
            # A separate session, so that the functions' processes end with it.
            self._process = subprocess.Popen(
                [PYTHON, "-m", "ministack"], env=self._environment(), stdout=log, stderr=log, start_new_session=True
            )
        self._wait_until_healthy(self._process)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        finally:
            _end_what_is_left_of(self._process.pid)

    @property
    def credentials(self) -> dict[str, str]:
        """Return the environment in which AWS's own tools and libraries talk only to the emulator."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def host_of(self, api: str) -> str:
        """Return the header Host by which the emulator identifies an API."""
        return f"{api}.execute-api.localhost:{self._port}"

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.defpath,
            "HOME": str(self._folder),
            "TMPDIR": str(self._folder),
            "GATEWAY_PORT": str(self._port),
            # All three are needed: without the last two, other ports listen on every network.
            "BIND_HOST": "127.0.0.1",
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "AUTH": "true",
            # One process of some 50 MB for each concurrent invocation.
            "LAMBDA_ACCOUNT_CONCURRENCY": "24",
        }

    def _wait_until_healthy(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                httpx.get(f"{self.url}/_ministack/health", timeout=5, trust_env=False).raise_for_status()
            except httpx.HTTPError:
                time.sleep(0.1)
            else:
                return
        _end_what_is_left_of(process.pid)
        raise AssertionError(f"the emulator did not start:\n{self.log.read_text(errors='replace')[-2000:]}")


def _end_what_is_left_of(session: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)
