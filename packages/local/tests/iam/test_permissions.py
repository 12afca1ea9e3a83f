"""The policies of a template are enforced when its functions and workflows call AWS."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stepwire_local import FunctionError, LocalStack, TemplateError
from stepwire_local.iam.actions import Need, Place, UnknownOperation, needs
from stepwire_local.iam.permissions import Role, Statement, statements_of, unread
from tests.waiting import until

HANDLER = """
import os
import boto3

def handler(event, context):
    client = boto3.client(event["service"])
    answer = getattr(client, event["method"])(**event["parameters"])
    return answer if isinstance(answer, str) else answer["ResponseMetadata"]["HTTPStatusCode"]
"""
PLACE = Place("eu-central-1", "123456789012")
HERE = "eu-central-1:123456789012"
TABLE = "arn:aws:dynamodb:eu-central-1:123456789012:table/T"
READ = {"Effect": "Allow", "Action": "dynamodb:Get*", "Resource": {"Fn::GetAtt": ["Table", "Arn"]}}
KEY = {"pk": {"S": "a"}}


def template(folder: Path, *policies: Any, **more: Any) -> Path:
    """Write a template of a table, a function with these policies, and more sections."""
    (folder / "f").mkdir()
    (folder / "f" / "app.py").write_text(HANDLER, encoding="utf-8")
    function = {"CodeUri": "f", "Handler": "app.handler", "Runtime": "python3.13", "Timeout": 20}
    table = {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    }
    resources = {
        "Table": {"Type": "AWS::DynamoDB::Table", "Properties": table},
        "Caller": {"Type": "AWS::Serverless::Function", "Properties": {**function, "Policies": list(policies)}},
        **more,
    }
    path = folder / "template.yaml"
    path.write_text(
        yaml.safe_dump({"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}), encoding="utf-8"
    )
    return path


def call(stack: LocalStack, service: str, method: str, **parameters: Any) -> Any:
    """Let the function make a call."""
    return stack.invoke("Caller", {"service": service, "method": method, "parameters": parameters})


def test_a_function_may_do_what_its_policies_allow_and_nothing_else(tmp_path: Path, refusals: list[str]) -> None:
    with LocalStack(template(tmp_path, {"Statement": READ})) as stack:
        table = stack.physical_ids["Table"]

        assert call(stack, "dynamodb", "get_item", TableName=table, Key=KEY) == 200
        with pytest.raises(FunctionError, match=r"AccessDeniedException.* dynamodb:PutItem on resource: arn:aws:dynam"):
            call(stack, "dynamodb", "put_item", TableName=table, Item=KEY)
        with pytest.raises(FunctionError, match="AccessDeniedException"):
            call(stack, "dynamodb", "get_item", TableName="another", Key=KEY)

    assert ["dynamodb:PutItem" in refusals[0], "table/another" in refusals[1]] == [True, True]
    refusals.clear()


def test_a_separate_policy_applies_to_the_roles_that_it_names(tmp_path: Path) -> None:
    policy = {"PolicyName": "p", "PolicyDocument": {"Statement": [READ]}, "Roles": [{"Ref": "CallerRole"}]}
    apart = {"Type": "AWS::IAM::Policy", "Properties": policy}

    with LocalStack(template(tmp_path, Apart=apart)) as stack:
        assert call(stack, "dynamodb", "get_item", TableName=stack.physical_ids["Table"], Key=KEY) == 200


def test_an_operation_that_the_local_stack_does_not_know_is_denied_and_named(tmp_path: Path) -> None:
    everything = {"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}

    with (
        LocalStack(template(tmp_path, everything)) as stack,
        pytest.raises(FunctionError, match=r"dynamodb\.DeleteTable"),
    ):
        call(stack, "dynamodb", "delete_table", TableName=stack.physical_ids["Table"])


def test_an_unsupported_statement_allows_nothing_and_is_reported(tmp_path: Path, refusals: list[str]) -> None:
    narrowed = {**READ, "Sid": "OnSundays", "Condition": {"Bool": {"aws:Sunday": True}}}

    with LocalStack(template(tmp_path, {"Statement": narrowed})) as stack:
        with pytest.raises(FunctionError, match="AccessDeniedException"):
            call(stack, "dynamodb", "get_item", TableName=stack.physical_ids["Table"], Key=KEY)

        assert "CallerRole: OnSundays with Condition is not evaluated here, and allows nothing" in stack.not_served
    refusals.clear()


@pytest.mark.parametrize("empty", [{"Statement": []}, {"Statement": [{"Ref": "AWS::NoValue"}]}])
def test_a_policy_without_a_statement_stops_the_start_as_iam_refuses_it(tmp_path: Path, empty: Any) -> None:
    path = template(tmp_path, {"Statement": READ}, empty)

    with pytest.raises(TemplateError, match="CallerRole: a policy has no statement"), LocalStack(path):
        pass


def test_signing_a_url_needs_no_permission(tmp_path: Path) -> None:
    signing = {"ClientMethod": "get_object", "Params": {"Bucket": "b", "Key": "k"}}

    with LocalStack(template(tmp_path)) as stack:
        assert "Signature" in call(stack, "s3", "generate_presigned_url", **signing)


@pytest.mark.parametrize("granted", [True, False])
def test_a_workflow_may_call_what_its_role_allows(tmp_path: Path, refusals: list[str], granted: bool) -> None:
    arguments = {"FunctionName": {"Fn::GetAtt": ["Caller", "Arn"]}, "Payload": {}}
    state = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": arguments, "End": True}
    allowed = {"LambdaInvokePolicy": {"FunctionName": {"Ref": "Caller"}}}
    machine = {
        "Definition": {"StartAt": "Call", "States": {"Call": state}},
        "Policies": [allowed] if granted else [],
    }

    with LocalStack(
        template(tmp_path, Machine={"Type": "AWS::Serverless::StateMachine", "Properties": machine})
    ) as stack:
        states = stack.client("stepfunctions")
        arn = states.start_execution(stateMachineArn=stack.physical_ids["Machine"])["executionArn"]
        until(lambda: states.describe_execution(executionArn=arn)["status"] != "RUNNING")
        ended = states.describe_execution(executionArn=arn)

    # The invocation is allowed; the function then fails because it got no event.
    assert ended["status"] == "FAILED"
    assert ("AccessDenied" in json.dumps([ended["error"], ended["cause"]])) is not granted
    assert bool(refusals) is not granted
    refusals.clear()


@pytest.mark.parametrize("granted", ["Asking", "Other"])
def test_a_task_token_is_answered_by_who_may_answer_its_state_machine(
    tmp_path: Path, refusals: list[str], granted: str
) -> None:
    message = {"QueueUrl": {"Ref": "Queue"}, "MessageBody.$": "$$.Task.Token"}
    asking = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "End": True}
    definition = {"StartAt": "Ask", "States": {"Ask": {**asking, "Parameters": message}}}
    sending = {"SQSSendMessagePolicy": {"QueueName": {"Fn::GetAtt": ["Queue", "QueueName"]}}}
    answering = {"Effect": "Allow", "Action": "states:SendTaskSuccess", "Resource": {"Ref": granted}}
    more = {
        "Queue": {"Type": "AWS::SQS::Queue"},
        "Asking": {
            "Type": "AWS::Serverless::StateMachine",
            "Properties": {"Definition": definition, "Policies": [sending]},
        },
        "Other": machine(),
    }
    with LocalStack(template(tmp_path, {"Statement": answering}, **more)) as stack:
        states = stack.client("stepfunctions")
        run = states.start_execution(stateMachineArn=stack.physical_ids["Asking"])["executionArn"]
        queue = stack.physical_ids["Queue"]
        (sent,) = stack.client("sqs").receive_message(QueueUrl=queue, WaitTimeSeconds=10)["Messages"]

        def answer() -> Any:
            return call(stack, "stepfunctions", "send_task_success", taskToken=sent["Body"], output="7")

        if granted == "Asking":
            assert answer() == 200
            until(lambda: states.describe_execution(executionArn=run)["status"] == "SUCCEEDED")
        else:
            with pytest.raises(FunctionError, match=f"SendTaskSuccess on resource: {stack.physical_ids['Asking']}"):
                answer()
    refusals.clear()


def test_a_dead_letter_queue_that_the_role_may_not_write_to_stops_the_start(
    tmp_path: Path, refusals: list[str]
) -> None:
    queue = {"Type": "AWS::SQS::Queue"}
    trust: dict[str, Any] = {"AssumeRolePolicyDocument": {"Statement": []}}
    body = yaml.safe_load(
        template(tmp_path, Queue=queue, Bare={"Type": "AWS::IAM::Role", "Properties": trust}).read_text()
    )
    body["Resources"]["Caller"]["Properties"] |= {
        "Role": {"Fn::GetAtt": ["Bare", "Arn"]},
        "DeadLetterQueue": {"Type": "SQS", "TargetArn": {"Fn::GetAtt": ["Queue", "Arn"]}},
    }
    (tmp_path / "template.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")

    with pytest.raises(TemplateError, match="may not sqs:SendMessage"), LocalStack(tmp_path / "template.yaml"):
        pass
    refusals.clear()


def test_an_explicit_deny_overrides_every_allow() -> None:
    role = Role("arn:aws:iam::1:role/r", [Statement(True, ["dynamodb:*"], ["*"]), Statement(False, ["*"], [TABLE])])

    assert role.may(Need("dynamodb:GetItem", "another"))
    assert not role.may(Need("dynamodb:GetItem", TABLE))


def test_actions_are_case_insensitive_and_resources_are_not() -> None:
    spelled = {"Effect": "Allow", "Action": "DynamoDB:getitem", "Resource": "arn:T-?"}
    role = Role("arn:aws:iam::1:role/r", statements_of({"Statement": spelled}))

    may = [role.may(Need("dynamodb:GetItem", resource)) for resource in ("arn:T-1", "arn:t-1", "arn:T-12")]

    assert may == [True, False, False]


@pytest.mark.parametrize(
    ("allowed", "may"), [("identity/a@b.example", True), ("identity/b.example", True), ("identity/c.example", False)]
)
def test_a_mail_needs_its_action_on_its_address_or_on_the_domain(allowed: str, may: bool) -> None:
    role = Role("arn:aws:iam::1:role/r", [Statement(True, ["ses:sendemail"], [f"arn:aws:ses:{HERE}:{allowed}"])])

    (need,) = needs("sesv2.SendEmail", {"FromEmailAddress": "a@b.example"}, PLACE)

    assert role.may(need) is may


def test_a_transaction_needs_the_permissions_of_its_parts() -> None:
    parts = [{"Put": {"TableName": "T"}}, {"ConditionCheck": {"TableName": TABLE}}]

    needed = needs("dynamodb.TransactWriteItems", {"TransactItems": parts}, PLACE)

    assert needed == (Need("dynamodb:PutItem", TABLE), Need("dynamodb:ConditionCheckItem", TABLE))


SENDER = f"arn:aws:ses:{HERE}:identity/"
NEEDED: list[tuple[str, dict[str, Any], Need]] = [
    ("dynamodb.Query", {"TableName": "T", "IndexName": "I"}, Need("dynamodb:Query", f"{TABLE}/index/I")),
    ("dynamodb.BatchGetItem", {"RequestItems": {"T": {}}}, Need("dynamodb:BatchGetItem", TABLE)),
    (
        "events.PutEvents",
        {"Entries": [{}]},
        Need("events:PutEvents", "arn:aws:events:eu-central-1:123456789012:event-bus/default"),
    ),
    (
        "sqs.SendMessage",
        {"QueueUrl": "https://sqs.example/123456789012/Q"},
        Need("sqs:SendMessage", "arn:aws:sqs:eu-central-1:123456789012:Q"),
    ),
    ("s3.HeadObject", {"Bucket": "b", "Key": "a/k"}, Need("s3:GetObject", "arn:aws:s3:::b/a/k")),
    ("stepfunctions.SendTaskSuccess", {"taskToken": "t"}, Need("states:SendTaskSuccess", "*")),
    ("ssm.GetParameter", {"Name": "/a/b"}, Need("ssm:GetParameter", f"arn:aws:ssm:{HERE}:parameter/a/b")),
    ("ssm.GetParameters", {"Names": ["a"]}, Need("ssm:GetParameters", f"arn:aws:ssm:{HERE}:parameter/a")),
    (
        "ses.SendEmail",
        {"Source": "A Shop <shop@a.example>"},
        Need("ses:SendEmail", f"{SENDER}shop@a.example", f"{SENDER}a.example"),
    ),
    (
        "ses.SendRawEmail",
        {"RawMessage": {"Data": b"From: shop@a.example\n\nHello"}},
        Need("ses:SendRawEmail", f"{SENDER}shop@a.example", f"{SENDER}a.example"),
    ),
    ("sqs.GetQueueUrl", {"QueueName": "q"}, Need("sqs:GetQueueUrl", f"arn:aws:sqs:{HERE}:q")),
    ("sqs.DeleteMessageBatch", {"QueueUrl": "https://a/1/q"}, Need("sqs:DeleteMessage", f"arn:aws:sqs:{HERE}:q")),
    ("dynamodb.DescribeTable", {"TableName": "t"}, Need("dynamodb:DescribeTable", f"arn:aws:dynamodb:{HERE}:table/t")),
]


@pytest.mark.parametrize(("operation", "params", "need"), NEEDED)
def test_a_call_needs_its_action_on_the_resource_that_it_names(
    operation: str, params: dict[str, Any], need: Need
) -> None:
    assert needs(operation, params, PLACE) == (need,)


def test_everybody_may_ask_who_they_are() -> None:
    assert needs("sts.GetCallerIdentity", {}, PLACE) == ()


def test_an_operation_without_known_actions_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownOperation, match=r"kms\.Decrypt"):
        needs("kms.Decrypt", {}, PLACE)


MACHINE = {"StartAt": "Done", "States": {"Done": {"Type": "Pass", "End": True}}}
START_TAGGED = {
    "Effect": "Allow",
    "Action": "states:StartExecution",
    "Resource": "*",
    "Condition": {"StringEquals": {"aws:ResourceTag/stepwire:endpoint": ["mine", "also-mine"]}},
}


def machine(**tags: str) -> Any:
    return {
        "Type": "AWS::Serverless::StateMachine",
        "Properties": {"Definition": MACHINE, "Tags": {key.replace("_", ":"): value for key, value in tags.items()}},
    }


def test_a_condition_on_a_tag_uses_the_current_tags(tmp_path: Path, refusals: list[str]) -> None:
    machines = {
        "Tagged": machine(stepwire_endpoint="mine"),
        "Foreign": machine(stepwire_endpoint="another"),
        "Untagged": machine(),
    }
    with LocalStack(template(tmp_path, {"Statement": START_TAGGED}, **machines)) as stack:
        arns = {name: stack.physical_ids[name] for name in machines}

        assert call(stack, "stepfunctions", "start_execution", stateMachineArn=arns["Tagged"]) == 200
        for name in ("Foreign", "Untagged"):
            with pytest.raises(FunctionError, match="AccessDeniedException"):
                call(stack, "stepfunctions", "start_execution", stateMachineArn=arns[name])
        stack.client("stepfunctions").untag_resource(resourceArn=arns["Tagged"], tagKeys=["stepwire:endpoint"])
        with pytest.raises(FunctionError, match="AccessDeniedException"):
            call(stack, "stepfunctions", "start_execution", stateMachineArn=arns["Tagged"])

    refusals.clear()


def test_an_execution_has_the_tags_of_its_state_machine(tmp_path: Path, refusals: list[str]) -> None:
    describe = {**START_TAGGED, "Action": ["states:StartExecution", "states:DescribeExecution"]}
    with LocalStack(template(tmp_path, {"Statement": describe}, Tagged=machine(stepwire_endpoint="mine"))) as stack:
        arn = stack.physical_ids["Tagged"]
        run = stack.client("stepfunctions").start_execution(stateMachineArn=arn)["executionArn"]

        assert call(stack, "stepfunctions", "describe_execution", executionArn=run) == 200
        stack.client("stepfunctions").untag_resource(resourceArn=arn, tagKeys=["stepwire:endpoint"])
        with pytest.raises(FunctionError, match="AccessDeniedException"):
            call(stack, "stepfunctions", "describe_execution", executionArn=run)

    refusals.clear()


def test_a_condition_on_leading_keys_holds_for_the_items_that_it_names(tmp_path: Path, refusals: list[str]) -> None:
    """L11: the template's function catalog may touch the items of the catalog alone."""
    keys = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["catalog", "catalog#*"]}}
    actions = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:BatchGetItem"]
    with LocalStack(template(tmp_path, {"Statement": {**READ, "Action": actions, "Condition": keys}})) as stack:
        table = stack.physical_ids["Table"]

        for name in ("catalog", "catalog#a"):
            assert call(stack, "dynamodb", "put_item", TableName=table, Item={"pk": {"S": name}}) == 200
            part = {"Put": {"TableName": table, "Item": {"pk": {"S": name}}}}
            assert call(stack, "dynamodb", "transact_write_items", TransactItems=[part]) == 200
        requests = [
            ("transact_write_items", {"TransactItems": [{"Put": {"TableName": table, "Item": {"pk": {"S": "b"}}}}]}),
            ("put_item", {"TableName": table, "Item": {"pk": {"S": "a-task"}}}),
            ("get_item", {"TableName": table, "Key": {"pk": {"S": "catalogue"}}}),
            ("batch_get_item", {"RequestItems": {table: {"Keys": [{"pk": {"S": "catalog"}}, {"pk": {"S": "b"}}]}}}),
        ]
        for method, parameters in requests:
            with pytest.raises(FunctionError, match="AccessDeniedException"):
                call(stack, "dynamodb", method, **parameters)

    refusals.clear()


@pytest.mark.parametrize(
    "condition",
    [
        {"StringLike": {"aws:ResourceTag/a": "b"}},
        {"StringEquals": {"aws:ResourceTag/a": "b", "aws:SourceIp": "192.0.2.1"}},
    ],
)
def test_an_unsupported_condition_allows_nothing_and_is_named(condition: Any) -> None:
    document = {"Statement": {**START_TAGGED, "Sid": "Narrow", "Condition": condition}}

    assert statements_of(document) == []
    assert unread(document) == ["Narrow with Condition"]
