"""`stepwire-wrap` as it is typed: what it prints, asks and loads, and how it ends."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from packages.wrap.tests.samples import machine, passed, task
from stepwire_wrap.__main__ import main
from stepwire_wrap.exits import Exit
from tests.waiting import HANG_GUARD

ORDERS: Final = {**machine(A=passed(Parameters={"x.$": "$.order"})), "Comment": "Ships an order that was paid."}
END_OF_INPUT: Final = "\x04"  # as Ctrl-D types it
PROGRAM: Final = (sys.executable, "-m", "stepwire_wrap")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "orders.asl.json").write_text(json.dumps(ORDERS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typing(typed: str, *words: str) -> tuple[int, str]:
    """Run the program at a terminal on which something is typed; return its exit code, and what the terminal shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*PROGRAM, *words], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True) as program:
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        try:
            while part := os.read(ours, 65_536):
                shown += part
        except OSError:  # the way in which Linux says that the other side is closed
            pass
        os.close(ours)
        return program.wait(HANG_GUARD), shown.decode().replace("\r", "")


def test_a_folder_becomes_manifests_and_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["."])

    shown = capsys.readouterr()
    manifest = yaml.safe_load((folder / "tools/orders.yaml").read_text(encoding="utf-8"))
    assert (code, shown.out) == (
        0,
        "tool\tstate machine\tproperties\trequired\truns\norders\torders\t1\t1\t0\n",
    )
    assert shown.err.splitlines() == [
        "1 manifest written to tools/.",
        "Next: review it; `stepwire-wrap doctor tools` says what is left to correct.",
    ]
    assert (manifest["input_schema"]["required"], manifest["description"]) == (["order"], ORDERS["Comment"])


def test_a_manifest_that_is_there_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["."])
    (folder / "tools/orders.yaml").write_text("name: mine\n", encoding="utf-8")

    main(["orders.asl.json"])

    assert (folder / "tools/orders.yaml").read_text(encoding="utf-8") == "name: mine\n"
    assert capsys.readouterr().err.endswith("0 manifests written to tools/, 1 there already.\n")


@pytest.mark.parametrize("words", [["--json", "."], [".", "--json"]])
def test_programs_get_json(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    main([*words, "--output", "made"])

    (found,) = json.loads(capsys.readouterr().out)
    assert (found["tool"], found["file"], found["problems"]) == ("orders", "made/orders.yaml", [])


def test_what_doctor_finds_is_a_line_each_and_an_exit_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["."])
    capsys.readouterr()

    code = main(["doctor", "tools"])

    shown = capsys.readouterr()
    assert code == Exit.FAILED
    assert [line.partition(": it has")[0] for line in shown.out.splitlines()] == [
        "tools/orders.yaml: input_schema.properties.order",
        "tools/orders.yaml: input_schema.properties.order",
    ]
    assert shown.err == "1 file, 2 findings.\n"


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["gone"], Exit.USAGE, "gone does not exist: write the path of a definition, a template or a folder."),
        (["doctor", "gone"], Exit.USAGE, "gone does not exist: write the path of a file or a folder."),
        (
            ["empty"],
            Exit.UNKNOWN,
            "empty has no state machine: neither a definition (StartAt, States) nor a template with one.",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_an_exit_code(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: Exit, line: str
) -> None:
    (folder / "empty").mkdir()

    assert main(words) == code

    assert capsys.readouterr() == ("", f"error: {line}\n")


@pytest.mark.parametrize(("typed", "is_written"), [("y", True), ("n", False)])
def test_a_person_sees_the_difference_and_is_asked_once(folder: Path, typed: str, *, is_written: bool) -> None:
    resources = {
        "Orders": {"Type": "AWS::Serverless::StateMachine", "Properties": {"DefinitionUri": "orders.asl.json"}}
    }
    template = folder / "template.yaml"
    template.write_text(yaml.safe_dump({"Resources": resources}), encoding="utf-8")

    code, shown = typing(f"{typed}\n", ".", "--write")

    assert code == (Exit.DONE if is_written else Exit.FAILED), shown
    assert shown.index("+  OrdersTool:") < shown.index("[y/n] (n): ")
    assert ("OrdersTool" in template.read_text(encoding="utf-8")) is is_written


@pytest.mark.parametrize("words", [["--write", "--decides", "caller"], []], ids=["before a yes", "before who decides"])
def test_an_input_that_ends_before_the_answer_is_an_error(folder: Path, words: list[str]) -> None:
    asking = task(resource="sns:publish.waitForTaskToken", Parameters={"Message": "Please approve the order."})
    resources = {"Orders": {"Type": "AWS::Serverless::StateMachine", "Properties": {"Definition": machine(Ask=asking)}}}
    template = folder / "template.yaml"
    template.write_text(yaml.safe_dump({"Resources": resources}), encoding="utf-8")
    before = template.read_bytes()

    code, shown = typing(END_OF_INPUT, "template.yaml", *words)

    assert code == Exit.USAGE, shown
    assert shown.splitlines()[-1] == (
        "error: the input ended before an answer, so nothing was written: answer at a terminal, or write the answer "
        "as an option (--decides WHO; --yes asks nothing)."
    )
    assert (template.read_bytes(), (folder / "tools").exists()) == (before, False)


def test_invisible_characters_of_a_definition_are_shown_escaped(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "orders.asl.json").rename(folder / "or\u202eders.asl.json")

    main([".", "--snippet", "sam"])

    assert "\u202e" not in "".join(capsys.readouterr())


def test_who_has_read_enough_hears_of_no_fault(folder: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)

    ran = subprocess.run([*PROGRAM, "."], stdout=writes, stderr=subprocess.PIPE, text=True, check=False, cwd=folder)
    os.close(writes)

    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False)


def test_the_help_loads_no_parser(tmp_path: Path) -> None:
    script = """
import sys
from stepwire_wrap.__main__ import main
try:
    main(["--help"])
except SystemExit:
    sys.stderr.write(str({"botocore", "jsonata", "pydantic", "yaml"} & {*sys.modules}))
"""

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)

    assert (ran.stdout.startswith("usage: stepwire-wrap"), ran.stderr) == (True, "set()")


def test_the_help_is_one_screen_that_says_what_a_manifest_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    with pytest.raises(SystemExit):
        main(["--help"])

    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert (len(lines) <= 24, max(map(len, lines)) <= 80) == (True, True), shown
    for words in ("as a tool of an MCP server", "Example: stepwire-wrap .", "stepwire-wrap doctor tools"):
        assert words in shown


def test_the_readme_shows_what_it_writes() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    shown: dict[str, Any] = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])

    assert (len(shown["input_schema"]["properties"]), shown["input_schema"]["required"]) == (19, ["lambdaARN", "num"])
