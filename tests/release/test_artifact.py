"""The artifact of a release, made of a small build."""

import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from release.artifact import About, Artifact, Idle, make
from stepwire_cli.deployment.inventory import created_by
from stepwire_cli.deployment.release import opened
from stepwire_cli.exits import CommandError

ABOUT: Final = About(
    "1.2.0",
    "1.0.0",
    Idle(1.87, {"Alarms=all": 2.1}),
    {"colour": Idle(0.5, {"Alarms=all": 1.0}), "taste": Idle(0.0)},
)
TEMPLATE: Final = """
Transform: AWS::Serverless-2016-10-31
Metadata: {'AWS::CloudFormation::Interface': {ParameterGroups: []}}
Parameters: {Alarms: {Type: String, Default: "on", Description: Whether there are alarms.}}
Resources:
  McpFunction:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: functions/mcp, Handler: app.handler, Runtime: python3.13}
    Metadata: {BuildMethod: makefile}
  StepwireLayer: {Type: 'AWS::Serverless::LayerVersion', Properties: {ContentUri: layers/stepwire}}
  Fn::Transform: {Name: 'AWS::Include', Parameters: {Location: included.yaml}}
Outputs: {McpEndpoint: {Value: !Sub "${Api.ApiEndpoint}/mcp"}}
"""
RECORD: Final = "Metadata-Version: 2.4\nName: msgspec\nVersion: 0.22.0\nLicense: BSD-3-Clause\n"
COLOUR: Final = """
Description: Colours.
Parameters: {Colour: {Type: String, Default: red, Description: Of what.}}
Conditions: {IsRed: !Equals [!Ref Colour, red]}
Resources:
  McpFunction: {Properties: {Layers: [!Ref PaintLayer]}}
  PaintLayer:
    Type: AWS::Serverless::LayerVersion
    Metadata: {BuildMethod: makefile}
    Properties: {ContentUri: layers/paint}
  Paint: {Type: 'AWS::SQS::Queue', Condition: IsRed}
"""
BUILT: Final = """
Resources:
  McpFunction: {Type: 'AWS::Serverless::Function', Properties: {CodeUri: McpFunction}}
  StepwireLayer: {Type: 'AWS::Serverless::LayerVersion', Properties: {ContentUri: StepwireLayer}}
  PaintLayer: {Type: 'AWS::Serverless::LayerVersion', Properties: {ContentUri: PaintLayer}}
  Fn::Transform: {Name: 'AWS::Include', Parameters: {Location: included.yaml}}
"""
FILES: Final = {
    "build/template.yaml": BUILT,
    "template.yaml": TEMPLATE,
    "included.yaml": "Alarm: {Type: 'AWS::CloudWatch::Alarm'}\n",
    "extras/colour/template.yaml": COLOUR,
    "extras/colour/with_taste.yaml": "Resources: {Both: {Type: 'AWS::SQS::Queue', Condition: IsRed}}\n",
    "extras/taste/template.yaml": "Description: Tastes.\nResources: {Taste: {Type: 'AWS::SQS::Queue'}}\n",
    "build/PaintLayer/python/paint.py": "",
    "build/McpFunction/app.py": "x = 1\n",
    "build/StepwireLayer/python/stepwire/__init__.py": "",
    "build/StepwireLayer/python/msgspec-0.22.0.dist-info/METADATA": RECORD,
    "build/StepwireLayer/python/msgspec-0.22.0.dist-info/licenses/LICENSE": "do as you like\n",
    "LICENSE": "Apache\n",
}
BYTECODE: Final = "build/StepwireLayer/python/stepwire/__pycache__/__init__.cpython-313.pyc"


def made(folder: Path, files: dict[str, str] = FILES) -> Artifact:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return make(folder / "build", folder, folder / "dist", ABOUT)


def contents(artifact: Artifact) -> dict[str, bytes]:
    with zipfile.ZipFile(artifact.file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_two_builds_of_the_same_files_have_the_same_bytes(tmp_path: Path) -> None:
    """The second has other times, modes and places, and its files were made in another order."""
    first = made(tmp_path / "one")
    before = os.umask(0o077)
    try:
        second = made(tmp_path / "deeper" / "two", dict(reversed(FILES.items())))
    finally:
        os.umask(before)
    for path in (tmp_path / "deeper").rglob("*.py"):
        os.utime(path, (1e9, 1e9))
    third = made(tmp_path / "deeper" / "two")

    assert {second.digest, third.digest} == {first.digest}
    assert first.file.read_bytes() == third.file.read_bytes()


def test_the_template_needs_neither_this_repository_nor_another_file(tmp_path: Path) -> None:
    found = contents(made(tmp_path))

    template: dict[str, Any] = yaml.safe_load(found["template.yaml"])
    (layer,) = (name for name in found if name.startswith("files/StepwireLayer-"))
    resources = template["Resources"]
    assert resources["Alarm"] == {"Type": "AWS::CloudWatch::Alarm"}
    assert resources["StepwireLayer"]["Properties"]["ContentUri"] == {
        "Bucket": {"Ref": "ArtifactBucket"},
        "Key": {"Fn::Sub": f"${{ArtifactPrefix}}{layer.removeprefix('files/')}"},
    }
    assert "Fn::Transform" not in resources
    assert "Metadata" not in resources["McpFunction"]
    assert template["Outputs"]["Version"]["Value"] == "1.2.0"
    assert template["Parameters"]["Alarms"]["Default"] == "on", "and not true, which YAML 1.1 makes of it"


def test_a_part_names_the_code_of_its_own_functions_and_layers_and_no_other(tmp_path: Path) -> None:
    found = contents(made(tmp_path))

    part: dict[str, Any] = yaml.safe_load(found["extras/colour/template.yaml"])
    (layer,) = (name for name in found if name.startswith("files/PaintLayer-"))
    assert part["Resources"]["McpFunction"] == {"Properties": {"Layers": [{"Ref": "PaintLayer"}]}}
    assert part["Resources"]["PaintLayer"] == {
        "Type": "AWS::Serverless::LayerVersion",
        "Properties": {
            "ContentUri": {
                "Bucket": {"Ref": "ArtifactBucket"},
                "Key": {"Fn::Sub": f"${{ArtifactPrefix}}{layer.removeprefix('files/')}"},
            }
        },
    }
    assert {"extras/colour/with_taste.yaml", "extras/taste/template.yaml"} < found.keys()


def test_it_says_what_each_extra_does_and_costs(tmp_path: Path) -> None:
    release = opened(made(tmp_path).file)

    said = {name: (one.description, one.idle.least) for name, one in release.extras.items()}
    assert said == {"colour": ("Colours.", 0.5), "taste": ("Tastes.", 0.0)}
    assert release.cost.with_({"Alarms": "all"}) == pytest.approx(5.47)
    assert release.with_extras([]).cost.with_({"Alarms": "all"}) == pytest.approx(3.97)


@pytest.mark.parametrize(
    ("chosen", "more"),
    [
        ([], set[str]()),
        (["taste"], {"Taste"}),
        (["colour"], {"Paint", "PaintLayer"}),
        (["colour", "taste"], {"Both", "Paint", "PaintLayer", "Taste"}),
    ],
)
def test_a_choice_of_extras_is_one_template_with_what_these_add(
    tmp_path: Path, chosen: list[str], more: set[str]
) -> None:
    release = opened(made(tmp_path).file).with_extras(chosen)

    template: dict[str, Any] = yaml.safe_load(release.template)
    changes = created_by(release, {})
    assert template["Resources"].keys() == {"McpFunction", "StepwireLayer", "Alarm"} | more
    assert ("Colour" in release.parameters) is ("colour" in chosen)
    assert [one for one in release.needed if one.startswith("Paint")] == [
        one for one in release.files if one.startswith("Paint") and "colour" in chosen
    ]
    assert {re.sub("(?<=Layer)[0-9a-f]{10}$", "", one.name) for one in changes} == {
        "Alarm", "McpFunction", "McpFunctionRole", "StepwireLayer", *more
    }  # fmt: skip
    other = {re.sub("(?<=Layer)[0-9a-f]{10}$", "", one.name) for one in created_by(release, {"Colour": "blue"})}
    assert other.isdisjoint({"Paint", "Both"})


def test_an_extra_of_another_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        CommandError, match=r"smell: no such extra; version 1\.2\.0 has colour, taste\. .*--with taste$"
    ):
        opened(made(tmp_path).file).with_extras(["taste", "smell"])


def test_it_says_what_is_in_the_layers_and_under_which_licenses(tmp_path: Path) -> None:
    found = contents(made(tmp_path))

    (component,) = json.loads(found["sbom.cdx.json"])["components"]
    assert component["purl"] == "pkg:pypi/msgspec@0.22.0"
    assert component["licenses"] == [{"license": {"id": "BSD-3-Clause"}}]
    assert found["licenses/msgspec/LICENSE"] == b"do as you like\n"
    assert found["licenses/stepwire/LICENSE"] == b"Apache\n"


@pytest.mark.parametrize(("files", "has_bytecode"), [(FILES, False), ({**FILES, BYTECODE: "compiled"}, True)])
def test_it_says_whether_bytecode_is_in_it(tmp_path: Path, files: dict[str, str], has_bytecode: bool) -> None:
    artifact = made(tmp_path, files)

    assert artifact.has_bytecode is has_bytecode
    assert json.loads(contents(artifact)["release.json"])["bytecode"] is has_bytecode


def test_the_command_opens_it(tmp_path: Path) -> None:
    release = opened(made(tmp_path).file)

    assert (release.version, release.oldest) == ("1.2.0", "1.0.0")
    assert release.chosen == ("colour", "taste")
    assert sorted(name.partition("-")[0] for name in release.files) == ["McpFunction", "PaintLayer", "StepwireLayer"]


def test_it_lists_what_cloudformation_makes_of_its_template(tmp_path: Path) -> None:
    """Of a function also its role, and of a resource also its condition."""
    always = "Alarm: {Type: 'AWS::CloudWatch::Alarm'}\n"
    perhaps = "Alarm: {Type: 'AWS::CloudWatch::Alarm', Condition: HasAlarms}\n"
    assert FILES["included.yaml"] == always

    release = opened(made(tmp_path, {**FILES, "included.yaml": perhaps}).file)

    # The name of a layer ends with a digest.
    found = [(re.sub("(?<=Layer)[0-9a-f]{10}$", "", one.name), one.type, one.condition) for one in release.creates]
    assert found == [
        ("Alarm", "AWS::CloudWatch::Alarm", "HasAlarms"),
        ("Both", "AWS::SQS::Queue", "IsRed"),
        ("McpFunction", "AWS::Lambda::Function", ""),
        ("McpFunctionRole", "AWS::IAM::Role", ""),
        ("Paint", "AWS::SQS::Queue", "IsRed"),
        ("PaintLayer", "AWS::Lambda::LayerVersion", ""),
        ("StepwireLayer", "AWS::Lambda::LayerVersion", ""),
        ("Taste", "AWS::SQS::Queue", ""),
    ]
    assert {one.of for one in release.creates if one.name.startswith("Mcp")} == {"McpFunction"}


def without_sums(found: dict[str, bytes]) -> None:
    del found["SHA256SUMS"]


def with_another_template(found: dict[str, bytes]) -> None:
    found["template.yaml"] += b"# and more\n"


def with_another_part(found: dict[str, bytes]) -> None:
    found["extras/taste/template.yaml"] += b"# and more\n"


def without_a_part(found: dict[str, bytes]) -> None:
    del found["extras/colour/with_taste.yaml"]


def with_one_more(found: dict[str, bytes]) -> None:
    found["files/Another-1.zip"] = b""


@pytest.mark.parametrize(
    "change", [without_sums, with_another_template, with_another_part, without_a_part, with_one_more]
)
def test_the_command_opens_none_that_was_changed(tmp_path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    artifact = made(tmp_path)
    found = contents(artifact)
    change(found)
    with zipfile.ZipFile(tmp_path / "changed.zip", "w") as archive:
        for name, content in found.items():
            archive.writestr(name, content)

    with pytest.raises(CommandError, match="damaged"):
        opened(tmp_path / "changed.zip")


def test_the_command_opens_none_that_came_through_damaged(tmp_path: Path) -> None:
    """What is damaged without any effect, such as a time, is opened as it is."""
    whole = made(tmp_path).file
    content, good = whole.read_bytes(), opened(whole)
    refused = 0

    for at in range(0, len(content), 7):
        flipped = bytes(byte ^ 0xFF for byte in content[at : at + 10])
        (tmp_path / "damaged.zip").write_bytes(content[:at] + flipped + content[at + 10 :])
        try:
            assert opened(tmp_path / "damaged.zip") == good
        except CommandError as error:
            assert str(error).startswith(f"{tmp_path}/damaged.zip ")  # noqa: PT017 - not at each place
            refused += 1

    assert refused > len(content) / 7 / 2


def test_the_command_says_that_a_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no zip file")

    with pytest.raises(CommandError, match="no release of Stepwire"):
        opened(tmp_path / "notes.txt")
    with pytest.raises(CommandError, match="no such file"):
        opened(tmp_path / "missing.zip")
