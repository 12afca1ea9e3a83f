"""Scripts of stubs: checked when they are read, and run in a process of their own that can be ended.

The rule: a script never outlives its time limit, nor the stack that asks it.
"""

import ast
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from stepwire_local.errors import StubError
from stepwire_local.stubs.replies import BadReply, Failure, Reply, Unusable, read_reply

logger = logging.getLogger(__name__)

LIMIT: Final = 60.0  # seconds; the default of `--stub-seconds`

_RUNNER: Final = Path(__file__).with_name("run_script.py")
_ENTRY: Final = "answer"
# A script's calls to AWS fail on this machine: they must not reach the real one.
_NOWHERE: Final = "http://127.0.0.1:9"


def check_script(path: Path, text: str) -> None:
    """Check that a script can be parsed and has a function `answer`.

    Raises:
        StubError: it has not; the message names the line.
    """
    try:
        parsed = ast.parse(text, filename=str(path))
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise StubError(f"{path}{line}: {getattr(error, 'msg', error)}.") from None
    if _ENTRY not in {name for node in parsed.body for name in _bound(node)}:
        raise StubError(f"{path}: it has no function {_ENTRY}(input, context).")


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement gives a value."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return []


class Scripts:
    """Runs scripts until it is closed."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit = limit
        self.closed = threading.Event()
        self._running: set[subprocess.Popen[str]] = set()
        self._turn = threading.Lock()

    def run(self, path: Path, given: Any, context: Mapping[str, Any]) -> Reply | Unusable:
        """Return what a script replies to a call, whose input and context are JSON."""
        call = json.dumps({"input": given, "context": dict(context)}, default=str)
        process = self._start(path)
        if process is None:
            return Unusable(f"{path} was not asked: the local stack stops")
        try:
            said, printed = process.communicate(call, timeout=self.limit)
        except subprocess.TimeoutExpired:
            self._end(process)
            _close(process)
            return Unusable(f"{path} did not return within {self.limit:g} seconds (--stub-seconds)")
        finally:
            self._running.discard(process)
        if printed:
            sys.stdout.write(f"{path}: {printed}")
        return _read(path, said)

    def close(self) -> None:
        """End the scripts that run; later ones are not started."""
        with self._turn:
            self.closed.set()
        for process in list(self._running):
            self._end(process)

    def _start(self, path: Path) -> "subprocess.Popen[str] | None":
        with self._turn:  # none may start unseen while `close` ends all
            if self.closed.is_set():
                return None
            process = subprocess.Popen(  # noqa: S603  # the developer's own script
                # -P: the modules beside the runner are none of the script's.
                [sys.executable, "-P", str(_RUNNER), str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                # A session of its own: Ctrl-C reaches the stack alone, which ends the script.
                start_new_session=True,
                env={**os.environ, "AWS_ENDPOINT_URL": _NOWHERE},
            )
            self._running.add(process)
            return process

    def _end(self, process: "subprocess.Popen[str]") -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        # Not communicate(): another thread may wait there, and a grandchild may hold the pipes open.
        process.wait()


def _close(process: "subprocess.Popen[str]") -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _read(path: Path, said: str) -> Reply | Unusable:
    try:
        outcome = json.loads(said)
    except ValueError:
        return Unusable(f"{path} ended before it returned")
    if "unusable" in outcome:
        return Unusable(f"{path} {outcome['unusable']}")
    if "error" in outcome:
        logger.warning("%s raised %s: %s", path, outcome["error"], outcome["cause"])
        return Reply(Failure(outcome["error"], outcome["cause"]))
    try:
        return read_reply(outcome["reply"])
    except BadReply as bad:
        return Unusable(f"{path} returned a reply that cannot be read: {bad}")
