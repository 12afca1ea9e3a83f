"""A person at a terminal: a program on a pseudo-terminal, and what is typed when words appear."""

import fcntl
import json
import os
import pty
import re
import select
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from tests.waiting import HANG_GUARD

FOLDER: Final = Path(__file__).parents[1]
CTRL_C: Final = "\x03"
CTRL_D: Final = "\x04"
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LINES: Final = 40
# A process that has imported what the command takes a second to import, and forks for each run. The terminal becomes
# the run's own, so that Ctrl-C is a signal; what a shell runs in the background ignores it, until it is told otherwise.
_FORKING: Final = """
import fcntl, json, os, runpy, signal, socket, sys, termios, traceback
import httpx2, jsonschema, mcp, mcp.client.streamable_http, mcp_types, pydantic, rich.console, typer

def run(words, folder, variables, terminal):
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(terminal, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", 1), open(2, "w", 1)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[:0], sys.argv[1:] = variables["PYTHONPATH"].split(os.pathsep), words
    try:
        runpy.run_module("stepwire_cli", run_name="__main__")
    except SystemExit as ended:
        return ended.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

channel = socket.socket(fileno=int(sys.argv[1]))
while True:
    asked, given, *_ = socket.recv_fds(channel, 1 << 20, 1)
    if not asked:
        break
    if not (child := os.fork()):
        channel.close()
        code = run(*json.loads(asked), *given)
        sys.stdout.flush()
        os._exit(code)
    os.close(given[0])
    _, status = os.waitpid(child, 0)
    channel.send(str(os.waitstatus_to_exitcode(status)).encode())
"""


@cache
def _forking() -> socket.socket:
    """Start the process that forks; it ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        words = [sys.executable, "-c", _FORKING, str(theirs.fileno())]
        subprocess.Popen(words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True)
    ours.settimeout(HANG_GUARD)
    return ours


@dataclass(frozen=True)
class Session:
    """How a program ended, and all that the terminal was sent."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        """What is to be read, without colours and movements."""
        return _ESCAPES.sub("", self.raw).replace("\r", "")

    @property
    def screen(self) -> str:
        """What is left on the screen at the end: lines that were removed again are not there."""
        lines, row = [""], 0
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x1b]", self.raw):
            if part == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif part == "\x1b[1A":
                row -= 1
            elif part == "\x1b[2K":
                lines[row] = ""
            elif not part.startswith("\x1b") and part != "\r":
                lines[row] += part
        return "\n".join(line.rstrip() for line in lines).rstrip("\n")

    @property
    def lines(self) -> list[str]:
        """The lines, without blanks at their ends."""
        return [line.rstrip() for line in self.text.split("\n")]


Elsewhere: TypeAlias = Callable[[Session], None]
"""Does something that is not typed; it gets what is shown so far."""


def at_a_terminal(
    words: Sequence[str],
    typed: Sequence[tuple[str, str | Elsewhere]] = (),
    *,
    width: int = 80,
    environment: Mapping[str, str] | None = None,
    folder: Path = FOLDER,
) -> Session:
    """Run `stepwire` at a terminal; whenever the words of the next pair appear, type its text, or do its deed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, width, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    variables = {**inherited, "TERM": "xterm-256color", "PYTHONPATH": str(FOLDER), **(environment or {})}
    channel = _forking()
    socket.send_fds(channel, [json.dumps([list(words), str(folder), variables]).encode()], [theirs])
    os.close(theirs)
    try:
        shown = _attended(ours, list(typed))
    finally:
        os.close(ours)
        code = int(channel.recv(16))
    return Session(code, shown.decode(errors="replace"))


def _attended(terminal: int, typed: list[tuple[str, str | Elsewhere]]) -> bytes:
    shown, seen = b"", 0
    while True:
        ready, _, _ = select.select([terminal], [], [], HANG_GUARD)
        assert ready, f"nothing comes any more: {shown!r}"
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # the way in which Linux says that the other side is closed
            part = b""
        if not part:
            assert not typed, f"it ended before {typed[0][0]!r} appeared: {shown!r}"
            return shown
        shown += part
        while typed and (found := shown.find(typed[0][0].encode(), seen)) >= 0:  # one read may bring the words of two
            words, text = typed.pop(0)
            seen = found + len(words)
            if isinstance(text, str):
                os.write(terminal, text.encode())
            else:
                text(Session(0, shown.decode(errors="replace")))
