"""The terminal output of a serving stack: a line per request, a line per change of a task, warnings.

Either text for people, in colour if the terminal supports it, or one JSON object per line for programs. The rule: lines
fit the terminal, except for the reason of an error and what is not delivered; in a pipe or in JSON they are never
shortened. The local stack's own warnings are shown; those of functions, and all tracebacks, go to the log file.
"""

import dataclasses
import json
import logging
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from stepwire_local.activity import NOT_DELIVERED, Activity
from stepwire_local.gateway.exchanges import NONE, Exchange, HttpLine, Reader, RequestLine
from stepwire_local.lambdas.function_output import FunctionOutput
from stepwire_local.streams.task_changes import TaskChange, Told

_TOOLS: Final = 10_000  # tasks whose tool is remembered
_STYLES: Final = {"completed": "green", "input_required": "yellow", "failed": "red", "completed_with_error": "red"}
_NO_STYLE: Final = ""
_FAULTY: Final = frozenset(("ABORTED", "FAILED", "TIMED_OUT"))  # statuses of executions
_SHORTEST: Final = 40  # characters of a line about an event, however narrow the terminal is
_NEXT_LINE: Final = "\n         "
_OWN: Final = "stepwire_local"
"""The name of the local stack's loggers, and the beginning of it."""


class Lines(Console):
    """A console that leaves it to the screen what becomes of a pipe that nobody reads."""

    def on_broken_pipe(self) -> None:
        """Raise what writing raised; the library would end the thread."""
        raise  # noqa: PLE0704 - it is called where that is handled


class Screen:
    """Prints lines. Thread-safe.

    Args:
        console: The console to print on.
        as_json: Whether to print one JSON object per line, and nothing else.
    """

    def __init__(self, console: Console, *, as_json: bool = False) -> None:
        self._console = console
        self._as_json = as_json
        self._reader = Reader()
        self._tools: dict[str, str] = {}
        self._turn = threading.Lock()
        self._is_lost = False
        self.console_url = ""
        """The console's page."""

    def welcome(self, text: str, **facts: object) -> None:
        """Show that the stack is ready: text for people, fields for programs."""
        self._show("serving", Text(text), facts)

    def answered(self, exchange: Exchange) -> None:
        """Show a request and its response."""
        line = self._reader.line_of(exchange)
        if isinstance(line, RequestLine) and line.tool == NONE:
            line = dataclasses.replace(line, tool=self._tools.get(line.task, NONE))
        self._show("request", self._request_text(line), dataclasses.asdict(line))

    def task_changed(self, change: TaskChange) -> None:
        """Show a change of a task's status."""
        if len(self._tools) < _TOOLS:
            self._tools[change.task_id] = change.tool
        at = datetime.now().astimezone()
        text = Text.assemble(
            (f"{at:%H:%M:%S}", "dim"),
            f" task {change.task_id} {change.tool} ",
            (change.status, _STYLES.get(change.status, _NO_STYLE)),
        )
        self._show("task", text, {"time": at.isoformat(timespec="milliseconds"), **dataclasses.asdict(change)})

    def told(self, told: Told) -> None:
        """Show what an extra says of a change of a task, and where somebody is to do something."""
        at = datetime.now().astimezone()
        lines = [*told.lines, *([f"{self.console_url}{told.page}"] if told.page else [])]
        long = sum(map(len, [" ", told.about, *lines])) + len("hh:mm:ss") + 4 > self._console.width
        between = _NEXT_LINE if self._console.is_terminal and long else "  "
        said = "".join(f"{between}{line}" for line in lines)
        text = Text.assemble((f"{at:%H:%M:%S}", "dim"), f" {told.about}", (said, "yellow" if told.page else _NO_STYLE))
        self._show(told.event, text, {"time": at.isoformat(timespec="milliseconds"), **told.facts})

    def happened(self, activity: Activity) -> None:
        """Show an event and what gets it, or a state that an execution enters."""
        at = datetime.now().astimezone()
        about = f"  {activity.about}" if activity.about else ""
        is_fault = activity.target in _FAULTY or activity.about.startswith(NOT_DELIVERED)
        words = f"{activity.kind} {activity.source} -> {activity.target}{about}"
        if self._console.is_terminal and not activity.about.startswith(NOT_DELIVERED):
            words = _cut(words, max(self._console.width - len("hh:mm:ss "), _SHORTEST))
        text = Text.assemble((f"{at:%H:%M:%S}", "dim"), " ", (words, "red" if is_fault else _NO_STYLE))
        facts = {**dataclasses.asdict(activity), "time": at.isoformat(timespec="milliseconds")}
        self._show("activity", text, facts)

    def warned(self, record: logging.LogRecord) -> None:
        """Show a log record in one line."""
        error = record.exc_info[1] if record.exc_info else None
        reason = f" {type(error).__name__}: {error}" if error else ""
        words = " ".join(f"{record.getMessage()}{reason}".split())
        at = datetime.fromtimestamp(record.created).astimezone()
        style = "red" if record.levelno >= logging.ERROR or error else "yellow"
        text = Text.assemble((f"{at:%H:%M:%S}", "dim"), " ", (f"{record.levelname.lower()}: {words}", style))
        facts = {"time": at.isoformat(timespec="milliseconds"), "level": record.levelname, "logger": record.name}
        self._show("warning", text, {**facts, "message": words})

    def noted(self, words: str, is_fault: bool) -> None:  # noqa: FBT001  # the style of a line
        """Show a line about the stack's own files."""
        at = datetime.now().astimezone()
        style = "red" if is_fault else "green"
        text = Text.assemble((f"{at:%H:%M:%S}", "dim"), " ", (words, style))
        facts = {"time": at.isoformat(timespec="milliseconds"), "level": "ERROR" if is_fault else "INFO"}
        self._show("files", text, {**facts, "message": words})

    def _request_text(self, line: RequestLine | HttpLine) -> Text:
        at = datetime.fromisoformat(line.time)
        words = _columns(line)
        if self._console.is_terminal and len("hh:mm:ss ") + len(words) > self._console.width:
            words = _narrow(line)
        style = "red" if line.error or line.status >= 500 else _NO_STYLE  # noqa: PLR2004  # the bounds of HTTP
        text = Text.assemble((f"{at:%H:%M:%S}", "dim"), " ", (words, style))
        if line.error:
            fits = not self._console.is_terminal or len(text) + 2 + len(line.error) <= self._console.width
            text.append(("  " if fits else _NEXT_LINE) + line.error, style)
        return text

    def _show(self, event: str, text: Text, facts: dict[str, Any]) -> None:
        with self._turn:
            if self._is_lost:
                return
            try:
                if self._as_json:
                    self._console.file.write(json.dumps({"event": event, **facts}) + "\n")
                    self._console.file.flush()
                else:
                    self._console.print(text, soft_wrap=True)
            except OSError as fault:  # a full disk, a closed pipe: the stack serves on
                self._is_lost = True
                with suppress(OSError):
                    print(f"warning: the lines of the stack end here: {fault}", file=sys.__stderr__)


def _columns(line: RequestLine | HttpLine) -> str:
    if isinstance(line, HttpLine):
        return f"{line.method:<7} {line.path:<40} {line.status} {line.milliseconds:>5} ms"
    status = f"{line.status} {line.task_status}".rstrip()
    return (
        f"{line.era:<10} {line.client:<16} {line.method:<14} {line.tool:<16} {line.task:<36} "
        f"{status:<18} {line.milliseconds:>5} ms"
    )


def _narrow(line: RequestLine | HttpLine) -> str:
    """Format a line for 80 columns: a message of MCP without the task's status, and with only the end of its id."""
    if isinstance(line, HttpLine):
        return f"{line.method:<7} {_cut(line.path, 40):<40} {line.status} {line.milliseconds:>5} ms"
    task = line.task if line.task == NONE else f"..{line.task[-4:]}"
    return (
        f"{line.era:<10} {_cut(line.client, 8):<8} {_cut(line.method, 12):<12} {_cut(line.tool, 15):<15} {task:<6} "
        f"{line.status} {line.milliseconds:>5} ms"
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2]}.."


@contextmanager
def warnings_on(screen: Screen, output: FunctionOutput) -> Generator[None]:
    """Show the warnings of the local stack, and write all warnings to the log file.

    The local stack's own logger has a handler of its own: Powertools, in a function, silences the root's handlers for
    every logger whose name contains the name of the function's service.
    """
    own = logging.getLogger(_OWN)
    logging.basicConfig(handlers=[Warnings(screen, output)], force=True)
    own.addHandler(handler := Warnings(screen, output))
    own.propagate = False
    try:
        yield
    finally:
        own.propagate = True
        own.removeHandler(handler)


class Warnings(logging.Handler):
    """Shows warnings of the local stack, and writes all warnings to the log file."""

    def __init__(self, screen: Screen, output: FunctionOutput) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen
        self._output = output
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Handle a record. Like every logging handler, raise nothing to the code that logs."""
        try:
            self._output.add(self.format(record))
            if record.name.startswith(f"{_OWN}."):
                self._screen.warned(record)
        except Exception:  # noqa: BLE001 - what `logging` asks of handlers
            self.handleError(record)
