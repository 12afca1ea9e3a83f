"""A scripted model: it calls one tool, then whatever the tool's results name next, and says when it is done.

It knows a host's tools only by the names that the host offers, and keeps nothing between requests: its turn follows
from the conversation that the host shows. It also stands in for the internet: a host that uses it as its proxy reaches
nothing, and the names that it asked for are recorded.
"""

import json
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Event, Lock, Thread
from typing import Any, Final

from tools.hosts.wires import JSON, STREAM, WIRES, Body, Call, Conversation, Json, Say, Turn

DONE: Final = "The script is done."
_NEXT_STEP: Final = re.compile(r"Next: call (\w+) with (\{.*?\}+)[.,]")
_FAILED: Final = re.compile(r"timed out|try again|rror while running the tool")
"""What a host says of a call that failed: a model tries again."""
_STOP: Final = re.compile(r"To stop it, use (\w+) with (\w+) \"(\w+)\"")
"""What Claude Code says of a task that it waits for in the background."""
_BETWEEN_FILLERS: Final = 5.0  # seconds; hosts and their libraries give up a model that is silent for minutes


@dataclass(frozen=True)
class Script:
    """The tool that a model calls first; what follows is read from its results."""

    tool: str
    arguments: Json = field(default_factory=dict[str, Any])
    stops: bool = False
    """Whether the model stops the work, with the host's own tool if it has one."""
    search: str = ""
    """What the model searches the tools for; empty: the tool is in its list."""
    rests: bool = False
    """Whether the model keeps its last turn back until it is released: the host stays connected, with nothing to do."""

    def turn(self, shown: Conversation) -> Turn:
        """Return the turn that follows a conversation."""
        finds, calls = _offered(shown, "find_tools"), _offered(shown, "call_tool")
        if self.search and finds and not shown.called:
            return Call(finds, {"query": self.search})
        first = calls if self.search else _offered(shown, self.tool)
        arguments = {"name": self.tool, "arguments": self.arguments} if self.search else self.arguments
        if first is None:
            return _end(shown)
        if first not in shown.called:
            return Call(first, arguments)
        last = _readable(shown.results[-1]) if shown.results else ""
        if self.stops and (stop := _STOP.search(last)):
            return Call(stop[1], {stop[2]: stop[3]})
        step = _NEXT_STEP.search(_last_step(shown.results) if _FAILED.search(last) else last)
        if step is None and _FAILED.search(last):
            return Call(first, arguments)
        tool = step and _offered(shown, step[1])
        return Call(tool, json.loads(step[2])) if step and tool else _end(shown)


@dataclass
class Model:
    """A model that is served, and what it has seen."""

    script: Script
    url: str = ""
    longest: Conversation = field(default_factory=Conversation)
    """The conversation with the most calls in it: the last state of the main one."""
    refused: set[str] = field(default_factory=set[str])
    """The addresses on the internet that the host asked for."""
    unknown: set[str] = field(default_factory=set[str])
    """The paths of requests in no known wire format."""
    rests: Event = field(default_factory=Event)
    """Whether the model has begun to keep its last turn back."""
    released: Event = field(default_factory=Event)
    """Whether it may give its last turn."""
    _numbers: Any = field(default_factory=lambda: count(1))
    _lock: Any = field(default_factory=Lock)

    def has_read(self, text: str) -> bool:
        """Tell whether the host has shown the model a text: in a tool's result, or in a message of its own."""
        return any(text in _compact(shown) for shown in (*self.longest.results, *self.longest.said))

    def last_read(self) -> str:
        """Return the last result that the host has shown the model."""
        return self.longest.results[-1] if self.longest.results else ""

    def answer(self, path: str, body: bytes) -> Body | None:
        """Answer a request; None where it is in no known wire format."""
        wire = next((one for one in WIRES if one.reads(path.partition("?")[0])), None)
        if wire is None:
            self.unknown.add(path)
            return None
        if aside := wire.aside(path.partition("?")[0]):
            return aside
        request = json.loads(body)
        shown = wire.conversation(request)
        with self._lock:
            if (len(shown.results), len(shown.said)) >= (len(self.longest.results), len(self.longest.said)):
                self.longest = shown if shown.called else self.longest
            number = next(self._numbers)
        turn = self.script.turn(shown)
        if self.script.rests and shown.results and turn == _end(shown):
            self.rests.set()
        return wire.body(path, request, turn, number)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        answered = self.model.answer(self.path, body)
        if answered is not None and self.model.rests.is_set() and not self.model.released.is_set():
            self._send_late(answered)
        else:
            self._send(404 if answered is None else 200, answered or Body(JSON, "{}"))

    def do_GET(self) -> None:
        self._send(200, Body(JSON, "{}"))

    def do_CONNECT(self) -> None:
        self.model.refused.add(self.path.partition(":")[0])
        self._send(403, Body(JSON, "{}"))

    do_HEAD = do_GET  # noqa: N815 - http.server's name

    def _send(self, status: int, body: Body) -> None:
        octets = body.text.encode()
        self.send_response(status)
        self.send_header("content-type", body.content_type)
        self.send_header("content-length", str(len(octets)))
        if body.content_type == STREAM:
            self.send_header("cache-control", "no-cache")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(octets)

    def _send_late(self, body: Body) -> None:
        """Send a response whose contents come when the model is released."""
        self.send_response(200)
        self.send_header("content-type", body.content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        while not self.model.released.wait(_BETWEEN_FILLERS):
            self._send_chunk(body.filler)
        self._send_chunk(body.text)
        self._send_chunk("")

    def _send_chunk(self, text: str) -> None:
        octets = text.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(octets), octets))
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server names it so
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: hosts hang up when they end."""


@contextmanager
def serving(script: Script) -> Generator[Model]:
    """Serve a model on a free port of 127.0.0.1."""
    served = Model(script)

    class Handler(_Handler):
        model = served

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        served.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield served
        finally:
            served.released.set()
            server.shutdown()
            thread.join()


def _last_step(results: Sequence[str]) -> str:
    """Return the last result that names a next call, in which quotes are not escaped."""
    return next((one for one in map(_readable, reversed(results)) if _NEXT_STEP.search(one)), "")


def _readable(result: str) -> str:
    """Return a result without escaped quotes: a host may show content, or structured content, as JSON in text."""
    return result.replace('\\"', '"')


def _compact(shown: str) -> str:
    """Return a text with JSON in it as the server writes it: some hosts (Agent Framework) put spaces in."""
    return _readable(shown).replace('": ', '":')


def _end(shown: Conversation) -> Turn:
    """Return the last turn; some hosts (smolagents) have a tool for it."""
    tool = _offered(shown, "final_answer")
    return Call(tool, {"answer": DONE}) if tool else Say(DONE)


def _offered(shown: Conversation, tool: str) -> str | None:
    """Return a tool's name as the host offers it: with a prefix of its own."""
    return next(
        (name for name in shown.offered if name == tool or name.endswith(tuple(f"{mark}{tool}" for mark in "_/-"))),
        None,
    )
