"""Forty state machines of ten kinds in four stacks, as four teams write them, each with its tag and its parameter.

Three stacks are templates: SAM, CloudFormation as the CDK prints it and as the Serverless Framework makes it. The
fourth is made by calls of AWS, as Terraform does.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from stepwire_local import LocalStack

Json = dict[str, Any]
Definition = Json
ARGUMENTS: Final = {"number": 7, "words": ["a", "bc"]}
SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "words": {"type": "array", "items": {"type": "string"}}},
    "required": ["number"],
}
TEAMS: Final = ("sam", "cdk", "serverless", "terraform")


def _pass(**more: Any) -> Json:
    return {"Type": "Pass", "End": True, **more}


def _jsonata(start: str, **states: Json) -> Definition:
    return {"QueryLanguage": "JSONata", "StartAt": start, "States": states}


def _one(state: Json) -> Definition:
    return {"StartAt": "One", "States": {"One": state}}


_IS_LARGE: Final = {"Condition": "{% $states.input.number > 5 %}", "Next": "Large"}
_NUMBER: Final = "{% $states.input.number %}"
_BRANCHES: Final = [_one(_pass(Result={"side": side})) for side in ("left", "right")]
KINDS: Final[Mapping[str, tuple[Definition, Any]]] = {
    "echoes": (_one(_pass()), ARGUMENTS),
    "picks": (_one(_pass(InputPath="$.words[1]", ResultPath="$", Parameters={"word.$": "$"})), {"word": "bc"}),
    "computes": (_jsonata("One", One=_pass(Output={"double": "{% $states.input.number * 2 %}"})), {"double": 14}),
    "waits": (
        {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 0, "Next": "One"}, "One": _pass()}},
        ARGUMENTS,
    ),
    "chooses": (
        _jsonata(
            "Is",
            Is={
                "Type": "Choice",
                "Choices": [_IS_LARGE],
                "Default": "Small",
            },
            Large=_pass(Output={"size": "large"}),
            Small=_pass(Output={"size": "small"}),
        ),
        {"size": "large"},
    ),
    "maps": (
        _jsonata(
            "Each",
            Each={
                "Type": "Map",
                "Items": "{% $states.input.words %}",
                "ItemProcessor": {"StartAt": "One", "States": {"One": _pass(Output="{% $length($states.input) %}")}},
                "Output": {"lengths": "{% $states.result %}"},
                "End": True,
            },
        ),
        {"lengths": [1, 2]},
    ),
    "forks": (
        {
            "StartAt": "Both",
            "States": {"Both": {"Type": "Parallel", "Branches": _BRANCHES, "ResultPath": "$.sides", "End": True}},
        },
        {**ARGUMENTS, "sides": [{"side": "left"}, {"side": "right"}]},
    ),
    "keeps": (
        _jsonata(
            "Set",
            Set={"Type": "Pass", "Assign": {"kept": _NUMBER}, "Next": "Get"},
            Get=_pass(Output={"kept": "{% $kept %}"}),
        ),
        {"kept": 7},
    ),
    "fails": (_one({"Type": "Fail", "Error": "OnPurpose", "Cause": "It was asked to."}), "OnPurpose"),
    "hurries": (_one(_pass(Result={"type": "EXPRESS"})), {"type": "EXPRESS"}),
}
"""The definition of each kind, and what a call gives: an output, or the name of an error."""


def tool_of(team: str, kind: str) -> str:
    """Name a tool."""
    return f"{team}_{kind}"


def write_templates(folder: Path) -> list[Path]:
    """Write the stacks that have templates."""
    written = {"sam": _sam(), "cdk": _cdk(), "serverless": _serverless()}
    for team, body in written.items():
        (folder / f"{team}.yaml").write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")
    return [folder / f"{team}.yaml" for team in written]


def make_the_rest(stack: LocalStack) -> None:
    """Make the fourth team's state machines and parameters with the calls that Terraform makes."""
    states, ssm = stack.client("stepfunctions"), stack.client("ssm")
    for kind, (definition, _) in KINDS.items():
        made = states.create_state_machine(
            name=f"terraform-{kind}-of-{stack.name}",
            definition=json.dumps(definition),
            roleArn="arn:aws:iam::123456789012:role/terraform",
            type=_type(kind),
            tags=[{"key": "stepwire:endpoint", "value": stack.name}],
        )
        text = yaml.safe_dump(manifest(tool_of("terraform", kind), made["stateMachineArn"]))
        ssm.put_parameter(
            Name=path(stack.name, tool_of("terraform", kind)), Value=text, Type="String", Tier="Intelligent-Tiering"
        )


def path(endpoint: str, tool: str) -> str:
    """Name the parameter of a tool."""
    return f"/stepwire/{endpoint}/tools/{tool}"


def manifest(name: str, state_machine: str) -> Json:
    """Return the manifest of a tool."""
    return {"name": name, "description": f"{name}.", "state_machine": state_machine, "input_schema": SCHEMA}


def _type(kind: str) -> str:
    return "EXPRESS" if kind == "hurries" else "STANDARD"


def _name(kind: str) -> str:
    return kind.capitalize()


def _parameter(team: str, kind: str, value: Any) -> Json:
    name = {"Fn::Sub": path("${Endpoint}", tool_of(team, kind))}
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Name": name, "Type": "String", "Value": value}}


def _template(**resources: Json) -> Json:
    return {"Parameters": {"Endpoint": {"Type": "String", "Default": "stepwire"}}, "Resources": resources}


def _sam() -> Json:
    """SAM: definitions inline, manifests as YAML in Fn::Sub."""
    resources: Json = {}
    for kind, (definition, _) in KINDS.items():
        properties = {"Type": _type(kind), "Definition": definition, "Tags": {"stepwire:endpoint": {"Ref": "Endpoint"}}}
        text = yaml.safe_dump(manifest(tool_of("sam", kind), f"${{{_name(kind)}}}"))
        resources[_name(kind)] = {"Type": "AWS::Serverless::StateMachine", "Properties": properties}
        resources[f"{_name(kind)}Tool"] = _parameter("sam", kind, {"Fn::Sub": text})
    return {"Transform": "AWS::Serverless-2016-10-31", **_template(**resources)}


def _cdk() -> Json:
    """The CDK: plain CloudFormation, definitions as strings, manifests as JSON that Fn::Join puts together."""
    resources: Json = {"Role": _role()}
    for kind, (definition, _) in KINDS.items():
        resources[f"Cdk{_name(kind)}"] = _machine(kind, {"DefinitionString": json.dumps(definition)})
        before, after = json.dumps(manifest(tool_of("cdk", kind), "@")).split("@")
        joined = {"Fn::Join": ["", [before, {"Ref": f"Cdk{_name(kind)}"}, after]]}
        resources[f"Cdk{_name(kind)}Tool"] = _parameter("cdk", kind, joined)
    return _template(**resources)


def _serverless() -> Json:
    """The Serverless Framework: plain CloudFormation, definitions in Fn::Sub, manifests that name the state machine."""
    resources: Json = {"Role": _role()}
    for kind, (definition, _) in KINDS.items():
        machine = _machine(kind, {"DefinitionString": {"Fn::Sub": json.dumps(definition)}})
        machine["Properties"]["StateMachineName"] = {"Fn::Sub": f"serverless-{kind}-of-${{Endpoint}}"}
        text = json.dumps(manifest(tool_of("serverless", kind), f"serverless-{kind}-of-${{Endpoint}}"))
        resources[f"Serverless{_name(kind)}"] = machine
        resources[f"Serverless{_name(kind)}Tool"] = {
            **_parameter("serverless", kind, {"Fn::Sub": text}),
            "DependsOn": f"Serverless{_name(kind)}",
        }
    return _template(**resources)


def _machine(kind: str, definition: Json) -> Json:
    tags = [{"Key": "stepwire:endpoint", "Value": {"Ref": "Endpoint"}}]
    role = {"Fn::GetAtt": ["Role", "Arn"]}
    properties = {**definition, "RoleArn": role, "StateMachineType": _type(kind), "Tags": tags}
    return {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}


def _role() -> Json:
    allow = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "states.amazonaws.com"}}
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [allow]}},
    }
