"""A status line at the bottom of the terminal.

rich's own `Console.status` redirects the process's output to the console, that of functions too; this one leaves the
streams of the process unchanged.
"""

from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner


class Waiting:
    """Shows a spinner and a text while its block runs, on a terminal only."""

    def __init__(self, console: Console, words: RenderableType = "") -> None:
        self._spinner = Spinner("dots", text=words, style="green")
        self._live = Live(
            self._spinner,
            console=console,
            refresh_per_second=12.5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Show it."""
        self._live.start()

    def stop(self) -> None:
        """Remove the line."""
        self._live.stop()

    def update(self, words: RenderableType) -> None:
        """Change the text."""
        self._spinner.update(text=words)
