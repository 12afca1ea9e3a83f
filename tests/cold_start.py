"""Starts function mcp as Lambda does, in an interpreter of its own, before an AWS that says yes to everything.

For the tests of the snapshot, and for the benchmark of what it saves.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

from stepwire.catalog.manifests import compile_directory
from tests.adopted import write_manifests
from tests.recorded import recorded

ROOT: Final = Path(__file__).parents[1]
FUNCTION: Final = ROOT / "functions/mcp"
CREDENTIALS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
"""What a function's environment lacks before the snapshot."""

SETTINGS: Final = {
    "ALLOWED_ORIGINS": "",
    "AUTHORIZER": "none",
    "CALL_SECONDS": "50",
    "EXECUTION_PREFIX": "sw-",
    "HOLD_SECONDS": "0",
    "INLINE_WAIT_SECONDS": "2",
    "LONGEST_TTL_HOURS": "720",
    "MOST_ACTIVE_TASKS": "100",
    "MOST_ARGUMENT_BYTES": "262144",
    "MOST_TASKS_PER_MINUTE": "120",
    "MOST_WAITING": "5",
    "MOST_WAITING_PER_CALLER": "3",
    "POLLS_PER_SECOND": "1",
    "PRINCIPAL_SALT": "a stack",
    "PROGRESS_CALL_SECONDS": "3600",
    "REPAIR_AFTER_SECONDS": "60",
    "RESUMING_CLIENTS": "known",
    "SECRET_ARN": "a secret",
    "STATE_AFTER_SECONDS": "30",
    "TABLE_NAME": "tasks",
    "WAIT_SECONDS": "20",
}
"""What the template sets for function mcp."""
ENVIRONMENT: Final = {
    **SETTINGS,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_REGION": "eu-central-1",
}


@dataclass(frozen=True)
class Aws:
    """An AWS to talk to: the port that it listens on, and the access keys that signed what it was asked."""

    port: int
    signed_by: list[str] = field(default_factory=list[str])


@contextmanager
def agreeable_aws() -> Generator[Aws]:
    """Serve an AWS on this machine that answers every call with an empty success."""
    signed_by: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            signed_by.append(self.headers["authorization"].partition("Credential=")[2].partition("/")[0])
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Aws(server.server_address[1], signed_by)
    finally:
        server.shutdown()
        server.server_close()


def write_catalog(folder: Path) -> None:
    """Write a catalog of the tests' tools, as the build does, for the function to find in LAMBDA_TASK_ROOT."""
    compiled = compile_directory(write_manifests(folder / "manifests"))
    (folder / "catalog.json").write_text(compiled, encoding="utf-8")


def run(code: str, task_root: Path, variables: Mapping[str, str]) -> Any:
    """Run code in the function's folder with its environment and these variables; return the JSON that it prints.

    `call` in its environment is the event of a tools/call that makes a task; no credentials are.
    """
    given = {"LAMBDA_TASK_ROOT": str(task_root), "CALL": json.dumps(recorded("http_post_legacy"))}
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=FUNCTION,
        env={**inherited, **ENVIRONMENT, **given, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
