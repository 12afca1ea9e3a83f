"""The output of functions: on the streams of the process or, inside `kept_in(folder)`, in a file.

The rule: inside the block, everything written to `sys.stdout` and `sys.stderr` goes to the file. Text for people is
printed by a console that holds the real stream. Loggers of functions outlive a stack and keep their stream, so after
the block that stream forwards to the real one.

A file has one JSON object per line: `time`, `function` (empty: none), and either `record`, for JSON objects that the
function wrote, or `text`.
"""

import io
import json
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO, cast

from stepwire_local.errors import LocalStackError

FOLDER: Final = Path(".stepwire/logs")
_FILES: Final = 20  # kept in a folder

_writing: ContextVar[str] = ContextVar("writing", default="")


class LogsNotWritable(LocalStackError):
    """The file for the functions' output cannot be created."""


@contextmanager
def output_of(function: str) -> Generator[None]:
    """Attribute the output of the block to a function."""
    token = _writing.set(function)
    try:
        yield
    finally:
        _writing.reset(token)


def is_of_a_function() -> bool:
    """Return whether the calling code runs in a function."""
    return _writing.get() != ""


class FunctionOutput:
    """A file of records, written to by several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._turn = threading.Lock()

    def add(self, text: str) -> None:
        """Write one line, or several that belong together."""
        made = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "function": _writing.get()}
        line = json.dumps({**made, **_content(text)}, ensure_ascii=False)
        with self._turn:
            self._file.write(f"{line}\n")

    def close(self) -> None:
        """Write no more."""
        with self._turn:
            self._file.close()


def _content(text: str) -> dict[str, Any]:
    try:
        record: object = json.loads(text) if text.startswith("{") else None
    except ValueError:
        record = None
    return {"record": record} if isinstance(record, dict) else {"text": text}


class _Lines(io.TextIOBase):
    """A stream that writes complete lines to the file, buffered per thread."""

    def __init__(self, output: FunctionOutput) -> None:
        self._output: FunctionOutput | None = output
        self._parts = threading.local()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - that of TextIOBase is a property too
        """Return the encoding, for code that checks it before printing."""
        return "utf-8"

    def writable(self) -> bool:
        """Return True: the stream is writable."""
        return True

    def write(self, text: str, /) -> int:
        """Accept part of a line, or several lines."""
        if self._output is None:
            now = cast("TextIO", sys.__stdout__ if sys.stdout is self else sys.stdout)
            return now.write(text)
        *lines, rest = (getattr(self._parts, "rest", "") + text).split("\n")
        self._parts.rest = rest
        for line in filter(str.strip, lines):
            self._output.add(line)
        return len(text)

    def end(self) -> None:
        """Forward later output to the real stream."""
        self._output = None


@contextmanager
def kept_in(folder: Path, command: str) -> Generator[FunctionOutput]:
    """Write all output to a new file in the folder, named by command and time; remove the oldest files.

    Raises:
        LogsNotWritable: the file cannot be created.
    """
    output = _opened(folder, command)
    lines = _Lines(output)
    try:
        with redirect_stdout(lines), redirect_stderr(lines):
            yield output
    finally:
        lines.end()
        output.close()


def _opened(folder: Path, command: str) -> FunctionOutput:
    path = folder / f"{command}-{datetime.now().astimezone():%Y%m%d-%H%M%S}-{os.getpid()}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")  # it is in somebody's project
        output = FunctionOutput(path)
        for old in files_in(folder)[_FILES:]:
            old.unlink(missing_ok=True)
    except OSError as error:
        raise LogsNotWritable(
            f"The log file {path} cannot be written: {error.strerror}. Make its folder writable."
        ) from error
    return output


def files_in(folder: Path) -> list[Path]:
    """List the files of a folder, the newest first."""
    return sorted(folder.glob("*.jsonl"), key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)
