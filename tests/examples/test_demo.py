"""The demo runs tasks through the official client, and its exit code is 0 only if everything is right."""

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ElicitResult
from rich.console import Console

from examples import demo
from examples.report_tables import print_report
from stepwire_local import LocalStack
from tests.examples.stacks import PENGUINS, stack_with_bucket
from tests.extras import parts


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    """Use a data set that is profiled quickly, for tests of what follows."""
    file = tmp_path / "small.csv"
    file.write_text("a\n1\n")
    return ["--data", str(file)]


@pytest.fixture(scope="module")
def stack() -> Any:
    """Serve the template."""
    with stack_with_bucket() as stack:
        yield stack


def test_without_a_terminal_the_demo_profiles_the_shipped_data_and_answers_by_itself(
    stack: LocalStack, capsys: pytest.CaptureFixture[str]
) -> None:
    code = demo.main(["--url", stack.url])

    shown = capsys.readouterr().out
    assert code == 0
    assert "protocol 2026-07-28" in shown
    assert "working; kept for 7 days" in shown
    assert "completed" in shown
    assert "working: 10%: 344 rows and 17 columns read" in shown or "%: column " in shown
    assert "344 rows, 17 columns" in shown
    assert "The report agrees with the file." in shown
    assert "Refund 249.00 EUR for order A-1002 (Office chair)?" in shown
    assert "Answered by itself, for nobody is asked: accept, amount = 249" in shown
    assert "The refund is what was answered." in shown


class Terminal(io.StringIO):
    """Standard input of a terminal with the given text."""

    def isatty(self) -> bool:
        """Return that it is a terminal."""
        return True


@pytest.mark.parametrize(
    ("typed", "status"),
    [
        pytest.param("accept\n300\n120.5\nHalf of it.\n", "120.50", id="accept, after too much"),
        pytest.param("decline\n", "declined", id="decline", marks=pytest.mark.long),
        pytest.param("", "dismissed", id="the end of the input", marks=pytest.mark.long),
    ],
)
def test_at_a_terminal_the_user_answers(
    stack: LocalStack,
    small: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    status: str,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))

    code = demo.main(["--url", stack.url, *small])

    shown = capsys.readouterr().out
    assert code == 0
    assert status in shown
    assert "Answered by itself" not in shown


@pytest.mark.long
def test_yes_answers_automatically_at_a_terminal(
    stack: LocalStack, small: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("decline\n"))

    code = demo.main(["--url", stack.url, "--yes", *small])

    assert code == 0
    assert "Answered by itself" in capsys.readouterr().out


def test_a_failing_workflow_fails_the_demo(
    stack: LocalStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text("a\n1,2\n")

    code = demo.main(["--url", stack.url, "--data", str(file)])

    assert code == 1
    assert "DatasetInvalid" in capsys.readouterr().out


def test_an_unreachable_endpoint_fails_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    code = demo.main(["--url", "http://127.0.0.1:9/mcp"])

    assert code == 1
    assert "Connect" in capsys.readouterr().out


@pytest.mark.long
def test_markup_in_a_file_is_shown_and_not_interpreted(
    stack: LocalStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "markup.csv"
    file.write_text("[bold]a[/bold],b\n[/red],[/red]\n[/red],2\n")

    code = demo.main(["--url", stack.url, "--data", str(file)])

    shown = capsys.readouterr().out
    assert code == 0
    assert "[bold]a[/bold]" in shown
    assert "[/red] (2)" in shown


@pytest.fixture(scope="module")
def report(stack: LocalStack) -> dict[str, Any]:
    """Profile the shipped data, function by function."""
    dataset = stack.invoke("ReadDatasetFunction", {"csv": PENGUINS.read_text()})
    marks = dataset["missing_values"]
    columns = [
        stack.invoke("ProfileColumnFunction", {"column": item, "missing_values": marks}) for item in dataset["columns"]
    ]
    return {**dataset, "columns": columns}


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"rows": 343}, "The report has 343 rows, the file 344."),
        ({"columns": []}, "The report has 0 columns, the file 17."),
        ({"missing_values": []}, "Sex: 11 missing values; in the file Sex: 0."),
    ],
)
def test_a_wrong_report_is_detected(report: dict[str, Any], change: dict[str, Any], difference: str) -> None:
    text = PENGUINS.read_text()

    differences = list(demo.differences({**report, **change}, text))

    assert list(demo.differences(report, text)) == []
    assert difference in differences


ACCEPTED = ElicitResult(action="accept", content={"amount": 120.509})


@pytest.mark.parametrize(
    ("answer", "refund", "found"),
    [
        (ACCEPTED, {"status": "refunded", "refunded": "120.50"}, 0),
        (ACCEPTED, {"status": "refunded", "refunded": "120.51"}, 1),
        (ACCEPTED, {"status": "declined", "refunded": "0.00"}, 2),
        (ElicitResult(action="decline"), {"status": "declined", "refunded": "0.00"}, 0),
        (ElicitResult(action="decline"), {"status": "refunded", "refunded": "249.00"}, 2),
        (ElicitResult(action="cancel"), {"status": "dismissed", "refunded": "0.00"}, 0),
    ],
)
def test_a_refund_that_disagrees_with_the_answer_is_detected(
    answer: ElicitResult, refund: dict[str, Any], found: int
) -> None:
    assert len(list(demo.disagreements(refund, answer))) == found


def at_a_terminal(*arguments: str, width: int) -> tuple[int, str]:
    """Run the demo in its own process, at a terminal of 50 lines; return its exit code and output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-m", "examples.demo", *arguments],
        cwd=demo.ROOT,
        env={**variables, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # Linux raises this when the other side is closed
            while part := os.read(ours, 65_536):
                shown += part
        os.close(ours)
    return process.returncode, shown.decode()


@pytest.mark.long
def test_the_screen_shows_the_report_and_ends_with_the_next_steps() -> None:
    code, shown = at_a_terminal("--yes", width=80)

    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    lines = [line.rstrip() for line in re.split(r"[\r\n]+", plain)]
    assert code == 0, plain
    assert "_aws" not in plain
    assert "leaked" not in plain
    assert "\x1b[" in shown
    assert any("%" in line and "━" in line for line in lines), "the progress bar must be shown"
    assert max(len(line) for line in lines if "http://" not in line) <= 80, "only a URL is not broken"
    for shown in (shown for part in parts("demo") for shown in part.SHOWN):
        assert any(re.fullmatch(shown, line) for line in lines), shown
    end = lines.index("What the functions wrote, " + next(line for line in lines if ".stepwire" in line).split()[-1])
    assert lines[end + 1 :] == [line for line in demo.next_steps(demo.Endpoint("", Path()))[2:] if line] + [""]
    logged = (demo.ROOT / lines[end].split()[-1].rstrip(":")).read_text()
    assert '"audit": "created"' in logged


def test_each_command_in_the_next_steps_exists() -> None:
    here = demo.Endpoint("http://127.0.0.1:1/mcp", Path("logs"))

    commands = [line.strip() for line in demo.next_steps(here) if line.startswith("  ")]

    assert commands[:2] == ["make logs", "make run"]
    makefile = (demo.ROOT / "Makefile").read_text()
    assert all(f"\n{command.split()[1]}: " in makefile for command in commands[:2])
    assert commands[2] == "claude mcp add --transport http stepwire http://127.0.0.1:3000/mcp"
    assert "docs/adopting.md" in demo.next_steps(here)[-1]
    assert (demo.ROOT / "docs/adopting.md").exists()


def test_the_next_steps_name_the_given_endpoint() -> None:
    steps = demo.next_steps(demo.Endpoint("https://mcp.example/mcp"))

    assert "  claude mcp add --transport http stepwire https://mcp.example/mcp" in steps
    assert not any("make" in line for line in steps)


@pytest.mark.parametrize("width", [80, 110, 120, 160, 200])
@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_the_report_fits_the_screen(report: dict[str, Any], width: int, terminal: bool) -> None:
    file = io.StringIO()

    print_report(Console(file=file, width=width, force_terminal=terminal, color_system=None), report)

    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) < 50
    assert all(any(column["name"] in line for line in lines) for column in report["columns"]), (
        "every column must be shown"
    )
    assert ("Gentoo penguin" in file.getvalue()) is (width >= 120)
