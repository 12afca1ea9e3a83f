"""Lines and Ctrl-C from the terminal.

The rule: no Ctrl-C is lost. Python runs a handler between two instructions. So a signal does not end a call that blocks
if it comes just before, or if another thread receives it. The interpreter also writes each signal to a socket at once.
Everything that waits here waits for that socket too.
"""

import asyncio
import contextlib
import functools
import importlib
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Generator
from typing import Self


class LeftOpen(Exception):
    """The person did not answer."""


class Typed:
    """The lines of a file, one at a time. A thread reads them, so that the main thread can wait for signals as well."""

    def __init__(self, source: int) -> None:
        self._source = source
        self.ready, self._tells = socket.socketpair()
        """`ready` can be read as soon as a line can be taken."""
        self._line = b""
        self._is_wanted = False

    def want(self) -> None:
        """Begin to read a line, unless a line is being read already."""
        if not self._is_wanted:
            self._is_wanted = True
            threading.Thread(target=self._read, daemon=True).start()

    def take(self) -> bytes:
        """Return the line; nothing at the end of the file."""
        self.ready.recv(1)
        self._is_wanted = False
        return self._line

    def forget(self) -> None:
        """Drop what is typed already: it answers a question that is not open any more."""
        with contextlib.suppress(OSError, ImportError):  # no terminal
            termios = importlib.import_module("termios")
            termios.tcflush(self._source, termios.TCIFLUSH)
        if self._is_wanted and select.select([self.ready], [], [], 0)[0]:
            self.take()

    def _read(self) -> None:
        line = b""
        with contextlib.suppress(OSError):  # the terminal is gone
            while not line.endswith(b"\n") and (part := os.read(self._source, 1)):  # no byte of the next line
                line += part
        self._line = line
        self._tells.send(b"\n")


@functools.cache
def _typed() -> Typed:
    return Typed(sys.stdin.fileno())


class Keyboard:
    """Reads lines. From the first `with` to its end, Ctrl-C is kept for the next wait, and no output is cut."""

    def __init__(self, typed: Typed | None = None) -> None:
        self._typed = typed
        self._depth = 0

    def __enter__(self) -> Self:
        """Keep signals from here on; inside another `with`, do nothing."""
        if self._depth == 0:
            self._is_noted = False
            self._signals, self._tells = _pair()
            self._told_before = signal.set_wakeup_fd(self._tells.fileno(), warn_on_full_buffer=False)
            self._handler_before = signal.signal(signal.SIGINT, self._note)
        self._depth += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let signals pass again.

        Raises:
            LeftOpen: Ctrl-C came after the last line.
        """
        self._depth -= 1
        if self._depth == 0:
            signal.signal(signal.SIGINT, self._handler_before)
            signal.set_wakeup_fd(self._told_before)
            is_met = _is_met(self._signals)
            self._signals.close()
            self._tells.close()
            if is_met and kind is None:
                raise LeftOpen

    def line(self) -> str:
        """Return a typed line, without its end. Nothing else runs meanwhile.

        Raises:
            LeftOpen: Ctrl-C, Ctrl-D, or the end of the input.
        """
        with self:
            typed = self._wanted()
            while (line := self._look(typed, None)) is None:
                pass
            return line

    async def line_meanwhile(self) -> str:
        """Return a typed line, without its end. The event loop goes on; being cancelled drops what is typed.

        Raises:
            LeftOpen: Ctrl-C, Ctrl-D, or the end of the input.
        """
        with self:
            typed = self._wanted()
            try:
                while (line := self._look(typed, 0)) is None:
                    await _readable(self._signals, typed.ready)
            except asyncio.CancelledError:
                typed.forget()
                raise
            return line

    def _wanted(self) -> Typed:
        typed = self._typed or _typed()
        typed.want()
        return typed

    def _look(self, typed: Typed, seconds: float | None) -> str | None:
        """Return a typed line, if there is one within so many seconds, or the next one."""
        ready, _, _ = select.select([self._signals, typed.ready], [], [], seconds)
        if self._signals in ready and _is_met(self._signals):
            raise LeftOpen
        if typed.ready not in ready:
            return None
        line = typed.take()
        if not line:
            raise LeftOpen
        return line.decode(errors="replace").removesuffix("\n")

    def _note(self, _number: int, _frame: object) -> None:
        """Leave the first signal to the socket. A second ends also what waits for nothing, such as a slow pattern."""
        if self._is_noted:
            raise KeyboardInterrupt
        self._is_noted = True


@contextlib.contextmanager
def signals_wake_the_loop() -> Generator[None]:
    """Let a signal end the wait of the running event loop, however late it comes: then asyncio's own handler runs."""
    signals, tells = _pair()
    loop = asyncio.get_running_loop()
    try:
        loop.add_reader(signals, _is_met, signals)
    except NotImplementedError:  # a loop of Windows, which does this itself
        yield
        return
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        loop.remove_reader(signals)
        signals.close()
        tells.close()


async def _readable(*sockets: socket.socket) -> None:
    """Wait until one of them can be read, while the event loop goes on."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not found.done():
            found.set_result(None)

    try:
        for one in sockets:
            loop.add_reader(one, note)
        await found
    except NotImplementedError:  # a loop of Windows: nothing else runs meanwhile
        select.select(sockets, [], [])
    finally:
        for one in sockets:
            with contextlib.suppress(NotImplementedError):
                loop.remove_reader(one)


def _pair() -> tuple[socket.socket, socket.socket]:
    signals, tells = socket.socketpair()
    signals.settimeout(0)
    tells.settimeout(0)
    return signals, tells


def _is_met(signals: socket.socket) -> bool:
    """Take the signals that came, and tell whether Ctrl-C was among them."""
    try:
        return signal.SIGINT in signals.recv(4096)
    except BlockingIOError:
        return False
