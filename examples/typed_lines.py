"""Lines that a person types, read beside the event loop.

The rule: a prompt that is not needed any more ends at once, and the next prompt gets the next line. So a thread reads a
line only while somebody wants one, and whoever waits for it can be sent away.
"""

import sys
import threading
from collections.abc import Callable


class NotWanted(Exception):
    """The prompt has ended: nobody waits for its answer any more."""


class TypedLines:
    """The lines of standard input, one at a time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._line: str | None = None
        self._is_reading = False

    def next(self, is_over: Callable[[], bool]) -> str:
        """Return the next line, without its end.

        Raises:
            NotWanted: the prompt is over.
            EOFError: there is none: Ctrl-D.
        """
        with self._changed:
            if not self._is_reading and self._line is None:
                self._is_reading = True
                threading.Thread(target=self._read, daemon=True).start()
            self._changed.wait_for(lambda: is_over() or self._line is not None)
            if is_over():
                raise NotWanted
            line, self._line = self._line, None
        if not line:
            raise EOFError
        return line.removesuffix("\n")

    def wake(self) -> None:
        """Let whoever waits look whether the prompt is over. What was typed for it is dropped."""
        with self._changed:
            self._line = None
            self._changed.notify_all()

    def _read(self) -> None:
        line = sys.stdin.readline()
        with self._changed:
            self._line, self._is_reading = line, False
            self._changed.notify_all()


class Prompts:
    """The prompts of one question, as rich reads from them."""

    def __init__(self, lines: TypedLines) -> None:
        self._lines = lines
        self._is_over = False

    def readline(self) -> str:
        """Return what was typed; raises as `TypedLines.next` does."""
        return self._lines.next(lambda: self._is_over)

    def end(self) -> None:
        """End the prompt that waits, and any after it."""
        self._is_over = True
        self._lines.wake()
