"""The output of functions goes to a file, with the name of the function, and not to the screen."""

import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from stepwire_local.lambdas.function_output import LogsNotWritable, files_in, kept_in, output_of

Json = dict[str, Any]


def records_in(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_line_has_the_function_that_wrote_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with kept_in(tmp_path, "run") as output:
        with output_of("Greet"):
            sys.stdout.write('{"level": "INFO", "message": "hello"}\n')
            sys.stderr.write("two\nlines\n")
        sys.stdout.write("of nobody\n")

    assert [(one["function"], one.get("record") or one["text"]) for one in records_in(output.path)] == [
        ("Greet", {"level": "INFO", "message": "hello"}),
        ("Greet", "two"),
        ("Greet", "lines"),
        ("", "of nobody"),
    ]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["{not json", "[1]", '"text"', "{}x", "Grüße \x1b[31m", "\u2028"])
def test_output_that_is_not_a_json_object_is_kept_as_text(tmp_path: Path, text: str) -> None:
    with kept_in(tmp_path, "run") as output:
        sys.stdout.write(f"{text}\n")

    assert [one["text"] for one in records_in(output.path)] == ([text] if text.strip() else [])


def test_lines_of_threads_are_not_mixed(tmp_path: Path) -> None:
    with kept_in(tmp_path, "run") as output:
        first, second = threading.Event(), threading.Event()

        def write() -> None:
            first.wait()
            sys.stdout.write("other\n")
            second.set()

        thread = threading.Thread(target=write)
        thread.start()
        sys.stdout.write("be")
        first.set()
        second.wait()
        sys.stdout.write("gun\n")
        thread.join()

    assert [one["text"] for one in records_in(output.path)] == ["other", "begun"]


def test_a_logger_writes_to_the_process_again_after_the_file_is_closed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with kept_in(tmp_path, "run") as output:
        handler = logging.StreamHandler(sys.stdout)

    handler.handle(logging.makeLogRecord({"msg": "later"}))

    assert capsys.readouterr().out == "later\n"
    assert output.path.read_text() == ""


def test_the_twenty_newest_files_are_kept(tmp_path: Path) -> None:
    for number in range(25):
        path = tmp_path / f"run-{number:02}.jsonl"
        path.touch()
        os.utime(path, (number, number))

    with kept_in(tmp_path, "demo") as output:
        kept = files_in(tmp_path)

    assert len(kept) == 20
    assert [path.name for path in kept[1:]] == [f"run-{number:02}.jsonl" for number in range(24, 5, -1)]
    assert kept[0] == output.path
    assert output.path.name.startswith("demo-")


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with (
        pytest.raises(LogsNotWritable, match=r"file/run-.* cannot be written: File exists. Make its folder writable."),
        kept_in(tmp_path / "file", "run"),
    ):
        pass
