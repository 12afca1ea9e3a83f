"""`stepwire wrap PATH` and `stepwire doctor PATH`: stepwire-wrap, with the options and the terminal of the command."""

from pathlib import Path

import pytest

from packages.command.tests.terminal import at_a_terminal
from packages.wrap.tests.test_rewriting import STYLES, estate
from stepwire_cli.app import run
from stepwire_cli.exits import Exit


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (
            ["."],
            Exit.UNKNOWN,
            ". has no state machine: neither a definition (StartAt, States) nor a template with one.",
        ),
        (
            [".", "Orders"],
            Exit.USAGE,
            ". is a file or folder: name only these, or only state machines of an account.",
        ),
        (
            [".", "--apply"],
            Exit.USAGE,
            ". is a file or folder: --apply registers state machines of an account, so name "
            "those. --snippet prints the lines for your stack.",
        ),
        (["Orders", "--write"], Exit.USAGE, "--write changes templates and definitions: write a PATH to them."),
    ],
)
def test_a_path_that_cannot_be_wrapped_is_told_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["wrap", *words]) == code

    assert capsys.readouterr().err == f"error: {line}\n"


def test_findings_of_files_are_lines_and_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "it.yaml").write_text("name: it\nstate_machine: It\ninput_schema: {type: object}\n")

    assert run(["doctor", str(tmp_path)]) == Exit.FAILED

    shown = capsys.readouterr()
    assert shown.out.startswith(f"{tmp_path}/it.yaml: description: ")
    assert shown.err == "1 file, 1 finding.\n"


@pytest.mark.parametrize(("typed", "is_written"), [("y", True), ("n", False)])
def test_at_a_terminal_one_question_is_asked_after_the_difference(
    tmp_path: Path, typed: str, *, is_written: bool
) -> None:
    template = estate(tmp_path, *STYLES["a file in YAML"])
    words = ["wrap", str(template), "--write", "--decides", "caller"]

    session = at_a_terminal(words, [("[y/n]", f"{typed}\n")], folder=tmp_path, width=400)

    assert session.code == (Exit.DONE if is_written else Exit.FAILED), session.text
    assert session.text.index("+  OrdersTool:") < session.text.index("Write this to")
    assert (b"OrdersTool" in template.read_bytes()) is is_written
