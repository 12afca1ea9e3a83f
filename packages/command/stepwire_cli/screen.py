"""What people see: results on standard output, all else on standard error. In a pipe there are no colours and no bars.

The rule: no text of a server reaches the terminal as it is: invisible characters are escapes, and the later lines of a
message are indented.
"""

import re
import sys
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from stepwire_cli.visible_text import indented, json_text, plain

_PERCENT: Final = re.compile(r"(?P<percent>\d{1,3})%(?:: (?P<words>.*))?", re.DOTALL)
_PIPE_WIDTH: Final = 120
# Of middle brightness, so that each can be read on a light and on a dark background. The sixteen colours of a terminal
# are its theme's: yellow and cyan are invisible on white, blue on black.
COLOURS: Final = {
    "busy": "color(31)",
    "warning": "color(130)",
    "good": "color(28)",
    "bad": "color(167)",
    "stopped": "color(133)",
    "progress.elapsed": "none",
    "progress.download": "none",
}
STYLES: Final = {
    "working": "busy",
    "input_required": "warning",
    "completed": "good",
    "failed": "bad",
    "cancelled": "stopped",
}


class Screen:
    """Standard output and standard error."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.out, self.err = _console(sys.stdout), _console(sys.stderr)
        self.holds = False
        """Whether a person is being asked: meanwhile no progress is shown."""
        self._live: Live | None = None
        self._began = time.monotonic()
        self._last = ""

    @property
    def is_interactive(self) -> bool:
        """Tell whether a person can be asked."""
        return sys.stdin.isatty() and sys.stderr.isatty() and not self.as_json

    def say(self, text: str, style: str = "") -> None:
        """Print a line for people."""
        self.pause()
        self.err.print(Text(indented(text), style=style), soft_wrap=True)

    def ask(self, prompt: str) -> None:
        """Print a prompt, and leave the cursor behind it."""
        self.err.file.write(plain(prompt))
        self.err.file.flush()

    def error(self, text: str) -> None:
        """Print what is wrong."""
        self.pause()
        self.err.print(Text.assemble(("error:", "bad"), " ", indented(text)), soft_wrap=True)

    def json(self, value: Any) -> None:
        """Print JSON: indented on a terminal, a line in a pipe."""
        self._write(json_text(value, indent=2 if sys.stdout.isatty() else None))

    def result(self, text: str) -> None:
        """Print a result."""
        self.pause()
        self._write(plain(text))

    def heading(self, text: str) -> None:
        """Print a heading of the result, with a line above it."""
        self.pause()
        self.out.print()
        self.out.print(Text(plain(text), style="bold"), soft_wrap=True)

    def table(self, columns: Iterable[str], rows: Iterable[Iterable[RenderableType]]) -> None:
        """Print a table; in a pipe, a line with tabs for each row."""
        if not sys.stdout.isatty():
            for row in rows:
                self._write("\t".join(plain(str(cell).replace("\n", " ")) for cell in row))
            return
        kept = [[Text(plain(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows]  # no markup
        shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for number, column in enumerate(columns):
            is_narrow = all(len(str(row[number])) <= len(column) for row in kept)
            shown.add_column(column, overflow="fold", no_wrap=number == 0 or is_narrow)
        for row in kept:
            shown.add_row(*row)
        self.out.print(shown)

    def progress(self, status: str, message: str | None) -> None:
        """Show where a task stands: a line that changes on a terminal, otherwise a line for each change."""
        if self.as_json or self.holds:
            return
        said = indented(message or "")
        if self.err.is_terminal and not self.err.is_dumb_terminal:
            self._moving(status, said)
        elif (line := f"{status}{': ' if said else ''}{said}") != self._last:
            self._last = line
            self.err.print(Text(line), soft_wrap=True)

    def _write(self, text: str) -> None:
        """Write a line as it is: rich would change tabs and long lines."""
        self.out.file.write(f"{text}\n")

    def pause(self) -> None:
        """Remove the line that changes."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _moving(self, status: str, said: str) -> None:
        shown = _bar(said) or Text(said, overflow="ellipsis", no_wrap=True)
        line = Table.grid(padding=(0, 1))
        elapsed = Text(spoken(timedelta(seconds=round(time.monotonic() - self._began))))
        style = STYLES.get(status, "busy")
        spinner = Spinner("line" if self.err.options.ascii_only else "dots", style=style)
        line.add_row(spinner, Text(status, style=style), elapsed, shown)
        if self._live is None:
            self._live = Live(
                console=self.err, refresh_per_second=8, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        self._live.update(Group(line))


def _console(file: TextIO) -> Console:
    return Console(file=file, highlight=False, soft_wrap=not file.isatty(), emoji=False, theme=Theme(COLOURS))


def _bar(said: str) -> RenderableType | None:
    found = _PERCENT.fullmatch(said)
    if found is None:
        return None
    shown = Table.grid(padding=(0, 1))
    words = Text(found["words"] or "", overflow="ellipsis", no_wrap=True)
    shown.add_row(ProgressBar(100, int(found["percent"]), width=20), f"{found['percent']:>3}%", words)
    return shown


def spoken(span: timedelta) -> str:
    """Return a span in words, to its largest two units."""
    seconds = int(span.total_seconds())
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts = list[str]()
    for name, size in units:
        amount, seconds = divmod(seconds, size)
        if amount:
            parts.append(f"{amount} {name}")
    return " ".join(parts[:2]) or "0 s"


def moment(value: datetime) -> str:
    """Return a moment in UTC, to the second."""
    return f"{value:%Y-%m-%d %H:%M:%S}Z"
