"""The stack on the emulated AWS differs from the template only where not_served.py says so."""

from copy import deepcopy
from typing import Any

from tests.deployed.not_served import (
    AN_HOUR,
    NEVER,
    with_plain_time_limits,
    with_wide_permissions,
    without_what_is_left_out,
)
from tests.template.document import template


def test_the_rest_of_the_template_is_unchanged() -> None:
    whole = template()

    rest, taken = without_what_is_left_out(whole)

    resources: dict[str, Any] = whole["Resources"]
    for name, body in resources.items():
        properties: dict[str, Any] = body.get("Properties") or {}
        kept = {key: value for key, value in properties.items() if f"{name}.{key}" not in taken}
        assert name in taken or rest["Resources"][name] == {**body, "Properties": kept}
    conditions = {name: NEVER if name in taken else body for name, body in whole["Conditions"].items()}
    assert {**rest, "Resources": None} == {**whole, "Resources": None, "Conditions": conditions}


def test_a_gradual_deployment_is_left_out_and_listed() -> None:
    function = {
        "Type": "AWS::Serverless::Function",
        "Properties": {"AutoPublishAlias": "live", "DeploymentPreference": {"Type": "AllAtOnce"}},
    }

    rest, taken = without_what_is_left_out({"Resources": {"Answers": function}})

    assert taken == ["Answers.DeploymentPreference"]
    assert rest["Resources"]["Answers"]["Properties"] == {"AutoPublishAlias": "live"}


def test_an_alarm_on_an_expression_is_left_out_and_one_on_a_metric_is_kept() -> None:
    alarms = {
        "Rate": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Metrics": [{"Expression": "a / b"}]}},
        "Count": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "Errors"}},
    }

    rest, taken = without_what_is_left_out({"Resources": alarms})

    assert taken == ["Rate"]
    assert rest["Resources"] == {"Count": alarms["Count"]}


def test_a_condition_that_the_emulator_cannot_evaluate_is_false_and_the_others_are_kept() -> None:
    conditions = {
        "HasEventBusArn": {"Fn::Equals": ["arn", {"Fn::Select": [0, "arn:aws"]}]},
        "HasTokens": {"Ref": "Yes"},
    }

    rest, taken = without_what_is_left_out({"Resources": {}, "Conditions": conditions})

    assert taken == ["HasEventBusArn"]
    assert rest["Conditions"] == {**conditions, "HasEventBusArn": NEVER}


def test_permissions_by_path_or_tag_hold_for_every_resource_and_all_others_stay() -> None:
    tag: dict[str, Any] = {"StringEquals": {"aws:ResourceTag/stepwire:endpoint": {"Ref": "AWS::StackName"}}}
    statements: list[dict[str, Any]] = [
        {"Action": "ssm:GetParametersByPath", "Resource": "arn:of:a:path"},
        {"Action": "ssm:GetParameter", "Resource": "arn:of:a:path"},
        {"Action": ["states:StartExecution"], "Resource": "arn:of:any:*", "Condition": tag},
        {"Action": "sqs:SendMessage", "Resource": "arn:of:any:*", "Condition": {"ArnEquals": {"aws:SourceArn": "arn"}}},
    ]

    wide = with_wide_permissions({"Statement": statements})

    assert [one["Resource"] for one in wide["Statement"]] == ["*", "arn:of:a:path", "arn:of:any:*", "arn:of:any:*"]
    assert ["Condition" in one for one in wide["Statement"]] == [False, False, False, True]


def test_time_limits_that_are_expressions_become_numbers_and_all_else_stays() -> None:
    definition: dict[str, Any] = {
        "StartAt": "Ask",
        "TimeoutSeconds": 60,
        "States": {"Ask": {"Type": "Task", "TimeoutSeconds": "{% $seconds %}", "HeartbeatSeconds": 5, "End": True}},
    }
    expected = deepcopy(definition)
    expected["States"]["Ask"]["TimeoutSeconds"] = AN_HOUR

    assert with_plain_time_limits(definition) == expected
