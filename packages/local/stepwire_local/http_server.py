"""A small HTTP server on 127.0.0.1, for what stands in for another service: an issuer, or AWS in a test."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class QuietHandler(BaseHTTPRequestHandler):
    """Answers requests, and logs none."""

    def body(self, longest: int | None = None) -> bytes:
        """Return the body of the request, or its first `longest` bytes."""
        length = int(self.headers.get("content-length", 0))
        return self.rfile.read(length if longest is None else min(length, longest))

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Send a response; without headers, of JSON."""
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""


class LoopbackServer:
    """A server that serves while its block runs; its URL is known before.

    Each request has a thread of its own. Port 0 takes a free one.
    """

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.port = self._server.server_port
        self.origin = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
