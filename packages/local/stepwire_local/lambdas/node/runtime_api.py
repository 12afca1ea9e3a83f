"""Lambda's Runtime API for one process, on a free port of 127.0.0.1: it hands out events and takes their outcomes.

The rules are AWS's (version 2018-06-01): a process has one event at a time, and an outcome counts once, for the event
that the process has. Whatever happens to the process, each invocation that it was given has an outcome.
"""

import queue
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Final

from stepwire_local.http_server import QuietHandler
from stepwire_local.lambdas.invocations import PAYLOAD_LIMIT, Failed, LambdaContext, Outcome, returned

_PREFIX: Final = "/2018-06-01/runtime/"
_ENDS: Final = "Lambda-Runtime-Process-Ends"
"""A header of ours: after this error, the process takes no further event."""
_LONGEST: Final = PAYLOAD_LIMIT + 1  # bytes that are read: enough to know that a response is too large


@dataclass(frozen=True)
class Invocation:
    """An event for the process, and what becomes of it."""

    event: str
    context: LambdaContext
    seconds: float  # until it times out, from when the process takes it
    taken: Future[None] = field(default_factory=Future[None])
    done: Future[Outcome] = field(default_factory=Future[Outcome])

    @property
    def id(self) -> str:
        """Return the request id."""
        return self.context.aws_request_id

    def headers(self) -> dict[str, str]:
        """Return the headers that come with the event."""
        trace = self.id.replace("-", "")
        return {
            "Lambda-Runtime-Aws-Request-Id": self.id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + self.seconds) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self.context.invoked_function_arn,
            "Lambda-Runtime-Trace-Id": f"Root=1-{trace[:8]}-{trace[8:]};Parent={trace[:16]};Sampled=0",
        }

    def settle(self, outcome: Outcome) -> None:
        """Give it its outcome, unless it has one."""
        for future, value in ((self.done, outcome), (self.taken, None)):
            if not future.done():
                future.set_result(value)  # pyright: ignore[reportArgumentType] - each future gets what is its own


class RuntimeApi:
    """The server of one process.

    Args:
        not_started: Makes the outcome of an error that the process tells of before it takes an event.
    """

    def __init__(self, not_started: Callable[[str], Failed]) -> None:
        self._not_started = not_started
        self._waiting = queue.SimpleQueue[Invocation | None]()
        self._current: Invocation | None = None
        self._ended: Failed | None = None
        self._stops = False
        self._turn = threading.Lock()
        self._is_closed = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("_Bound", (_Handler,), {"api": self}))
        self.address = f"127.0.0.1:{self._server.server_port}"  # as AWS_LAMBDA_RUNTIME_API has it
        threading.Thread(target=self._serve, name="runtime api", daemon=True).start()

    @property
    def has_ended(self) -> bool:
        """Return whether the process takes no more events."""
        return self._ended is not None or self._stops

    def stop(self) -> None:
        """Take that the process ends after the event that it has."""
        self._stops = True

    def put(self, invocation: Invocation) -> None:
        """Let the process have an event; one that has ended fails it."""
        with self._turn:
            self._current = invocation
            if self._ended is None:
                self._waiting.put(invocation)
            else:
                invocation.settle(self._ended)

    def next(self) -> Invocation | None:
        """Return the next event, when there is one; None: the process is to end."""
        invocation = self._waiting.get()
        if invocation is None:
            self._waiting.put(None)
        elif not invocation.taken.done():
            invocation.taken.set_result(None)
        return invocation

    def settle(self, request_id: str, outcome: Outcome) -> bool:
        """Take the outcome of an event; return whether the process has this event."""
        with self._turn:
            invocation = self._current
            if invocation is None or invocation.id != request_id or invocation.done.done():
                return False
            invocation.settle(outcome)
            return True

    def fail_start(self, error: str) -> None:
        """Take an error of the start, as JSON text."""
        self.end(lambda _: self._not_started(error))

    def end(self, why: Callable[[str], Failed]) -> None:
        """Take that the process ends; `why` makes the outcome of a request id. The first reason counts."""
        with self._turn:
            self._ended = self._ended or why(self._current.id if self._current else "")
            if self._current is not None:
                self._current.settle(self._ended)
        self._waiting.put(None)

    def close(self) -> None:
        """Stop the server: the process has ended."""
        self._is_closed.set()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._server.server_port), timeout=1):
            pass  # so that it notices

    def _serve(self) -> None:
        while not self._is_closed.is_set():
            self._server.handle_request()  # waits without a time limit, which costs nothing
        self._server.server_close()


class _Handler(QuietHandler):
    api: RuntimeApi
    disable_nagle_algorithm = True  # otherwise each response waits 40 ms

    def do_GET(self) -> None:
        """Hand out the next event."""
        if not self._is_for_us() or self.path != f"{_PREFIX}invocation/next":
            self.reply(404, b"{}")
            return
        invocation = self.api.next()
        with suppress(OSError):  # the process has ended meanwhile, which its waiter tells of
            if invocation is None:
                self.reply(410, b"{}")
            else:
                self.reply(200, invocation.event.encode(), invocation.headers())

    def do_POST(self) -> None:
        """Take the outcome of an event, or an error of the start."""
        text = self.body(_LONGEST).decode("utf-8", "replace")
        match self.path.removeprefix(_PREFIX).split("/") if self._is_for_us() else ():
            case ["invocation", request_id, "response"]:
                outcome = returned(text)
                is_known = self.api.settle(request_id, outcome)
                self._accept(413 if isinstance(outcome, Failed) else 202, is_known=is_known)
            case ["invocation", request_id, "error"]:
                if self.headers.get(_ENDS):
                    self.api.stop()
                self._accept(202, is_known=self.api.settle(request_id, Failed(text)))
            case ["init", "error"]:
                self.api.fail_start(text)
                self._accept(202, is_known=True)
            case _:
                self.reply(404, b"{}")

    def _accept(self, status: int, *, is_known: bool) -> None:
        with suppress(OSError):
            self.reply(
                status if is_known else 400, b'{"status":"OK"}' if is_known else b'{"errorType":"InvalidRequestID"}'
            )

    def _is_for_us(self) -> bool:
        """Return whether the request names this server: a web page, by whatever name of its own, does not."""
        return self.headers.get("host") == self.api.address
