"""What docs/cli.md shows: each command at a terminal of 80 columns, against an endpoint of fixed ids and times.

python -m packages.command.tests.cli_page    # writes the page anew
"""

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from packages.command.tests import operated
from packages.command.tests.aws import CREDENTIALS, aws_at
from packages.command.tests.terminal import CTRL_C, Session, at_a_terminal
from stepwire.catalog.tools import Tool
from stepwire.json_text import write
from tests.clients.endpoint import SOON, served
from tests.kits import OPTIONAL, plan_of, state_machine_arn

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = ROOT / "docs" / "cli.md"
EXAMPLE: Final = Path(__file__).parent / "example"
_BLOCK: Final = re.compile(r"(<!-- run: (?P<name>[\w ]+) -->\n```text\n)(?P<shown>.*?)(```)", re.DOTALL)
_INPUT: Final = {
    "type": "object",
    "properties": {"customer": {"type": "string"}, "months": {"type": "integer"}},
    "required": ["customer"],
}
NO_TIME: Final = timedelta()
_NOON: Final = datetime(2026, 8, 1, 12, tzinfo=UTC)
_FORM: Final = "%Y-%m-%d %H:%M:%S"
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?=(\.\d+)?Z)")
_ASKS: Final = "[A/d/c] "
_FIELD: Final = "  > "


def _tool(name: str, machine: str, description: str) -> Tool:
    return replace(
        OPTIONAL,
        name=name,
        description=description,
        plan=plan_of(state_machine_arn(machine)),
        input_schema=write(_INPUT),
        poll_interval=SOON,
    )


TOOLS: Final = (
    _tool("settle_invoices", "instant", "Settles all open invoices of a customer. Takes some minutes."),
    _tool("approve_refund", "asking", "Refunds an order. Asks its user to approve the amount."),
    _tool("train_model", "endless", "Trains a model on a customer's orders. Takes hours."),
)


def blocks() -> dict[str, str]:
    """Run every command of the page, in its order, and return what each block shows."""
    with _person() as run:
        left = run(["call", "approve_refund", "customer=17"], [(_ASKS, CTRL_C)])
        task_id = re.findall(r"task (\w{20,})", left.text)[0]
        gone = run(["call", "train_model", "customer=17"], [("working", CTRL_C), ("[L/c] ", "\n")])
        running = re.findall(r"task (\w{20,})", gone.text)[0]
        shown = {
            "help": run(["--help"]),
            "shared": run(["help"]),
            "deploy help": run(["deploy", "--help"]),
            "upgrade help": run(["upgrade", "--help"]),
            "status help": run(["status", "--help"]),
            "destroy help": run(["destroy", "--help"]),
            "new tool help": run(["new", "tool", "--help"]),
            "new endpoint help": run(["new", "endpoint", "--help"]),
            "call help": run(["call", "--help"]),
            "tasks help": run(["tasks", "--help"]),
            "sign in help": run(["sign-in", "--help"]),
            "set up help": run(["sign-in", "set-up", "--help"]),
            "gateway help": run(["publish", "agentcore-gateway", "--help"]),
            "record help": run(["publish", "agent-registry", "--help"]),
            "server json help": run(["publish", "mcp-registry", "--help"]),
            "tools": run(["tools"]),
            "call": run(["call", "settle_invoices", "customer=17", "months=3"]),
            "nearest": run(["call", "settle_invoice"]),
            "left": left,
            "show": run(["tasks", "show", task_id]),
            "answer": run(["tasks", "answer", task_id, "amount=20"]),
            "gone": gone,
            "list": run(["tasks", "list"]),
            "watch": run(["tasks", "watch", task_id]),
            "cancel": run(["tasks", "cancel", running]),
            "asked": run(
                ["call", "approve_refund", "customer=17"],
                [(_ASKS, "\n"), (_FIELD, "700\n"), (_FIELD, "70\n"), (_FIELD, "\n")],
            ),
            "detach": run(["call", "train_model", "customer=17", "--detach"]),
            "doctor": run(["doctor", "tools"]),
            "wrap help": run(["wrap", "--help"]),
            "wrap": run(["wrap"]),
            "replay": run(["replay"]),
            "task help": run(["task", "--help"]),
            "task": _looked_at(),
            "redrive help": run(["redrive", "--help"]),
            "redrive": _redriven(),
        }
        return {name: f"$ stepwire {' '.join(session.words)}\n{session.shown}\n" for name, session in shown.items()}


class _Shown:
    """A command, and what is left on the screen."""

    def __init__(self, words: list[str], session: Session, passed: timedelta = NO_TIME) -> None:
        self.words = words
        self.text = session.text
        self.shown = _MOMENT.sub(lambda found: _moved(found, passed), session.screen)


def _moved(found: re.Match[str], passed: timedelta) -> str:
    at = datetime.strptime(found[0], _FORM).replace(tzinfo=UTC) - passed
    return at.strftime(_FORM)


def _looked_at() -> _Shown:
    """Look at a task as its operator, with times as if it had been called at noon of the page's day."""
    at, words = operated.moment(), ["task", operated.ID, "--stack", operated.STACK, "--logs"]
    called = {"audit": "created", "tool": "settle_invoices", "@log": "123456789012:live-McpLogs"}
    lines = operated.logged({"@timestamp": f"{at:%Y-%m-%d %H:%M:%S.214}", **called})
    with aws_at(operated.account(operated.working(at), **lines)) as url:
        session = at_a_terminal(words, environment={**CREDENTIALS, "AWS_ENDPOINT_URL": url}, folder=EXAMPLE)
    return _Shown(words, session, at - _NOON)


def _redriven() -> _Shown:
    """Redrive a task as its operator."""
    words = ["redrive", operated.ID, "--stack", operated.STACK, "--principal", operated.OWNER]
    with aws_at(operated.continued()) as url:
        session = at_a_terminal(words, environment={**CREDENTIALS, "AWS_ENDPOINT_URL": url}, folder=EXAMPLE)
    return _Shown(words, session)


Run = Callable[..., _Shown]


@contextmanager
def _person() -> Generator[Run]:
    with served(TOOLS) as there:
        variables = {"STEPWIRE_URL": there.url, "STEPWIRE_HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"}

        def run(words: list[str], typed: list[tuple[str, str]] | None = None) -> _Shown:
            return _Shown(words, at_a_terminal(words, typed or (), environment=variables, folder=EXAMPLE))

        yield run


def written(page: str) -> str:
    """Return the page with what the commands print now."""
    now = blocks()
    return _BLOCK.sub(lambda found: f"{found[1]}{now[found['name']]}{found[4]}", page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
