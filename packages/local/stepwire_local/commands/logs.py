"""Show the functions' log of the last run, one line per record.

Exit code 0, or 1 if there is no log file yet.
"""

import argparse
import contextlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TextIO

from rich.console import Console
from rich.text import Text

from stepwire_local.lambdas.function_output import files_in

_PAUSE: Final = 0.2  # seconds between two looks at a file that grows
# Fields of a record that the line already has, or that are the same in every record.
_KNOWN: Final = frozenset(("level", "location", "message", "timestamp", "service", "exception", "sampling_rate"))
_STYLES: Final = {"ERROR": "red", "CRITICAL": "red", "WARNING": "yellow"}


def run(options: argparse.Namespace, *, wait: Callable[[float], None] = time.sleep) -> int:
    """Show the file that is meant; with `follow`, what is added to it, too."""
    path: Path | None = options.file or next(iter(files_in(options.folder)), None)
    if path is None or not path.is_file():
        sys.stderr.write(f"There is no {path or f'log in {options.folder}'}: whoever serves a template writes one.\n")
        return 1
    with contextlib.suppress(KeyboardInterrupt):
        _show(path, wait if options.follow else None)
    return 0


def _show(path: Path, wait: Callable[[float], None] | None) -> None:
    console = Console(highlight=False)
    console.print(f"{path}:", style="dim", markup=False, soft_wrap=True)
    with path.open(encoding="utf-8") as file:
        for line in _lines(file, wait):
            console.print(text_of(line), soft_wrap=True)


def _lines(file: TextIO, wait: Callable[[float], None] | None) -> Iterator[str]:
    """Yield complete lines; at the end of the file call `wait` for more, if given."""
    part = ""
    while True:
        part += file.readline()
        if part.endswith("\n"):
            yield part
            part = ""
        elif wait is None:
            if part:
                yield part
            return
        else:
            wait(_PAUSE)


def text_of(line: str) -> Text:
    """Format a line of a log file for people: time, function, level, message, and the rest as key=value."""
    try:
        made = json.loads(line)
        at = datetime.fromisoformat(made["time"]).astimezone()
        function = re.sub(r"^local-\d+-", "", made["function"]).removesuffix("Function") or "-"
        record, text = made.get("record"), str(made.get("text", ""))
    except (KeyError, TypeError, ValueError):
        return Text(_printable(line.rstrip("\n")))
    level = record.get("level", "") if record else text.partition(" ")[0]
    words = (_metric(record) if "_aws" in record else _logged(record)) if record else text
    style = _STYLES.get(level, "")
    return Text.assemble((f"{at:%H:%M:%S}", "dim"), f" {function:<15} ", (_printable(words), style))


def _logged(record: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in record.items() if key not in _KNOWN}
    words = f"{record.get('level', '')} {record.get('message', '')} {_pairs(rest)}".strip()
    trace = record.get("exception")
    return f"{words}\n{trace}" if trace else words


def _metric(record: Mapping[str, Any]) -> str:
    """Format an audit line, or the names and values of other metrics."""
    metrics = [one["Name"] for kind in record["_aws"]["CloudWatchMetrics"] for one in kind["Metrics"]]
    if "audit" not in record:
        return _pairs({name: record.get(name) for name in metrics})
    words = [record.get(key) for key in ("audit", "tool", "task_id", "outcome") if record.get(key) not in (None, "-")]
    return " ".join(map(str, words))


def _pairs(values: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in values.items())


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() or one in "\n\t" else "?" for one in text)
