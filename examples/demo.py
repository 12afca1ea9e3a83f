"""`make demo`: a client of the official library runs profile_dataset as a task, follows it, and shows the report.

The rule: exit code 0 only if the report came and agrees with what this program counts in the file itself. The endpoint
is a local stack of its own, or the one that --url names.
"""

import argparse
import asyncio
import csv
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, Final, cast

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent
from rich.console import Console
from rich.markup import escape
from rich.status import Status

from examples.report_tables import print_report
from examples.tasks_client import TaskCancelled, TaskHandle, Tasks, TaskState
from local import LocalStack, LocalStackError

ROOT: Final = Path(__file__).parent.parent
DATA: Final = Path(__file__).parent / "data" / "penguins-raw.csv"
TOOL: Final = "profile_dataset"


class NotATask(Exception):
    """The server answered the call at once: a result, but no task to follow."""


class Progress:
    """Shows the task as it goes: on a terminal one line that changes, elsewhere one line a state."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status
        self._began = time.monotonic()
        self.handle: TaskHandle | None = None
        self.polls = 0

    def __call__(self, task: TaskHandle | TaskState) -> None:
        """Show a state of the task; it is called once for the handle and then once a poll."""
        if isinstance(task, TaskHandle):
            self._show_handle(task)
            return
        self.polls += 1
        message = f": {escape(task.status_message)}" if task.status_message else ""
        line = f"{self._elapsed()}  poll {self.polls}  [bold]{task.status}[/]{message}"
        if self._console.is_terminal and task.status == "working":
            self._status.update(line)
        else:
            self._console.print(line)

    def _show_handle(self, task: TaskHandle) -> None:
        self.handle = task
        ttl = "no limit" if task.ttl_ms is None else f"{task.ttl_ms / 86_400_000:g} days"
        self._console.print(f"{self._elapsed()}  task    [bold]{escape(task.task_id)}[/]")
        self._console.print(f"         {task.status}; kept for {ttl}, to be polled every {task.poll_interval:g} s")
        self._status.update("waiting for the first poll")

    def _elapsed(self) -> str:
        return f"[dim]{time.monotonic() - self._began:5.2f} s[/]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; give its exit code."""
    options = _options(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    began = time.monotonic()
    try:
        text = options.data.read_text(encoding="utf-8-sig")
        with _endpoint(console, options.url) as url:
            result = asyncio.run(_profile(console, url, text))
    except (LocalStackError, MCPError, NotATask, OSError, TaskCancelled, ExceptionGroup) as error:
        return _failed(console, *_reasons(error))
    if problems := list(_problems(result, text)):
        return _failed(console, *problems)
    console.print()
    print_report(console, result.structured_content or {})
    console.print(f"\nThe report agrees with the file. {time.monotonic() - began:.1f} s in all.", style="green")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="a CSV file of at most 64 KiB (default: the penguins)")
    parser.add_argument("--url", help="an endpoint that runs already, instead of a local stack")
    return parser.parse_args(arguments)


@contextmanager
def _endpoint(console: Console, url: str | None) -> Generator[str]:
    """Give the URL of the endpoint; without one start the local stack, and stop it in the end."""
    if url is not None:
        yield url
        return
    began = time.monotonic()
    with ExitStack() as running:
        with console.status("starting the local stack"):
            stack = running.enter_context(LocalStack(ROOT / "template.yaml", port=0))
        console.print(f"The local stack serves template.yaml on {stack.url} ({time.monotonic() - began:.1f} s)")
        yield stack.url


async def _profile(console: Console, url: str, text: str) -> CallToolResult:
    with console.status("connecting") as status:
        progress = Progress(console, status)
        async with Client(url, extensions=[Tasks(watch=progress)]) as client:
            console.print(f"Connected: mcp {version('mcp')}, protocol {client.protocol_version}")
            console.print(f"tools/call {TOOL} with {len(text):,} characters of CSV")
            result = await client.call_tool(TOOL, {"csv": text})
    if progress.handle is None:
        raise NotATask("the server answered without a task")
    return result


def _problems(result: CallToolResult, text: str) -> Iterator[str]:
    if result.is_error:
        yield from (block.text for block in result.content if isinstance(block, TextContent))
    else:
        yield from differences(result.structured_content or {}, text)


def differences(report: Mapping[str, Any], text: str) -> Iterator[str]:
    """Say where a report differs from what the file has, counted here in another way."""
    records = csv.reader(StringIO(text, newline=""), delimiter=report["delimiter"])
    header, *rows = [[value.strip() for value in record] for record in records if record]
    if report["rows"] != len(rows):
        yield f"The report has {report['rows']} rows, the file {len(rows)}."
    if len(report["columns"]) != len(header):
        yield f"The report has {len(report['columns'])} columns, the file {len(header)}."
        return
    marks = report["missing_values"]
    for place, (name, column) in enumerate(zip(header, report["columns"], strict=True)):
        missing = sum(row[place : place + 1] in ([], *([mark] for mark in marks)) for row in rows)
        if (name or column["name"], missing) != (column["name"], column["missing"]["count"]):
            yield f"{column['name']}: {column['missing']['count']} missing values; in the file {name}: {missing}."


def _reasons(error: BaseException) -> Iterator[str]:
    """Take apart what the library's task groups have wrapped."""
    if isinstance(error, BaseExceptionGroup):
        for part in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _reasons(part)
    else:
        yield f"{type(error).__name__}: {error}"


def _failed(console: Console, *reasons: str) -> int:
    for reason in reasons:
        console.print(reason, style="red", markup=False)
    return 1


if __name__ == "__main__":
    sys.exit(main())
