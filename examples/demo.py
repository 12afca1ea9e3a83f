"""`make demo`: run workflows as tasks with the official client library, follow them, and show their results.

First profile_dataset, which reports progress; then approve_refund, which asks the person at the terminal; then, on a
local stack, the acts of extras. With --all (`make demo ALL=1`) reserve_stock runs, fails twice and is retried, and
get_quote, whose state machines race, too. With --yes or without a terminal, the demo answers by itself. The rule: exit
code 0 only if all results are correct: the report agrees with this program's own count of the file, and the refund with
the answer. The endpoint is a new local stack, or the one in --url. The output of a local stack's functions goes to a
log file.
"""

import argparse
import asyncio
import csv
import re
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, Final, cast

from mcp_types import CallToolResult, ElicitResult, TextContent
from rich.console import Console
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from examples.extras import ACTS
from examples.report_tables import print_refund, print_report
from examples.sign_in import SignIn
from examples.terminal_user import User
from examples.waiting import Waiting
from stepwire_client import Callbacks, Task, TaskClient, TaskClientError, connect
from stepwire_local import LocalStack, LocalStackError
from stepwire_local.console import Console as WebConsole
from stepwire_local.extras import Part
from stepwire_local.lambdas.function_output import FOLDER, kept_in
from stepwire_local.terminal.leaving import leave

ROOT: Final = Path(__file__).parent.parent
TEMPLATE: Final = Path(__file__).parent / "template.yaml"
DATA: Final = Path(__file__).parent / "data" / "penguins-raw.csv"
LOGS: Final = ROOT / FOLDER
PERCENT: Final = re.compile(r"(?P<percent>\d{1,3})%: (?P<words>.*)")
STOPPED: Final = 130  # the exit code that shells know for Ctrl-C
REFUND: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "The chair wobbles."}


@dataclass(frozen=True)
class Endpoint:
    """The endpoint that serves the tools."""

    url: str
    logs: Path | None = None  # the functions' log, if this program started the stack
    headers: Mapping[str, str] = field(default_factory=dict[str, str])  # sign in
    parts: Sequence[Part] = ()  # of that stack, by extras


class NotATask(Exception):
    """The server answered the call at once: a result, but no task to follow."""


class WrongResult(Exception):
    """A result is wrong; the message says how."""


_UNEXPECTED: Final = (WrongResult, *(reason for one in ACTS for reason in one.REASONS))
"""Their messages are for people."""


class Progress:
    """Shows the progress of a task: a bar on a terminal, otherwise a line per poll."""

    def __init__(self, console: Console, status: Waiting) -> None:
        self._console = console
        self._status = status
        self.begin("connecting")

    def begin(self, doing: str) -> None:
        """Reset for another task."""
        self._began = time.monotonic()
        self.task_id: str | None = None
        self.polls = 0
        self._status.update(doing)

    def __call__(self, task: Task) -> None:
        """Show a state of the task: the first, and then one a poll."""
        if self.task_id is None:
            self._show_first(task)
            return
        self.polls += 1
        # The question itself is shown when it is asked.
        message = task.status_message if task.status_message and task.status == "working" else ""
        if task.status == "working" and self._console.is_terminal and not self._console.is_dumb_terminal:
            self._status.update(bar(message, self.polls))
            return
        said = f": {escape(message)}" if message else ""
        self._console.print(f"{self._elapsed()}  poll {self.polls}  [bold]{task.status}[/]{said}")

    def _show_first(self, task: Task) -> None:
        self.task_id = task.task_id
        ttl = "no limit" if task.ttl is None else f"{task.ttl.total_seconds() / 86_400:g} days"
        pause = 1 if task.poll_interval is None else task.poll_interval.total_seconds()
        self._console.print(f"{self._elapsed()}  task    [bold]{escape(task.task_id)}[/]")
        self._console.print(f"         {task.status}; kept for {ttl}, to be polled every {pause:g} s")
        self._status.update("waiting for the first poll")

    def _elapsed(self) -> str:
        return f"[dim]{time.monotonic() - self._began:5.2f} s[/]"


def bar(message: str, polls: int) -> Table | Text:
    """Return a progress bar for a task's status message; plain text if the message has no percentage."""
    found = PERCENT.fullmatch(message)
    if found is None:
        return Text(f"poll {polls}: {message or 'working'}")
    shown = Table.grid(padding=(0, 1))
    shown.add_row(ProgressBar(100, int(found["percent"]), width=30), f"{found['percent']:>3}%", Text(found["words"]))
    return shown


@dataclass(frozen=True)
class Demo:
    """An open session, with its console, progress display and user."""

    console: Console
    client: TaskClient
    progress: Progress
    user: User
    parts: Sequence[Part] = ()
    """Of the stack that this program started, by extras."""

    async def profile(self, text: str) -> None:
        """Profile a data set, and show the report.

        Raises:
            WrongResult: the report disagrees with the file.
        """
        report = await self.called("profile_dataset", {"csv": text}, f"{len(text):,} characters of CSV")
        if found := list(differences(report, text)):
            raise WrongResult("\n".join(found))
        self.console.print()
        print_report(self.console, report)
        self.console.print("\nThe report agrees with the file.", style="green")

    async def refund(self) -> None:
        """Request a refund, let the user approve an amount, and show the result.

        Raises:
            WrongResult: the refund disagrees with the user's answer, or nobody was asked.
        """
        asked = f"{REFUND['amount']} {REFUND['currency']} of order {REFUND['order_id']}"
        result = await self.called("approve_refund", REFUND, asked)
        if not self.user.asked:
            raise WrongResult("Nobody was asked for the refund.")
        self.show_refund(result, self.user.answers[-1] if self.user.answers else None)
        came_of_it = "The refund is what was answered." if self.user.answers else "Somebody has answered it elsewhere."
        self.console.print(f"\n{came_of_it}", style="green")

    def show_refund(self, result: Mapping[str, Any], answer: ElicitResult | None) -> None:
        """Show a refund.

        Raises:
            WrongResult: it disagrees with the answer; None: that is not known.
        """
        print_refund(self.console, result)
        if answer and (found := list(disagreements(result, answer))):
            raise WrongResult("\n".join(found))

    async def reserve(self) -> None:
        """Reserve an item that is in stock at the third attempt, and show the result.

        Raises:
            WrongResult: it was not reserved at that attempt.
        """
        wanted = {"item": "chair", "in_stock_at_attempt": 3}
        result = await self.called("reserve_stock", wanted, "an item that is in stock at the third attempt")
        if result != {"item": "chair", "reserved_at_attempt": 3}:
            raise WrongResult(f"The reservation is {dict(result)}.")
        self.console.print("\nIt was reserved at the third attempt.", style="green")

    async def quote(self) -> None:
        """Get the first of several quotes: of all carriers, and where all but one are closed.

        Raises:
            WrongResult: it is of another carrier.
        """
        for closed, winner in (([], "swift"), (["swift", "steady"], "broker")):
            words = f"carriers that race{', two of them closed' if closed else ''}"
            result = await self.called("get_quote", {"goods": "a piano", "closed": closed}, words)
            if result.get("carrier") != winner:
                raise WrongResult(f"The quote is {dict(result)}.")
            self.console.print(f"\nThe first quote was of {winner}: {result['price']}.", style="green")

    async def called(self, tool: str, arguments: dict[str, Any], words: str) -> Mapping[str, Any]:
        """Call a tool, follow its task, and return its result.

        Raises:
            NotATask: there was no task.
            WrongResult: the tool failed.
        """
        self.console.print(f"\n[bold]tools/call {tool}[/] with {words}")
        self.progress.begin("calling")
        result = await self.client.call_tool(tool, arguments, watch=self.progress)
        if self.progress.task_id is None:
            raise NotATask("the server answered without a task")
        if result.is_error or result.structured_content is None:
            raise WrongResult(_text_of(result))
        return result.structured_content


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return its exit code."""
    options = _options(arguments)
    # Bind the present stdout: later, stdout is redirected to the log file of the functions.
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120, highlight=False)
    began = time.monotonic()
    try:
        text = options.data.read_text(encoding="utf-8-sig")
        with _endpoint(console, options.url) as endpoint:
            by_itself = options.yes or not sys.stdin.isatty()
            asyncio.run(_run(console, endpoint, text, by_itself=by_itself, is_whole=options.all))
    except KeyboardInterrupt:
        console.print("Stopped.")
        return STOPPED
    except (LocalStackError, TaskClientError, NotATask, *_UNEXPECTED, OSError, ExceptionGroup) as error:
        for reason in _reasons(error):
            console.print(reason, style="red", markup=False)
        if options.url is None:
            console.print("`make logs` shows what the functions wrote.", markup=False)
        return 1
    console.print(f"\nDone in {time.monotonic() - began:.1f} s.", style="green")
    console.print(*next_steps(endpoint), sep="\n", markup=False, soft_wrap=True)
    return 0


def next_steps(endpoint: Endpoint) -> Sequence[str]:
    """Return the next steps after the demo; each command works unchanged in the project's folder."""
    url = "http://127.0.0.1:3000/mcp" if endpoint.logs else endpoint.url
    logs = ("", f"What the functions wrote, {endpoint.logs}:", "  make logs") if endpoint.logs else ()
    return (
        *logs,
        "",
        "Connect your own client; the second command in another terminal:" if endpoint.logs else "Connect your client:",
        *(("  make run",) if endpoint.logs else ()),
        f"  claude mcp add --transport http stepwire {url}",
        "",
        "Wrap your own state machine: docs/adopting.md",
    )


async def _run(console: Console, endpoint: Endpoint, text: str, *, by_itself: bool, is_whole: bool) -> None:
    with Waiting(console, "connecting") as status:
        progress, user = Progress(console, status), User(console, status, by_itself=by_itself)
        callbacks = Callbacks(elicit=user.elicit)
        async with connect(endpoint.url, headers=endpoint.headers, callbacks=callbacks) as client:
            console.print(f"Connected: mcp {version('mcp')}, protocol {client.protocol_version}")
            demo = Demo(console, client, progress, user, endpoint.parts)
            await demo.profile(text)
            await demo.refund()
            if endpoint.logs is not None:  # another stack has other parameters, and calls no address of this machine
                for one in ACTS:
                    await one.act(demo)
            if is_whole:
                await demo.reserve()
                await demo.quote()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="a CSV file of at most 64 KiB (default: the penguins)")
    parser.add_argument("--url", help="an endpoint that runs already, instead of a local stack")
    parser.add_argument("--yes", action="store_true", help="accept the workflow's questions automatically, and say so")
    parser.add_argument("--all", action="store_true", help="run reserve_stock and get_quote too")
    return parser.parse_args(arguments)


@contextmanager
def _endpoint(console: Console, url: str | None) -> Generator[Endpoint]:
    """Yield the endpoint at the URL; without a URL, start a local stack and stop it at the end."""
    if url is not None:
        yield Endpoint(url)
        return
    began = time.monotonic()
    with ExitStack() as running:
        output = running.enter_context(kept_in(LOGS, "demo"))
        with Waiting(console, "starting the local stack"):
            sign_in = running.enter_context(SignIn())
            stack = LocalStack(
                ROOT / "stack.yaml",
                others=[TEMPLATE],
                port=0,
                parameters=dict(
                    sign_in.parameters, **{name: value for one in ACTS for name, value in one.PARAMETERS.items()}
                ),
                variables={name: value for one in ACTS for name, value in one.VARIABLES.items()},
            )
            stack.watcher = WebConsole(stack)
            running.enter_context(stack)
        console.print(f"The local stack serves two templates on {stack.url} ({time.monotonic() - began:.1f} s)")
        yield Endpoint(stack.url, output.path.relative_to(ROOT), sign_in.headers(), stack.parts)


def differences(report: Mapping[str, Any], text: str) -> Iterator[str]:
    """Yield the differences between a report and an independent count of the file."""
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


def disagreements(refund: Mapping[str, Any], answer: ElicitResult) -> Iterator[str]:
    """Yield the differences between a refund and the user's answer."""
    cents, status = Decimal("0.00"), {"accept": "refunded", "decline": "declined", "cancel": "dismissed"}[answer.action]
    if answer.action == "accept":
        cents = Decimal(str((answer.content or {})["amount"])).quantize(Decimal("0.01"), ROUND_DOWN)
    if refund["status"] != status:
        yield f"The answer was {answer.action}, and the refund is {refund['status']}."
    if refund["refunded"] != str(cents):
        yield f"{refund['refunded']} were refunded, where {cents} were approved."


def _text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def _reasons(error: BaseException) -> Iterator[str]:
    """Yield the reasons in an error, which the library's task groups may have wrapped."""
    if isinstance(error, BaseExceptionGroup):
        for part in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _reasons(part)
    else:
        yield str(error) if isinstance(error, _UNEXPECTED) else f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    leave(main())
