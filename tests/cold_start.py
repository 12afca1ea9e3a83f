"""Start function mcp as Lambda does, in an interpreter of its own, against a fake AWS on which every call succeeds.

Used by the tests of the snapshot, and by the benchmark that measures what the snapshot saves.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stepwire.composition import EXTRAS
from stepwire.manifests.reading import compile_directory
from stepwire_local.http_server import LoopbackServer, QuietHandler
from tests.adopted import write_manifests
from tests.recorded import recorded
from tests.waiting import HANG_GUARD

ROOT: Final = Path(__file__).parents[1]
FUNCTION: Final = ROOT / "functions/mcp"
CREDENTIALS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
"""Variables that Lambda sets only after the snapshot was taken."""

SETTINGS: Final = {
    "ALLOWED_ORIGINS": "",
    "AUTHORIZER": "none",
    "EXECUTION_PREFIX": "sw-",
    "EXTRAS": ",".join(EXTRAS),
    "MOST_ACTIVE_TASKS": "100",
    "MOST_TASKS_PER_MINUTE": "120",
    "MOST_WAITING": "5",
    "POLLS_PER_SECOND": "1",
    "PRINCIPAL_SALT": "a stack",
    "REPAIR_AFTER_SECONDS": "60",
    "SECRET_ARN": "a secret",
    "TABLE_NAME": "tasks",
    "WAIT_SECONDS": "20",
}
"""Variables that the template sets for function mcp."""
ENVIRONMENT: Final = {
    **SETTINGS,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_REGION": "eu-central-1",
}


@dataclass(frozen=True)
class Aws:
    """A fake AWS: its port, and the access key ids with which the calls to it were signed."""

    port: int
    signed_by: list[str] = field(default_factory=list[str])


@contextmanager
def always_succeeding_aws() -> Generator[Aws]:
    """Serve a fake AWS on this machine that answers every call with an empty success."""
    signed_by: list[str] = []

    class Answer(QuietHandler):
        def do_POST(self) -> None:
            self.body()
            signed_by.append(self.headers["authorization"].partition("Credential=")[2].partition("/")[0])
            is_batch = self.headers.get("x-amz-target", "").endswith(".BatchGetItem")
            self.reply(200, b'{"Responses": {}}' if is_batch else b"{}")

    with LoopbackServer(Answer) as server:
        yield Aws(server.port, signed_by)


def write_catalog(folder: Path) -> None:
    """Write a catalog of the tests' tools, as the build does, for the function to find in LAMBDA_TASK_ROOT."""
    compiled = compile_directory(write_manifests(folder / "manifests"))
    (folder / "catalog.json").write_text(compiled, encoding="utf-8")


def run(code: str, task_root: Path, variables: Mapping[str, str]) -> Any:
    """Run code in the function's folder, with its environment and these variables; return the JSON that it prints.

    The variable `call` holds the event of a tools/call that creates a task. No variable holds credentials.
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
        timeout=HANG_GUARD,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
