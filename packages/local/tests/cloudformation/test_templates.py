"""Parameters, conditions, intrinsic functions and references of a template, and the errors in them."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml

from stepwire_local import LocalStack, TemplateError
from stepwire_local.cloudformation.parameters import parameter_values


def queue(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def stored(value: Any) -> dict[str, Any]:
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}}


class Bench:
    """A folder for templates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def outputs(self, *, given: dict[str, str] | None = None, **sections: Any) -> dict[str, str]:
        """Serve a template with these sections; return its outputs."""
        path = self.folder / "template.yaml"
        path.write_text(yaml.safe_dump({"Resources": {"Base": queue()}, **sections}), encoding="utf-8")
        with LocalStack(path, parameters=given) as stack:
            return stack.outputs

    def refused(self, **sections: Any) -> str:
        """Return the line that says why the template is refused."""
        with pytest.raises(TemplateError) as caught:
            self.outputs(**sections)
        return str(caught.value)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ({"Ref": "Name"}, "given"),
        ({"Fn::Sub": "${Name} ${!Name} ${AWS::Region}"}, "given ${Name} us-east-1"),
        ({"Fn::Sub": ["${a}-${Name}", {"a": {"Ref": "AWS::Partition"}}]}, "aws-given"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Name"}, {"Ref": "AWS::NoValue"}]]}, "a-given"),
        ({"Fn::Select": ["1", ["a", "b"]]}, "b"),
        ({"Fn::Select": [0, {"Fn::Split": ["v", {"Ref": "Name"}]}]}, "gi"),
        ({"Fn::If": ["IsGiven", "yes", "no"]}, "yes"),
        ({"Fn::If": ["IsOther", "yes", "no"]}, "no"),
        ({"Fn::GetAtt": ["Queue", "QueueName"]}, "the-queue"),
        ({"Fn::Sub": "${Queue.Arn}"}, "arn:aws:sqs:us-east-1:123456789012:the-queue"),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Name"}, "size"]}, "large"),
        ({"Fn::Select": [1, {"Fn::GetAZs": ""}]}, "us-east-1b"),
        ({"Fn::Join": ["", {"Fn::GetAZs": "eu-west-1"}]}, "eu-west-1aeu-west-1beu-west-1c"),
        ({"Fn::Base64": {"Ref": "Name"}}, "Z2l2ZW4="),
        ({"Fn::FindInMap": ["Sizes", "other", "size", {"DefaultValue": {"Ref": "Name"}}]}, "given"),
        ({"Fn::Length": {"Fn::Split": ["v", {"Ref": "Name"}]}}, "2"),
        ({"Fn::ToJsonString": {"name": {"Ref": "Name"}, "none": {"Ref": "AWS::NoValue"}}}, '{"name":"given"}'),
        ({"Fn::ImportValue": {"Fn::Sub": "${Name}-role"}}, "given-role-is-not-served-locally"),
    ],
)
def test_intrinsic_functions_are_evaluated(bench: Bench, value: Any, result: str) -> None:
    outputs = bench.outputs(
        given={"Name": "given"},
        Parameters={"Name": {"Type": "String"}},
        Mappings={"Sizes": {"given": {"size": "large"}}},
        Conditions={
            "IsGiven": {"Fn::Equals": [{"Ref": "Name"}, "given"]},
            "IsOther": {"Fn::And": [{"Condition": "IsGiven"}, {"Fn::Not": [{"Fn::Or": [{"Condition": "IsGiven"}]}]}]},
        },
        Resources={"Queue": queue(QueueName="the-queue")},
        Outputs={"Value": {"Value": value}},
    )

    assert outputs["Value"] == result


def test_a_resource_that_a_condition_excludes_is_not_created(bench: Bench) -> None:
    outputs = bench.outputs(
        Conditions={"Never": {"Fn::Equals": ["a", "b"]}},
        Resources={"Queue": {**queue(), "Condition": "Never"}},
        Outputs={"Gone": {"Value": {"Ref": "Queue"}, "Condition": "Never"}, "Left": {"Value": "here"}},
    )

    assert outputs == {"Left": "here"}


def test_an_alias_leads_to_its_function(bench: Bench) -> None:
    code = bench.folder / "code"
    code.mkdir()
    (code / "app.py").write_text("def handler(event, context):\n    return event\n", encoding="utf-8")
    properties = {"CodeUri": "code", "Handler": "app.handler", "Runtime": "python3.13", "AutoPublishAlias": "live"}

    outputs = bench.outputs(
        Resources={"Function": {"Type": "AWS::Serverless::Function", "Properties": properties}},
        Outputs={
            "Function": {"Value": {"Fn::GetAtt": ["Function", "Arn"]}},
            "Alias": {"Value": {"Ref": "Function.Alias"}},
            "Version": {"Value": {"Ref": "Function.Version"}},
        },
    )

    assert outputs["Alias"] == f"{outputs['Function']}:live"
    assert outputs["Version"] == f"{outputs['Function']}:1"


def test_a_circular_reference_is_named(bench: Bench) -> None:
    resources = {
        "First": queue(QueueName={"Fn::GetAtt": ["Second", "QueueName"]}),
        "Second": queue(QueueName={"Fn::GetAtt": ["First", "QueueName"]}),
    }

    assert bench.refused(Resources=resources) == "Circular dependency: First -> Second -> First"


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"Outputs": {"A": {"Value": {"Ref": "Nobody"}}}}, "refers to Nobody"),
        ({"Outputs": {"A": {"Value": {"Fn::Transform": "x"}}}}, "Fn::Transform"),
        ({"Outputs": {"A": {"Value": {"Fn::FindInMap": ["M", "a", "b"]}}}}, "no mapping M with a and b"),
        ({"Outputs": {"A": {"Value": {"Fn::If": ["Nothing", 1, 2]}}}}, "no condition Nothing"),
        ({"Outputs": {"A": {"Value": {"Fn::Select": [3, ["a"]]}}}}, "item 3 of 1"),
        ({"Resources": {"Queue": queue(QueueName="no spaces allowed")}}, "Queue: "),
        ({"Parameters": {"P": {"Type": "String"}}}, "Parameter P has no default"),
        (
            {"Parameters": {"P": {"Type": "String", "Default": ""}}, "Resources": {"Stored": stored({"Ref": "P"})}},
            "greater than or equal to 1. It refers to P, without a value: give --parameter P=...",
        ),
        (
            {
                "Parameters": {"P": {"Type": "String", "Default": ""}},
                "Resources": {"Stored": stored({"Fn::Sub": "${P}"})},
            },
            "give --parameter P=...",
        ),
        (
            {"Resources": {"V": {"Type": "AWS::Lambda::Version", "Properties": {"FunctionName": "nobody"}}}},
            "nobody is not a function",
        ),
        (
            {"Resources": {"M": {"Type": "AWS::Serverless::StateMachine", "Properties": {"DefinitionUri": "m.yaml"}}}},
            "m.yaml",
        ),
        (
            {
                "Rules": {
                    "R": {"Assertions": [{"Assert": {"Fn::Equals": ["a", "b"]}, "AssertDescription": "a is not b"}]}
                }
            },
            "a is not b",
        ),
        (
            {
                "Rules": {
                    "R": {
                        "RuleCondition": {"Fn::Equals": ["a", "b"]},
                        "Assertions": [{"Assert": {"Fn::Equals": [{"Fn::Join": ["", ["a"]]}, "a"]}}],
                    }
                }
            },
            "CloudFormation takes no Fn::Join in Rules",
        ),
    ],
)
def test_each_error_is_one_line(bench: Bench, sections: dict[str, Any], words: str) -> None:
    line = bench.refused(**sections)

    assert words in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("given", "asserted", "does_hold"),
    [
        ("", {"Fn::EachMemberEquals": [{"Ref": "List"}, ""]}, True),
        ("a,a", {"Fn::EachMemberEquals": [{"Ref": "List"}, "a"]}, True),
        ("a,b", {"Fn::EachMemberEquals": [{"Ref": "List"}, "a"]}, False),
        ("a,b", {"Fn::Contains": [{"Ref": "List"}, "b"]}, True),
        ("a,b", {"Fn::Contains": [{"Ref": "List"}, "c"]}, False),
        ("a,b", {"Fn::EachMemberIn": [{"Ref": "List"}, ["a", "b", "c"]]}, True),
        ("a,b", {"Fn::EachMemberIn": [{"Ref": "List"}, ["a"]]}, False),
    ],
)
def test_a_rule_looks_into_a_list(bench: Bench, given: str, asserted: Any, does_hold: bool) -> None:
    sections: dict[str, Any] = {
        "Parameters": {"List": {"Type": "CommaDelimitedList", "Default": given}},
        # A rule may have any name, also that of a function.
        "Rules": {"Condition": {"Assertions": [{"Assert": asserted, "AssertDescription": "it does not hold"}]}},
        "Resources": {"Queue": queue()},
    }

    with nullcontext() if does_hold else pytest.raises(TemplateError, match="it does not hold"):
        bench.outputs(**sections)


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ({"A": {"Type": "Pass", "Next": "B"}}, "A.Next names the state 'B'"),
        ({"A": {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% 1 + %}", "End": True}}, "States.A.Output"),
        ({"A": {"Type": "Dance", "End": True}}, "Machine: "),
    ],
)
def test_a_bad_workflow_is_refused_at_the_start(bench: Bench, states: dict[str, Any], words: str) -> None:
    definition = json.dumps({"StartAt": "A", "States": states})
    role = "arn:aws:iam::123456789012:role/r"
    machine = {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {"DefinitionString": definition, "RoleArn": role},
    }

    assert words in bench.refused(Resources={"Machine": machine})


@pytest.mark.parametrize("manifest", ['ttl: !!int ""', "ttl: !!bool maybe", "ttl: ["])
def test_a_manifest_that_cannot_be_read_keeps_no_template_from_being_served(bench: Bench, manifest: str) -> None:
    properties = {"Name": "/stepwire/live/tools/settle", "Type": "String", "Value": manifest}

    outputs = bench.outputs(
        Resources={"Tool": {"Type": "AWS::SSM::Parameter", "Properties": properties}},
        Outputs={"Tool": {"Value": {"Ref": "Tool"}}},
    )

    assert outputs == {"Tool": "/stepwire/live/tools/settle"}


@pytest.mark.parametrize("text", ["Resources: [", "just: words", "- a\n- list", "", 'Resources: !!int ""'])
def test_a_file_that_is_not_a_template_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(TemplateError, match=r"template\.yaml"), LocalStack(path):
        pass


def test_a_template_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="does not exist"), LocalStack(tmp_path / "gone.yaml"):
        pass


@pytest.mark.parametrize(
    ("declaration", "value", "words"),
    [
        ({"Type": "String", "AllowedValues": ["a", "b"]}, "c", "must be one of a, b"),
        ({"Type": "Number", "MinValue": 1}, "0", "at least 1"),
        ({"Type": "Number", "MaxValue": 9}, "10", "at most 9"),
        ({"Type": "Number"}, "many", "must be a number"),
        ({"Type": "String", "MinLength": 2}, "a", "length"),
        ({"Type": "String", "AllowedPattern": "[a-z]+"}, "A1", "must match"),
        ({"Type": "CommaDelimitedList", "AllowedValues": ["a"]}, "a, b", "'b'"),
        ({"Type": "AWS::Odd::Type"}, "a", "does not serve the type"),
    ],
)
def test_a_parameter_is_checked(declaration: dict[str, Any], value: str, words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        parameter_values({"P": declaration}, {"P": value})


@pytest.mark.parametrize(
    ("kind", "value"),
    [("AWS::EC2::VPC::Id", "vpc-1, 2"), ("List<AWS::EC2::Subnet::Id>", ["vpc-1", "2"])],
)
def test_the_ids_of_resources_are_texts(kind: str, value: object) -> None:
    assert parameter_values({"P": {"Type": kind}}, {"P": "vpc-1, 2"}) == {"P": value}


def test_a_flag_is_a_text_in_lower_case() -> None:
    flag = {"Type": "String", "AllowedValues": [True, False], "Default": False}

    assert parameter_values({"P": flag}, {}) == {"P": "false"}


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(TemplateError, match="no parameter Q; it has P"):
        parameter_values({"P": {"Type": "String", "Default": "a"}}, {"Q": "b"})


def test_a_list_parameter_is_a_list() -> None:
    assert parameter_values({"P": {"Type": "CommaDelimitedList"}}, {"P": "a, b"}) == {"P": ["a", "b"]}
