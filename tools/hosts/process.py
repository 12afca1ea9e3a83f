"""A host's program, run in a process group and a home of its own, on a terminal or without one.

Nothing of it remains when its block ends: neither a process, in whatever session it is, nor a file.
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Final

LEAVE_SECONDS: Final = 120
"""How long a host may take to exit, or to connect; some need most of it on a busy machine."""
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\s")
_SIZE: Final = struct.pack("HHHH", 40, 120, 0, 0)
_QUIET: Final = 0.5
"""Seconds without output after which a screen counts as drawn."""


class TooLong(Exception):
    """A host did not get so far in time; the message says how far."""


@dataclass
class Running:
    """A program that runs."""

    process: subprocess.Popen[bytes]
    keyboard: int | None = None
    """The terminal's other end; None without a terminal."""
    shown: bytearray = field(default_factory=bytearray)
    """What the program has written."""
    drawn_at: float = 0.0

    def text(self) -> str:
        """Return what the program has written, without escape sequences and without white space."""
        return _ESCAPES.sub("", self.shown.decode(errors="replace"))

    def until(self, what: str, is_so: Callable[[], bool], seconds: float) -> None:
        """Wait until something is so, or the program has ended.

        Raises:
            TooLong: it takes longer than so many seconds.
        """
        end = time.monotonic() + seconds
        while not is_so() and self.process.poll() is None:
            if time.monotonic() > end:
                raise TooLong(f"{what}: not within {seconds:.0f} s")
            time.sleep(0.05)

    def is_still(self) -> bool:
        """Tell whether the screen has been drawn."""
        return time.monotonic() - self.drawn_at > _QUIET

    def press(self, *keys: str, at_once: bool = False) -> None:
        """Press keys on the terminal, each when the screen has been drawn; at once while something moves on it."""
        for key in keys:
            if not at_once:
                self.until("a still screen", self.is_still, LEAVE_SECONDS)
            assert self.keyboard is not None
            self.drawn_at = time.monotonic()
            os.write(self.keyboard, key.encode())

    def interrupt(self) -> None:
        """Do what Ctrl-C does: send SIGINT to the whole process group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def exit_code(self) -> int | None:
        """Wait for the program's end; None where it does not come."""
        try:
            return self.process.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            return None


@contextmanager
def home() -> Generator[Path]:
    """Give an empty folder, with `work` and `tmp` in it."""
    with tempfile.TemporaryDirectory(prefix="stepwire-host-", ignore_cleanup_errors=True) as folder:
        for name in ("work", "tmp"):
            (Path(folder) / name).mkdir()
        yield Path(folder)


@contextmanager
def running(
    command: Sequence[str], folder: Path, variables: Mapping[str, str], *, on_terminal: bool
) -> Generator[Running]:
    """Run a program in a home; it inherits no variable of this process."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder / "tmp"), **variables}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, _SIZE)
    source = theirs if on_terminal else subprocess.DEVNULL
    with subprocess.Popen(
        command,
        cwd=folder / "work",
        env=environment,
        stdin=source,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        run = Running(process, ours if on_terminal else None, drawn_at=time.monotonic())
        reader = Thread(target=_read, args=(ours, run), daemon=True)
        reader.start()
        try:
            yield run
        finally:
            for group in {process.pid, *_groups_in(folder)}:
                _kill(group)
            process.wait()
            reader.join(LEAVE_SECONDS)
            os.close(ours)


def _read(terminal: int, run: Running) -> None:
    while True:
        try:
            octets = os.read(terminal, 65_536)
        except OSError:  # how Linux says that nobody holds the other end
            return
        if not octets:
            return
        run.shown += octets
        run.drawn_at = time.monotonic()


def _groups_in(folder: Path) -> set[int]:
    """Return the process groups of all programs whose home is this folder; empty where there is no /proc."""
    mark = f"HOME={folder}\0".encode()
    groups = set[int]()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes():
                groups.add(os.getpgid(int(path.parent.name)))
        except OSError:  # it has ended, or is not ours
            continue
    return groups


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
