"""`stepwire-local logs`: the records of a log file as lines for people."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepwire_local.commands.logs import run, text_of
from stepwire_local.commands.options import options_of

EMF = {
    "_aws": {"Timestamp": 1, "CloudWatchMetrics": [{"Namespace": "Stepwire", "Metrics": [{"Name": "Created"}]}]},
    "tool": "wait_and_echo",
    "service": "local-1",
    "audit": "created",
    "principal": "0" * 32,
    "task_id": "01m80a",
    "outcome": "working",
    "Created": [1.0],
}
POWERTOOLS = {
    "level": "ERROR",
    "location": "f:1",
    "message": "a request met a fault",
    "timestamp": "now",
    "service": "local-1",
    "fault": "KeyError",
    "place": "g:2",
}


def line(**content: Any) -> str:
    return json.dumps({"time": "2026-11-22T08:30:00.000+00:00", "function": "local-1-McpFunction", **content})


def words_of(text: str) -> str:
    """Return the text without the time, which depends on the machine's time zone."""
    return text_of(text).plain.partition(" ")[2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"record": EMF}, "created wait_and_echo 01m80a working"),
        ({"record": {**EMF, "tool": "-", "task_id": None, "audit": "refused"}}, "refused working"),
        ({"record": {"_aws": EMF["_aws"], "Created": 3}}, "Created=3"),
        ({"record": POWERTOOLS}, "ERROR a request met a fault fault=KeyError place=g:2"),
        ({"record": {"message": "m", "exception": "Traceback\n  f"}}, "m\nTraceback\n  f"),
        ({"record": {"a": [1]}}, "a=[1]"),
        ({"text": "plain \x1b[2J"}, "plain ?[2J"),
    ],
)
def test_a_record_is_a_line(content: Any, words: str) -> None:
    assert words_of(line(**content)) == f"{'Mcp':<15} {words}"


@pytest.mark.parametrize("text", ["no json", "[]", "{}", '{"time": 1, "function": "f"}'])
def test_a_line_that_is_not_a_record_is_shown_unchanged(text: str) -> None:
    assert text_of(f"{text}\n").plain == text


@pytest.mark.parametrize(("level", "style"), [("ERROR", "red"), ("WARNING", "yellow"), ("INFO", "")])
def test_errors_have_a_colour(level: str, style: str) -> None:
    assert text_of(line(record={"level": level, "message": "m"})).spans[-1].style == style or not style


def test_the_newest_file_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run-1.jsonl").write_text(line(text="old") + "\n")
    (tmp_path / "run-2.jsonl").write_text(line(text="new") + "\n" + line(text="unfinished"))

    code = run(options_of(["logs", "--folder", str(tmp_path)]))

    shown = capsys.readouterr().out
    assert code == 0
    assert "new" in shown
    assert "unfinished" in shown
    assert "old" not in shown


def test_new_lines_are_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run-1.jsonl"
    path.write_text(line(text="first") + "\n")
    parts = iter([line(text="second")[:20], line(text="second")[20:] + "\n"])

    def write_more(_: float) -> None:
        part = next(parts, None)
        if part is None:
            raise KeyboardInterrupt
        with path.open("a") as file:
            file.write(part)

    code = run(options_of(["logs", str(path), "--follow"]), wait=write_more)

    assert code == 0
    assert [shown.split()[-1] for shown in capsys.readouterr().out.splitlines()[1:]] == ["first", "second"]


@pytest.mark.parametrize("arguments", [[], ["gone.jsonl"]])
def test_without_a_file_the_error_names_the_command_that_writes_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code = run(options_of(["logs", "--folder", str(tmp_path), *arguments]))

    assert code == 1
    assert "whoever serves a template writes one." in capsys.readouterr().err
