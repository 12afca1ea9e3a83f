"""The template of a stack is put together: how a part changes the core, which parts there are, and in which order."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from stepwire_cli.deployment.parts import extras_of, files_of, main, put_together, stack_of, write_stack, written

CORE: Final = """
Description: The core.
Resources:
  A: {Type: AWS::SQS::Queue}
  Fn::Transform: {Name: AWS::Include, Parameters: {Location: operations.yaml}}
"""
INCLUDED: Final = "Seen: {Type: AWS::SNS::Topic}\n"
PARTS: Final = {
    "colour/template.yaml": "Description: Colours.\nResources: {A: {Condition: IsRed}}\n",
    "colour/with_taste.yaml": "Resources: {Both: {Type: AWS::SQS::Queue}}\n",
    "colour/with_shape.yaml": "Resources: {Both: {Type: AWS::SNS::Topic}}\n",
    "colour/with_shape_and_taste.yaml": "Resources: {Both: {Type: AWS::S3::Bucket}}\n",
    "colour_or_taste/template.yaml": "Resources: {Shared: {Type: AWS::SQS::Queue}}\n",
    "shape/template.yaml": "Resources: {Shape: {Type: AWS::SQS::Queue}}\n",
    "taste/template.yaml": "Resources: {Taste: {Type: AWS::SQS::Queue}}\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"template.yaml": CORE, "operations.yaml": INCLUDED}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name, text in PARTS.items():
        (tmp_path / "extras" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "extras" / name).write_text(text, encoding="utf-8")
    return tmp_path


def resources(text: str) -> dict[str, Any]:
    return yaml.safe_load(text)["Resources"]


@pytest.mark.parametrize(
    ("old", "new", "whole"),
    [
        pytest.param({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, id="mappings merge"),
        pytest.param({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}, id="at any depth"),
        pytest.param([1], [2, 1], [1, 2, 1], id="lists continue"),
        pytest.param("a", "b", "b", id="a value is replaced"),
        pytest.param("a", {"Ref": "B"}, {"Ref": "B"}, id="by a function, too"),
        pytest.param({"Ref": "A"}, {"Ref": "B"}, {"Ref": "B"}, id="a function is replaced"),
        pytest.param({"Ref": "A"}, {"Fn::Sub": "B"}, {"Fn::Sub": "B"}, id="by another function"),
        pytest.param({"a": 1}, {"Ref": "B"}, {"Ref": "B"}, id="a mapping is replaced by a function"),
        pytest.param(
            {"Fn::If": ["C", 1, 2]}, {"Fn::If": ["D", 3, 4]}, {"Fn::If": ["D", 3, 4]}, id="Fn::If is replaced"
        ),
        pytest.param({"Fn::Sub": "a"}, {"Fn::Sub": "b"}, {"Fn::Sub": "b"}, id="Fn::Sub is replaced"),
        pytest.param([1], {"Fn::override": [2]}, [2], id="a list is overridden"),
        pytest.param({"a": 1}, {"Fn::override": {"b": 2}}, {"b": 2}, id="a mapping is overridden"),
        pytest.param({}, {"a": {"Fn::override": [2]}}, {"a": [2]}, id="nothing is overridden"),
        pytest.param({"Fn::Or": [1]}, {"Fn::Or": [2]}, {"Fn::Or": [1, 2]}, id="Fn::Or continues"),
        pytest.param({"Fn::And": [1]}, {"Fn::And": [2]}, {"Fn::And": [1, 2]}, id="Fn::And continues"),
        pytest.param(
            {"Fn::Join": [",", ["a"]]}, {"Fn::Join": [None, ["b"]]}, {"Fn::Join": [",", ["a", "b"]]}, id="Fn::Join"
        ),
        pytest.param(
            {"Fn::Join": [",", ["a"]]}, {"Fn::Join": ["-", ["b"]]}, {"Fn::Join": ["-", ["b"]]}, id="another Fn::Join"
        ),
        pytest.param(
            {"Fn::Sub": ["${A}", {"A": {"Fn::Join": ["", ["a"]]}}]},
            {"Fn::Sub": [None, {"A": {"Fn::Join": [None, ["b"]]}}]},
            {"Fn::Sub": ["${A}", {"A": {"Fn::Join": ["", ["a", "b"]]}}]},
            id="variables of Fn::Sub",
        ),
        pytest.param(
            {"Type": "T", "Condition": "A"},
            {"Condition": "B"},
            {"Type": "T", "Condition": "B"},
            id="a condition's name",
        ),
    ],
)
def test_a_part_changes_the_core(old: Any, new: Any, whole: Any) -> None:
    core, part = {"Resources": {"X": {"Is": old}}}, {"Resources": {"X": {"Is": new}}}

    assert put_together(core, [part]) == {"Resources": {"X": {"Is": whole}}}
    assert core == {"Resources": {"X": {"Is": old}}}, "which stays as it is"


def test_a_folder_has_the_extras_whose_parts_it_has(folder: Path) -> None:
    assert extras_of(folder) == ("colour", "shape", "taste")


@pytest.mark.parametrize(
    ("chosen", "files"),
    [
        ([], []),
        (["taste"], ["colour_or_taste/template.yaml", "taste/template.yaml"]),
        (["colour"], ["colour_or_taste/template.yaml", "colour/template.yaml"]),
        (
            ["taste", "colour"],
            ["colour_or_taste/template.yaml", "colour/template.yaml", "taste/template.yaml", "colour/with_taste.yaml"],
        ),
        (
            ["shape", "colour"],
            ["colour_or_taste/template.yaml", "colour/template.yaml", "shape/template.yaml", "colour/with_shape.yaml"],
        ),
    ],
)
def test_parts_are_of_the_chosen_and_of_what_they_share(folder: Path, chosen: list[str], files: list[str]) -> None:
    assert [path.relative_to(folder / "extras").as_posix() for path in files_of(folder, chosen)] == files


def test_where_three_meet_what_two_of_them_do_changes(folder: Path) -> None:
    assert stack_of(folder, ["colour", "shape", "taste"])["Resources"]["Both"] == {"Type": "AWS::S3::Bucket"}


def test_a_stack_has_the_core_with_what_it_includes_and_the_parts_of_the_chosen(folder: Path) -> None:
    text = written(stack_of(folder, ["colour"]))

    assert yaml.safe_load(text)["Description"] == "The core."
    assert resources(text).keys() == {"A", "Seen", "Shared"}
    assert resources(text)["A"] == {"Type": "AWS::SQS::Queue", "Condition": "IsRed"}
    assert resources(written(stack_of(folder, []))).keys() == {"A", "Seen"}


def test_a_file_that_is_right_is_not_written_again(folder: Path) -> None:
    output = folder / "stack.yaml"
    write_stack(folder, output)
    before = output.stat()

    write_stack(folder, output)
    assert output.stat() == before

    write_stack(folder, output, ["taste"])
    assert resources(output.read_text()).keys() == {"A", "Seen", "Shared", "Taste"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--with", "colours,smell"], "colours, smell: no such extra; this release has colour, shape, taste"),
        (["--folder", "nowhere"], "nowhere/template.yaml"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    folder: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    with pytest.raises(SystemExit, match=said):
        main(arguments)

    assert not (folder / "stack.yaml").exists()


def test_the_command_writes_the_stack_with_all_or_with_those_that_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    main([])
    assert "Both" in resources((folder / "stack.yaml").read_text())

    main(["--with", "none", "--output", "core.yaml"])
    assert resources((folder / "core.yaml").read_text()).keys() == {"A", "Seen"}

    main(["--with", "taste", "--output", "less.yaml"])
    assert resources((folder / "less.yaml").read_text()).keys() == {"A", "Seen", "Shared", "Taste"}


def test_a_file_that_is_no_template_is_named(folder: Path) -> None:
    (folder / "extras/taste/template.yaml").write_text("- a list\n")

    with pytest.raises(ValueError, match=r"taste/template.yaml is no template"):
        stack_of(folder, ["taste"])
