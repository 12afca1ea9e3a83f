"""The options for stubs on the command line: what they accept, refuse and show."""

import json
import os
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from packages.local.tests.commands.test_serve import ROOT, call, failed_here, refused, serving, untouched_process
from stepwire_local.__main__ import main
from tests.waiting import until

__all__ = ["untouched_process"]  # a fixture
TEMPLATE = ROOT / "tests" / "pipelines" / "template.yaml"
FILES = {"answer.json": "1", "broken.json": "{", "broken.py": "def answer(:", "other.json": "2", "empty.py": "x = 1"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("stubs", "words"),
    [
        (["Convert=gone.json"], "gone.json, the stub of Convert, does not exist."),
        (["Convert=broken.json"], "broken.json, line 1, column 2: not JSON: "),
        (["Convert=broken.py"], "broken.py, line 1: invalid syntax"),
        (["Convert=empty.py"], "empty.py: it has no function answer(input, context)."),
        (["Convert=answer.json", "convert=other.json"], "convert has two stubs, "),
    ],
)
def test_a_stub_that_cannot_be_used_is_one_line_and_exit_code_2(
    files: Path, untouched_process: None, stubs: list[str], words: str
) -> None:
    given = [f"--stub={name}={files / file}" for name, _, file in (stub.partition("=") for stub in stubs)]

    error = failed_here("--template", str(ROOT / "stack.yaml"), "--port", "0", "--logs", str(files / "logs"), *given)

    assert error.startswith("error: ")
    assert words in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--stub", "Convert"], "'Convert' is not KEY=VALUE"),
        (["--stub", "=answer.json"], "is not KEY=VALUE"),
        (["--stub-seconds", "0"], "'0' is not a number of seconds"),
        (["--stub-seconds", "soon"], "'soon' is not a number of seconds"),
        (["--stub-seconds", "inf"], "'inf' is not a number of seconds"),
        (["--longest-wait", "-1"], "'-1' is not a number of seconds"),
    ],
)
def test_an_option_without_its_value_is_refused(option: list[str], words: str) -> None:
    assert words in refused(*option)


def test_make_run_passes_the_option_on() -> None:
    told = subprocess.run(
        ["make", "--no-print-directory", "-n", "run", "ARGS=--stub sns:publish=answer.json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "-m stepwire_local --template stack.yaml" in told.stdout
    assert told.stdout.rstrip().endswith("--stub sns:publish=answer.json")


def test_the_help_names_it() -> None:
    with redirect_stdout(shown := StringIO()), redirect_stderr(StringIO()), pytest.raises(SystemExit, match="0"):
        main(["--help"])

    assert "--stub NAME=FILE" in shown.getvalue()


@pytest.mark.long
def test_it_stops_at_once_while_a_script_runs(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = tmp_path / "slow.py"
    script.write_text(
        f"import os, time\ndef answer(given):\n"
        f"    with open({str(started) + '.new'!r}, 'w') as file: file.write(str(os.getpid()))\n"
        f"    os.rename({str(started) + '.new'!r}, {str(started)!r})\n"
        f"    time.sleep(3600)\n",
        encoding="utf-8",
    )
    options = ("--template", str(TEMPLATE), "--stub", f"Convert={script}", "--stub-seconds", "3600")
    with serving(tmp_path / "logs", ROOT / "stack.yaml", *options, LOG="json") as served:
        task = call(served.url, "tools/call", name="order_pipeline", arguments={"order": "1"}, task={})["result"][
            "task"
        ]
        until(started.exists)
        code = served.stop()

    first = json.loads(served.lines[0])
    assert task["status"] == "working"
    assert (code, served.errors) == (0, "")
    assert f"{script} (the function Convert, OrderPipeline/Convert)" in first["stubbed"]
    assert (first["unmatched"], first["tools"]) == ([], [])
    assert first["missing"][0].endswith("--stub Thumbnail=answer.json")
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text(encoding="utf-8")), 0)
