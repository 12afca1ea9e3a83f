"""`stepwire new`: what it asks, what it refuses, and a tool in the project of somebody else.

tests/templates calls what it makes on a local stack.
"""

import re
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import yaml

from packages.command.tests.terminal import at_a_terminal
from stepwire.manifests.reading import read_manifest
from stepwire_cli.app import run
from stepwire_cli.exits import Exit

THEIRS: Final = """\
Transform: AWS::Serverless-2016-10-31
Resources:   # ours

    Orders: {Type: AWS::DynamoDB::Table}
Outputs: {Table: {Value: !Ref Orders}}
"""


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["new", *words]) == Exit.USAGE
    return capsys.readouterr().err


def test_a_person_is_asked_and_may_take_each_default(tmp_path: Path) -> None:
    typed = [("Name (settle-invoices): ", "sales-report\n"), ("What the tool does", "\n"), ("(stepwire): ", "ours\n")]

    shown = at_a_terminal(["new", "tool"], typed, folder=tmp_path)

    made = (tmp_path / "sales-report" / "template.yaml").read_text()
    assert shown.code == Exit.DONE
    assert "Next: cd sales-report && sam deploy" in shown.screen
    assert "Default: ours" in made
    assert "name: sales_report\n" in made
    assert 'description: "Settles all open invoices of a customer."' in made


def test_a_person_is_asked_again_until_the_answer_is_one(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    (tmp_path / "sales" / "notes.txt").write_text("taken")
    name = "Name (settle-invoices): "
    typed = [
        (name, "order saga\n"),
        ("'order saga' is no name: use up to 64 letters", "task-list\n"),
        ("task_list is a tool of Stepwire's own: choose another name.", "sales\n"),
        ("sales is there already", "orders\n"),
        ("What the tool does", "ü" * 513 + "\n"),
        ("The description has 1,026 bytes, and a template takes 1,024.", "Orders.\n"),
        ("(stepwire): ", "my stack\n"),
        ("'my stack' is no name", "ours\n"),
    ]

    shown = at_a_terminal(["new", "tool"], typed, folder=tmp_path)

    assert shown.code == Exit.DONE
    assert "name: orders\n" in (tmp_path / "orders" / "template.yaml").read_text()


@pytest.mark.parametrize("words", ['Costs ${amount}: "all" of {{it}}', r"A \ and {{{three}}} größer 🚀", "#{'no'}: *x"])
def test_a_description_is_read_as_it_was_written_whatever_cloudformation_would_take_it_for(
    tmp_path: Path, words: str
) -> None:
    assert run(["new", "tool", "--name", "pay", "--description", words, "--output", str(tmp_path / "pay")]) == Exit.DONE

    made = yaml.load((tmp_path / "pay" / "template.yaml").read_text(encoding="utf-8"), yaml.CBaseLoader)
    manifest = made["Resources"]["Tool"]["Properties"]["Value"]
    assert re.findall(r"\$\{(.*?)\}", manifest) == ["Workflow"]
    assert "{{" not in manifest, "Systems Manager would take it for another parameter"
    assert read_manifest(manifest.replace("${Workflow}", "Pay")).description == made["Description"] == words


def test_where_nobody_can_be_asked_the_name_must_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert "write --name NAME, or --yes for the defaults" in refused(capsys, "tool")


NO_NAMES: Final = ["../elsewhere", "1st", "a b", "-", "größe", 'a"', "${a}", "{{a}}", "a" * 65, ""]
"""What is the name of no project."""
NO_DESCRIPTIONS: Final = ["", "two\nlines", "a bell \x07", "ü" * 513]
"""What describes no tool."""


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_is_no_name_is_refused(capsys: pytest.CaptureFixture[str], name: str, tmp_path: Path) -> None:
    said = refused(capsys, "tool", "--name", name, "--output", str(tmp_path / "new"))

    assert said.endswith(" is no name: use up to 64 letters, digits, - and _, with a letter first.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        *((["--description", words], "description") for words in NO_DESCRIPTIONS),
        (
            ["--endpoint", "my stack"],
            "'my stack' is no name: use up to 128 letters, digits and -, with a letter first.",
        ),
        (["--name", "task-result"], "task_result is a tool of Stepwire's own: choose another name."),
    ],
)
def test_an_answer_of_which_no_tool_can_be_made_is_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], reason: str, tmp_path: Path
) -> None:
    assert reason in refused(capsys, "tool", "--yes", "--output", str(tmp_path / "new"), *words)
    assert list(tmp_path.iterdir()) == []


def test_a_template_in_another_encoding_is_named_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "template.yaml").write_bytes(THEIRS.replace("ours", "größte").encode("latin-1"))

    assert "template.yaml: it is not UTF-8: save it as UTF-8" in refused(
        capsys, "tool", "--yes", "--output", str(tmp_path)
    )
    assert [one.name for one in tmp_path.iterdir()] == ["template.yaml"]


def test_what_is_there_is_not_overwritten(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    assert "is not overwritten" in refused(capsys, "tool", "--yes", "--output", str(tmp_path))
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_a_tool_is_added_to_a_template_whose_other_lines_stay(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text(THEIRS)

    assert run(["new", "tool", "--name", "ship-it", "--endpoint", "ours", "--output", str(tmp_path)]) == Exit.DONE

    text = (tmp_path / "template.yaml").read_text()
    before, _, after = text.partition("    ShipItWorkflow:\n")
    tag, parameter = 'Tags: {"stepwire:endpoint": ours}', 'Name: !Sub "/stepwire/ours/tools/ship_it"'
    resources = "Resources:   # ours\n\n    Orders: {Type: AWS::DynamoDB::Table}\n\n"
    assert before == f"Transform: AWS::Serverless-2016-10-31\n{resources}"
    assert after.endswith("\nOutputs: {Table: {Value: !Ref Orders}}\n")
    assert tag in after
    assert parameter in after
    assert (tmp_path / "ship_it.asl.yaml").is_file()


def test_the_line_ends_and_the_byte_order_mark_of_a_project_stay(tmp_path: Path) -> None:
    before = "\ufeff" + THEIRS.replace("\n", "\r\n")
    (tmp_path / "template.yaml").write_bytes(before.encode())
    (tmp_path / "README.md").write_bytes(b"| tool | its states |\r\n|---|---|\r\n")

    assert run(["new", "tool", "--name", "ship-it", "--output", str(tmp_path)]) == Exit.DONE

    after = (tmp_path / "template.yaml").read_bytes().decode()
    assert (after.startswith("\ufeffTransform"), after.count("\n")) == (True, after.count("\r\n"))
    assert set(before.splitlines()) <= set(after.splitlines())
    assert (tmp_path / "README.md").read_bytes().endswith(b"|---|---|\r\n| `ship_it` | `ship_it.asl.yaml` |\r\n")


@contextmanager
def full_disk() -> Generator[None]:
    """Let no file grow beyond 3,000 bytes: what is made has one that is larger, after three others."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("there", [{}, {"template.yaml": THEIRS.encode() + b"# ours\n" * 1_000}], ids=["new", "added"])
def test_what_cannot_be_written_whole_is_not_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, there: dict[str, bytes]
) -> None:
    for name, content in there.items():
        (tmp_path / name).write_bytes(content)

    with full_disk():
        said = refused(capsys, "tool", "--yes", "--output", str(tmp_path))

    assert "cannot be written: file too large." in said
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == there


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("Resources: {A: {Type: AWS::SSM::Parameter}}\n", "no resources in block style"),
        ("- Resources\n", "no resources in block style"),
        ("Resources:\n", "no resources in block style"),
        ("Resources:\n  ShipItTool: {Type: AWS::SSM::Parameter}\n", "choose another --name"),
        ("Resources:\n  A: {Properties: {Name: !Sub '/stepwire/${E}/tools/ship_it'}}\n", "choose another --name"),
        ("Resources:\n  A: {Properties: {Name: /stepwire/e/tools/ship_it}}\n", "choose another --name"),
        ("Resources: [\n", "is no template: it is no YAML"),
    ],
)
def test_a_template_that_cannot_take_the_tool_stays_as_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, template: str, words: str
) -> None:
    (tmp_path / "template.yaml").write_text(template)

    assert words in refused(capsys, "tool", "--name", "ship-it", "--output", str(tmp_path))

    assert [one.name for one in tmp_path.iterdir()] == ["template.yaml"]
    assert (tmp_path / "template.yaml").read_text() == template


def test_an_endpoint_needs_a_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = refused(capsys, "endpoint", "--yes", "--release", str(tmp_path / "none.zip"))

    assert "none.zip cannot be read" in said
