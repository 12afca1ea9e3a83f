"""Lambda's Runtime API on 127.0.0.1, and a function that the official runtime interface client runs against it.

What `sam local` runs in a container runs here in a separate process. The API is that of the Lambda developer guide,
"Using the Lambda runtime API".
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import Any, Final, Self, cast

from tests.waiting import HANG_GUARD

_API: Final = "/2018-06-01/runtime"
_ARN: Final = "arn:aws:lambda:us-east-1:123456789012:function:test"
_SECONDS: Final = HANG_GUARD  # for one invocation, including the start


@dataclass(frozen=True)
class Answer:
    """What the function returned."""

    result: Any


@dataclass(frozen=True)
class Fault:
    """What the runtime client reported about a failed function."""

    error: dict[str, Any]
    at_start: bool


class _Handler(BaseHTTPRequestHandler):
    """One request of the runtime client."""

    protocol_version = "HTTP/1.1"

    @property
    def _api(self) -> "_Api":
        return cast(_Api, self.server)

    def do_GET(self) -> None:
        assert self.path == f"{_API}/invocation/next"
        event = self._api.events.get()
        if event is None:
            self.close_connection = True
            return
        headers = {
            "Lambda-Runtime-Aws-Request-Id": self._api.request_id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + _SECONDS) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self._api.arn,
        }
        self._reply(200, event, headers)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        outcomes: dict[str, Answer | Fault] = {
            f"{_API}/invocation/{self._api.request_id}/response": Answer(body),
            f"{_API}/invocation/{self._api.request_id}/error": Fault(body, at_start=False),
            f"{_API}/init/error": Fault(body, at_start=True),
        }
        self._api.outcomes.put(outcomes[self.path])
        self._reply(202, b'{"status": "OK"}', {})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Say nothing: a request is no news."""

    def _reply(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class _Api(ThreadingHTTPServer):
    """The API for one function, which gets one event at a time."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: Queue[bytes | None] = Queue()
        self.outcomes: Queue[Answer | Fault] = Queue()
        self.request_id = ""
        self.arn = ""


class Runtime:
    """A function that runs while the block does.

    Args:
        folder: its code.
        handler: as in its property `Handler`.
        variables: its environment; of this process's environment it gets only the path.
    """

    def __init__(self, folder: Path, handler: str, variables: Mapping[str, str]) -> None:
        self._api = _Api()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it is open while the block runs
        runtime = {
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._api.server_port}",
            "LAMBDA_TASK_ROOT": str(folder),
            "PATH": os.environ["PATH"],
            "_HANDLER": handler,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "awslambdaric", handler],
            cwd=folder,
            env={**variables, **runtime},
            stdout=self._output,
            stderr=self._output,
        )

    def __enter__(self) -> Self:
        threading.Thread(target=self._api.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._api.events.put(None)
        self._api.shutdown()
        self._api.server_close()
        self._output.close()

    def invoke(self, event: Any, alias: str = "") -> Answer | Fault:
        """Send an event to the function, perhaps by an alias, and return its outcome.

        Raises:
            AssertionError: there was no outcome; with the output of the function.
        """
        self._api.request_id = str(uuid.uuid4())
        self._api.arn = ":".join(filter(None, (_ARN, alias)))
        self._api.events.put(json.dumps(event).encode())
        try:
            return self._api.outcomes.get(timeout=_SECONDS)
        except Empty:
            self._output.seek(0)
            raise AssertionError(self._output.read().decode(errors="replace")) from None
