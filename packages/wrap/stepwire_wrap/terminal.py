"""Where `stepwire-wrap` prints: results on standard output, what is said to people on standard error.

The rule: text of others is printed with its invisible characters escaped, so none changes how a line is displayed.
"""

import json
import sys
from collections.abc import Iterable
from typing import Any, Final

from stepwire.visible_text import visible
from stepwire_wrap.exits import WrapError

_LAID_OUT: Final = "\n\t"


class Terminal:
    """Standard output and standard error."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    @property
    def is_interactive(self) -> bool:
        """Tell whether a person can be asked."""
        return sys.stdin.isatty() and sys.stderr.isatty() and not self.as_json

    def say(self, text: str, style: str = "") -> None:  # noqa: ARG002 - what `drafting.Screen` takes
        """Print a line for people; later lines of it are indented."""
        sys.stderr.write(visible(text, _LAID_OUT).rstrip("\n").replace("\n", "\n  ") + "\n")

    def error(self, text: str) -> None:
        """Print what is wrong."""
        self.say(f"error: {text}")

    def result(self, text: str) -> None:
        """Print a result."""
        sys.stdout.write(visible(text, _LAID_OUT) + "\n")

    def json(self, value: Any) -> None:
        """Print JSON: indented on a terminal, a line in a pipe."""
        self.result(json.dumps(value, indent=2 if sys.stdout.isatty() else None))

    def table(self, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        """Print a table under the names of its columns; in a pipe, with a tab between two columns."""
        heads, cells = list(columns), [[str(cell).replace("\n", " ") for cell in row] for row in rows]
        if not sys.stdout.isatty():
            for row in (heads, *cells):
                self.result("\t".join(row))
            return
        widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
        for row in (heads, *cells):
            self.result("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def ask(self, prompt: str) -> str:
        """Ask for a line.

        Raises:
            WrapError: the input has ended. Whatever is asked is asked before anything is written.
        """
        sys.stderr.write(visible(prompt, _LAID_OUT))
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\n")
            raise WrapError(
                "the input ended before an answer, so nothing was written: answer at a terminal, or write the answer "
                "as an option (--decides WHO; --yes asks nothing)."
            )
        return line.strip()
