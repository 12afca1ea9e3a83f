"""What template.yaml includes: CloudFormation reads operations.yaml as SAM uploads it, without a change."""

import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from stepwire_local.cloudformation.template import parse, read
from stepwire_local.errors import TemplateError
from tests.template.document import ROOT, references

TEMPLATE: Final = ROOT / "template.yaml"
OPERATIONS: Final = ROOT / "operations.yaml"
# What an included file may hold: nothing that a caller, a workflow or a release depends on.
KINDS: Final = {"AWS::CloudWatch::Alarm", "AWS::Logs::MetricFilter"}


def faults_of_an_included_file(text: str) -> list[str]:
    """Return what CloudFormation, and older readers of YAML, do not take in an included file."""
    faults, depth = list[str](), 0
    for token in yaml.scan(text):
        line = f"line {token.start_mark.line + 1}"
        match token:
            case yaml.FlowMappingStartToken() | yaml.FlowSequenceStartToken():
                depth += 1
            case yaml.FlowMappingEndToken() | yaml.FlowSequenceEndToken():
                depth -= 1
            case yaml.TagToken():
                faults.append(f"{line}: a short form of a function")
            case yaml.AliasToken() | yaml.AnchorToken():
                faults.append(f"{line}: an alias")
            case yaml.ScalarToken() if depth and token.plain and ":" in token.value:
                faults.append(f"{line}: a colon in braces without quotes")
            case yaml.ScalarToken() if token.value == "Fn::Transform":
                faults.append(f"{line}: an include of its own")
            case _:
                pass
    return faults


def test_the_included_file_has_only_what_cloudformation_reads() -> None:
    text = OPERATIONS.read_text(encoding="utf-8")

    assert faults_of_an_included_file(text) == []
    assert text.isascii()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A: !Ref B", "a short form"),
        ("A: &a {B: c}\nD: *a", "an alias"),
        ("A: {B: Fn::GetAtt}", "a colon in braces"),
        ("A:\n  Fn::Transform: {Name: x}", "an include of its own"),
    ],
)
def test_what_an_included_file_must_not_have_is_found(text: str, words: str) -> None:
    assert words in " ".join(faults_of_an_included_file(text))


def test_the_included_file_has_only_what_an_operator_sees() -> None:
    assert {one["Type"] for one in parse(OPERATIONS).values()} == KINDS


def test_nothing_in_the_template_refers_to_what_it_includes() -> None:
    """So cfn-lint and the SAM CLI, which do not read included files, can check the template by itself."""
    assert references(parse(TEMPLATE)).isdisjoint(parse(OPERATIONS))


def test_what_is_included_is_a_part_of_the_whole_under_its_own_names() -> None:
    own = parse(TEMPLATE)["Resources"]
    whole = read(TEMPLATE)["Resources"]

    assert own["Fn::Transform"] == {"Name": "AWS::Include", "Parameters": {"Location": OPERATIONS.name}}
    assert set(whole) == set(own) - {"Fn::Transform"} | set(parse(OPERATIONS))


def test_the_table_of_contents_has_the_sections_in_their_order() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")

    told = re.findall(r"^#   (\S.*?)  ", text, flags=re.MULTILINE)

    sections = re.findall(r"^  # ={58} (.+)$", text, flags=re.MULTILINE)
    assert told == ["Parameters, rules, conditions", *sections, "Outputs"]


# ------------------------------------------------------------------------------------------ how the local stack reads


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        ("{Name: AWS::Include, Parameters: {Location: gone.yaml}}", "gone.yaml does not exist"),
        ("{Name: AWS::Include, Parameters: {Location: list.yaml}}", "list.yaml has no resources to include"),
        ("{Name: AWS::Include, Parameters: {Location: twice.yaml}}", "twice.yaml: A is in"),
        ("{Name: AWS::Include, Parameters: {Location: 's3://a/b.yaml'}}", "AWS::Include of one file on this disk"),
        ("{Name: AWS::Include}", "AWS::Include of one file on this disk"),
        ("{Name: Mine, Parameters: {Location: twice.yaml}}", "AWS::Include of one file on this disk"),
        ("[{Name: AWS::Include, Parameters: {Location: twice.yaml}}]", "AWS::Include of one file on this disk"),
    ],
)
def test_what_cannot_be_included_is_said(tmp_path: Path, transform: str, words: str) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(f"Resources:\n  A: {{Type: AWS::SQS::Queue}}\n  Fn::Transform: {transform}\n", encoding="utf-8")
    (tmp_path / "list.yaml").write_text("[]", encoding="utf-8")
    (tmp_path / "twice.yaml").write_text("A: {Type: AWS::SNS::Topic}", encoding="utf-8")

    with pytest.raises(TemplateError, match=re.escape(words)):
        read(path)
