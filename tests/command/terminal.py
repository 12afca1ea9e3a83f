"""A person at a terminal: a program on a pseudo-terminal, and what is typed when words appear."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.waiting import HANG_GUARD

FOLDER: Final = Path(__file__).parents[2] / "command"
CTRL_C: Final = "\x03"
CTRL_D: Final = "\x04"
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LINES: Final = 40
# The terminal becomes the program's own, so that Ctrl-C is a signal.
# What a shell runs in the background ignores this signal, until it is told otherwise.
_ADOPTING: Final = """
import fcntl, runpy, signal, termios
signal.signal(signal.SIGINT, signal.default_int_handler)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("stepwire_cli", run_name="__main__")
"""


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


def at_a_terminal(
    words: Sequence[str],
    typed: Sequence[tuple[str, str]] = (),
    *,
    width: int = 80,
    environment: Mapping[str, str] | None = None,
    folder: Path = FOLDER,
) -> Session:
    """Run `stepwire` at a terminal; whenever the words of the next pair appear, type its text."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, width, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", _ADOPTING, *words],
        cwd=folder,
        env={**inherited, "TERM": "xterm-256color", "PYTHONPATH": str(FOLDER), **(environment or {})},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown = _attended(ours, list(typed))
    finally:
        os.close(ours)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(HANG_GUARD)
        process.kill()
    return Session(process.wait(), shown.decode(errors="replace"))


def _attended(terminal: int, typed: list[tuple[str, str]]) -> bytes:
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
        if typed and (found := shown.find(typed[0][0].encode(), seen)) >= 0:
            words, text = typed.pop(0)
            seen = found + len(words)
            os.write(terminal, text.encode())
