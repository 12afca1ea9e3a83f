"""What the terminal shows: lines that fit it, in colour if it has colours, and JSON for programs."""

import errno
import io
import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from stepwire.principal import Principal
from stepwire_local.activity import Activity
from stepwire_local.gateway.exchanges import Exchange
from stepwire_local.gateway.http_api import Request, Response
from stepwire_local.lambdas.function_output import FunctionOutput, output_of
from stepwire_local.streams.task_changes import TaskChange, Told
from stepwire_local.terminal.screen import Lines, Screen, Warnings

TASK = "01m80a032z4wjjwc7vk2endp01jrgksb79bk"
CREATED = TaskChange(Principal("me"), TASK, "wait_and_echo", "input_required")
LONG = "Unknown tool 'profile_everything'. tools/list names the tools there are."


def exchange(method: str = "tools/call", **answer: Any) -> Exchange:
    params = {"name": "profile_dataset_of_penguins", "taskId": TASK, "clientInfo": {"name": "Visual Studio Code"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    answered = json.dumps({"id": 1, **answer}).encode()
    headers = [("mcp-protocol-version", "2025-11-25")]
    return Exchange(
        Request("POST", "/mcp", "", headers, body, ""), Response(200, (), answered), datetime.now(UTC), 28.5
    )


def shown(*seen: Exchange | TaskChange | Told | Activity, as_json: bool = False, **console: Any) -> list[str]:
    file = io.StringIO()
    screen = Screen(Console(file=file, highlight=False, **console), as_json=as_json)
    screen.console_url = "http://127.0.0.1:3000/"
    for one in seen:
        match one:
            case TaskChange():
                screen.task_changed(one)
            case Told():
                screen.told(one)
            case Exchange():
                screen.answered(one)
            case Activity():
                screen.happened(one)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("method", ["tools/call", "tasks/get", "notifications/initialized"])
@pytest.mark.parametrize("width", [80, 100, 132, 200])
def test_a_line_fits_the_terminal(method: str, width: int) -> None:
    lines = shown(
        exchange(method, result={"status": "input_required"}),
        CREATED,
        force_terminal=True,
        width=width,
        color_system=None,
    )

    assert len(lines) == 2
    assert all(len(line.rstrip()) <= width for line in lines), lines
    assert "28500 ms" in lines[0]
    assert lines[1].endswith(f"task {TASK} wait_and_echo input_required")


LETTER = Activity(
    "topic", "Orders", "a@example.com", "not delivered: email is not served. Text: https://an.example/yes?token=t"
)
STATE = Activity(
    "state", "Flow", "Charge", "an-execution-with-a-name-that-is-as-long-as-a-name-may-be-in-step-functions"
)


def test_what_happens_is_a_line_that_fits_the_terminal() -> None:
    piped = shown(LETTER, STATE, width=80)
    narrow = shown(STATE, force_terminal=True, width=60, color_system=None)
    (mail,) = shown(LETTER, force_terminal=True, width=60, color_system=None)
    (fact,) = map(json.loads, shown(LETTER, as_json=True))

    assert piped[0].endswith(f" topic Orders -> a@example.com  {LETTER.about}")
    assert mail.endswith(LETTER.about), "a link that is cut cannot be followed"
    assert piped[1].endswith(f" state Flow -> Charge  {STATE.about}")
    assert len(narrow[0].rstrip()) == 60
    assert fact == {"event": "activity", "time": fact["time"], **vars(LETTER)}


def test_what_an_extra_says_of_a_task_is_shown_with_the_page_where_something_is_to_be_done() -> None:
    lines = ["It is to be chosen.", "https://an.example"]
    told = Told("colour", f"colour of task {TASK}", lines, {"is": None}, "#/colours")

    (piped,) = shown(told, width=80)
    narrow = shown(told, force_terminal=True, width=80, color_system=None)
    (facts,) = map(json.loads, shown(told, as_json=True))

    where = "http://127.0.0.1:3000/#/colours"
    assert piped.endswith(f" colour of task {TASK}  It is to be chosen.  https://an.example  {where}")
    assert [line.strip() for line in narrow[1:]] == [*lines, where]
    assert facts == {"event": "colour", "time": facts["time"], "is": None}


@pytest.mark.parametrize("console", [{"width": 80}, {"width": 200, "force_terminal": True, "color_system": None}])
def test_nothing_is_shortened_in_a_pipe_or_a_wide_terminal(console: Any) -> None:
    (line,) = shown(exchange(result={"status": "input_required"}), **console)

    for word in (
        "2025-11-25",
        "Visual Studio Code",
        "tools/call",
        "profile_dataset_of_penguins",
        TASK,
        "input_required",
    ):
        assert word in line


def test_on_a_narrow_terminal_the_reason_of_an_error_has_its_own_line() -> None:
    failed = exchange(error={"code": -32602, "message": LONG})

    narrow = shown(failed, force_terminal=True, width=80, color_system=None)
    piped = shown(failed, width=80)

    assert [line.strip() for line in narrow[1:]] == [f"-32602 {LONG}"]
    assert len(piped) == 1
    assert piped[0].endswith(f"-32602 {LONG}")


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["a terminal", "NO_COLOR", "TERM=dumb"],
)
def test_errors_are_red_on_a_terminal_with_colours_only(variables: dict[str, str], coloured: bool) -> None:
    environment = {"TERM": "xterm", **variables}

    line, *_ = shown(exchange(error={"code": 1, "message": "no"}), force_terminal=True, width=200, _environ=environment)

    assert ("\x1b[31m" in line) is coloured
    assert not any("\x1b" in line for line in shown(exchange(error={"code": 1, "message": "no"}), width=200))


def test_a_poll_names_the_tool_of_its_task() -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "tasks/get", "params": {"taskId": TASK}}).encode()
    poll = Exchange(Request("POST", "/mcp", "", [], body, ""), Response(200), datetime.now(UTC), 0.01)

    _, line = shown(CREATED, poll)

    assert "wait_and_echo" in line


def test_json_has_one_object_per_line() -> None:
    lines = shown(exchange(result={"taskId": TASK, "status": "working"}), CREATED, as_json=True, width=20)

    request, task = map(json.loads, lines)
    assert (request["event"], request["method"], request["task"], request["status"]) == (
        "request",
        "tools/call",
        TASK,
        200,
    )
    assert {**CREATED.__dict__, "event": "task", "time": task["time"]} == task


def warned(record_of: str, folder: Path, *, within: str = "") -> tuple[str, str]:
    """Log a warning with a traceback; return what the screen and the file show of it."""
    file, output = io.StringIO(), FunctionOutput(folder / "a.jsonl")
    handler = Warnings(Screen(Console(file=file, width=80)), output)
    error = KeyError("colour\nred")
    record = logging.LogRecord(record_of, logging.WARNING, "", 1, "%s failed.", ("F",), (KeyError, error, None))
    with output_of(within):
        handler.handle(record)
    output.close()
    return file.getvalue(), (folder / "a.jsonl").read_text()


def test_a_failure_is_one_line_on_the_screen_and_complete_in_the_file(tmp_path: Path) -> None:
    screen, file = warned("stepwire_local.lambdas.functions", tmp_path, within="local-1-F")

    assert screen.endswith("warning: F failed. KeyError: 'colour\\nred'\n")
    assert json.loads(file)["text"] == "WARNING stepwire_local.lambdas.functions: F failed.\nKeyError: 'colour\\nred'"
    assert json.loads(file)["function"] == "local-1-F"


def test_a_functions_own_warnings_are_in_the_file_only(tmp_path: Path) -> None:
    screen, file = warned("app", tmp_path)

    assert screen == ""
    assert "F failed." in file


def test_a_warning_that_cannot_be_written_raises_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing function logs its warning last, while the caller waits."""
    monkeypatch.setattr(logging, "raiseExceptions", False)
    output = FunctionOutput(tmp_path / "a.jsonl")
    output.close()
    record = logging.LogRecord("stepwire_local.lambdas.functions", logging.WARNING, "", 1, "F failed.", (), None)

    Warnings(Screen(Console(file=io.StringIO())), output).handle(record)


class Unwritable(io.StringIO):
    """A file on a full disk, or a pipe that nobody reads."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def flush(self) -> None:
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPIPE])
def test_lines_that_cannot_be_written_end_with_one_warning(
    capfd: pytest.CaptureFixture[str], number: int, as_json: bool
) -> None:
    file = Unwritable(number)
    screen = Screen(Lines(file=file), as_json=as_json)

    for words in ("first", "second"):
        screen.noted(words, False)

    said = f"warning: the lines of the stack end here: [Errno {number}] {os.strerror(number)}\n"
    assert capfd.readouterr() == ("", said)
    assert "second" not in file.getvalue()
