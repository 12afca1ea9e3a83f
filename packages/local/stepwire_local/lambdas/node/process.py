"""One process of `node` that runs a function: what Lambda calls an execution environment.

The rules: it takes one event at a time. One that takes longer than its function may ends the process, with whatever
the process has started. The process ends by itself when its input ends, and so never outlives this process.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from stepwire_local.lambdas.function_output import output_of
from stepwire_local.lambdas.invocations import (
    Failed,
    FunctionSettings,
    LambdaContext,
    Outcome,
    failed,
    in_one_line,
    timed_out,
)
from stepwire_local.lambdas.node.load_errors import not_loaded
from stepwire_local.lambdas.node.runtime_api import Invocation, RuntimeApi

logger = logging.getLogger(__name__)

START_SECONDS: Final = 10.0
"""The time that loading the code may take beside the function's Timeout, as in Lambda."""
_BOOTSTRAP: Final = Path(__file__).with_name("bootstrap.mjs")


class Environment:
    """A process that runs a function's code.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, settings: FunctionSettings, node: str, layers: Sequence[Path]) -> None:
        self._settings = settings
        self._is_killed = False
        self._api = RuntimeApi(lambda error: not_loaded(error, settings))
        self._process = subprocess.Popen(  # noqa: S603  # the developer's own code
            [node, f"--max-old-space-size={settings.memory * 9 // 10}", str(_BOOTSTRAP)],
            cwd=settings.folder,
            env={**settings.variables, **_variables(settings, layers), "AWS_LAMBDA_RUNTIME_API": self._api.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A session of its own: Ctrl-C reaches the stack alone, which ends the process.
            start_new_session=True,
        )
        printing = threading.Thread(target=self._print, args=(self._process.stdout,), daemon=True)
        printing.start()
        threading.Thread(target=self._await_end, args=(printing,), daemon=True).start()

    @property
    def is_usable(self) -> bool:
        """Return whether it can take another event."""
        return not self._api.has_ended and self._process.poll() is None

    def run(self, event: str, context: LambdaContext, seconds: float) -> Outcome:
        """Run the handler on an event, as JSON text; the time counts from when the process takes it."""
        invocation = Invocation(event, context, seconds)
        self._api.put(invocation)
        try:
            invocation.taken.result(START_SECONDS + seconds)
            outcome = invocation.done.result(seconds)
        except TimeoutError:
            invocation.settle(timed_out(self._settings, context.aws_request_id))
            self.kill()
            return invocation.done.result()
        if isinstance(outcome, Failed) and not self._is_killed:
            logger.warning("%s failed. %s", self._settings.name, in_one_line(outcome))
        return outcome

    def kill(self) -> None:
        """End the process, and what it has started."""
        self._is_killed = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _print(self, lines: IO[bytes]) -> None:
        """Pass what the process writes on to the function's log."""
        with output_of(self._settings.name), suppress(ValueError):  # the log is closed already
            for line in lines:
                sys.stdout.write(line.decode("utf-8", "replace").rstrip("\r\n") + "\n")
                sys.stdout.flush()  # a pipe would keep it until more comes

    def _await_end(self, printing: threading.Thread) -> None:
        code = self._process.wait()
        printing.join(timeout=1)  # its last words first; what it has started may hold the stream
        self._api.end(lambda request_id: self._exited(request_id, code))
        self._api.close()

    def _exited(self, request_id: str, code: int) -> Failed:
        status = f"signal: {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        message = f"RequestId: {request_id} Error: Runtime exited with error: {status} (function {self._settings.name})"
        return failed("Runtime.ExitError", message)


def _variables(settings: FunctionSettings, layers: Sequence[Path]) -> Mapping[str, str]:
    found = [one for layer in layers for one in (layer / "nodejs/node_modules", layer / "node_modules")]
    given = settings.variables.get("NODE_PATH", "")
    path = [*filter(None, given.split(os.pathsep)), *(str(one) for one in (*found, *settings.packages) if one.is_dir())]
    return {"LAMBDA_TASK_ROOT": str(settings.folder), **({"NODE_PATH": os.pathsep.join(path)} if path else {})}
