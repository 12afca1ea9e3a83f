"""Task states and the other services behave as in AWS, thanks to the patches of moto."""

import json
import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.models import DynamoDBBackend
from moto.stepfunctions.parser.asl.utils import boto_client

from packages.local.tests.proving import PASS, proof, together
from packages.local.tests.simulated import Account
from stepwire_local.activity import Activity, heard_by
from stepwire_local.iam.clients import aws_client
from stepwire_local.lambdas.asynchronous import is_idle
from tests.waiting import HANG_GUARD, until

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long


@proof("tasks_share_their_clients")
def test_tasks_share_their_clients(account: Account) -> None:
    first, second = (boto_client.boto_client_for(region="us-east-1", service="sqs") for _ in range(2))

    assert first is second


@proof("parameters_are_spelled_either_way")
def test_a_workflow_starts_another_and_takes_its_output(account: Account) -> None:
    inner = account.machine({"Type": "Pass", "Result": {"answer": 42}})
    parameters: dict[str, Any] = {"StateMachineArn": inner, "Input": {}}
    start = {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2", "Parameters": parameters}

    described = account.ended(account.start(account.machine(start)))

    assert json.loads(described["output"])["Output"] == {"answer": 42}


@proof("dynamodb_takes_plain_texts")
def test_an_item_may_have_plain_texts_and_nulls(account: Account) -> None:
    item = {"pk.$": "$.id", "kind": "note", "size": {"N": "1"}, "none": None}
    parameters = {"TableName": account.table(), "Item": item}
    put = {"Type": "Task", "Resource": "arn:aws:states:::dynamodb:putItem", "Parameters": parameters}

    account.ended(account.start(account.machine(put), {"id": "a"}))

    (put_item,) = account.tables.scan(TableName=parameters["TableName"])["Items"]
    assert put_item == {"pk": {"S": "a"}, "kind": {"S": "note"}, "size": {"N": "1"}}


@proof("dynamodb_tells_of_its_response")
def test_a_result_of_dynamodb_has_its_http_status(account: Account) -> None:
    parameters = {"TableName": account.table(), "Item": {"pk": {"S": "a"}}}
    put = {"Type": "Task", "Resource": "arn:aws:states:::dynamodb:putItem", "Parameters": parameters}

    described = account.ended(account.start(account.machine(put)))

    assert json.loads(described["output"])["SdkHttpMetadata"]["HttpStatusCode"] == 200


@proof("expressions_are_evaluated")
def test_variables_keep_what_was_assigned_to_them(account: Account) -> None:
    text = "quotes \"' and \\ and \n; and $x:=1;"
    assign = {"Type": "Pass", "Assign": {"text": "{% $states.input.text %}", "nothing": None}}
    read = {"Type": "Pass", "Output": {"text": "{% $text %}", "null": "{% $nothing = null %}", "id": "{% $uuid() %}"}}

    described = account.ended(account.start(account.machine(assign, read, QueryLanguage="JSONata"), {"text": text}))

    output = json.loads(described["output"])
    assert (output["text"], output["null"]) == (text, True)
    assert str(uuid.UUID(output["id"])) == output["id"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$hash('a', 'SHA-256')", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
        ("$parse('{\"a\": [1]}').a[0]", 1),
        ("$partition([1,2,3], 2)", [[1, 2], [3]]),
        ("$range(1, 5, 2)", [1, 3, 5]),
        ("$sum($states.input.numbers)", 6),
        ("($y := 2; $y * 2)", 4),
        ("$exists($states.input.nothing)", False),
    ],
)
def test_an_expression_is_evaluated(account: Account, expression: str, value: Any) -> None:
    state = {"Type": "Pass", "Output": f"{{% {expression} %}}"}
    execution = account.start(account.machine(state, QueryLanguage="JSONata"), {"numbers": [1, 2, 3]})

    assert json.loads(account.ended(execution)["output"]) == value


@proof("failed_expressions_have_their_error")
def test_an_expression_that_fails_has_an_error_name(account: Account) -> None:
    state = {"Type": "Pass", "Output": "{% $sum('a') %}"}
    execution = account.start(account.machine(state, QueryLanguage="JSONata"))

    described = account.ended(execution)

    assert (described["status"], described["error"]) == ("FAILED", "States.QueryEvaluationError")


def test_a_large_input_does_not_slow_an_expression_down(account: Account) -> None:
    state = {"Type": "Pass", "Output": "{% $length($states.input.text) %}"}
    execution = account.start(account.machine(state, QueryLanguage="JSONata"), {"text": 'a"\n' * 50_000})

    assert account.ended(execution)["output"] == "150000"


@proof("invoking_runs_the_code")
def test_a_task_runs_the_functions_code(account: Account) -> None:
    function = account.function(GREETING="hello")
    task = {"Type": "Task", "Resource": function.settings.arn}

    described = account.ended(account.start(account.machine(task), {"a": 1}))

    assert json.loads(described["output"])["greeting"] == "hello"


def test_an_exceptions_name_can_be_caught(account: Account) -> None:
    function = account.function()
    refused = {"ErrorEquals": ["Refused"], "Next": "S1", "ResultPath": "$.error"}
    task = {"Type": "Task", "Resource": function.settings.arn, "Catch": [refused]}

    described = account.ended(account.start(account.machine(task, PASS), {"refuse": "not today"}))

    error = json.loads(described["output"])["error"]
    assert error["Error"] == "Refused"
    assert json.loads(error["Cause"])["errorMessage"] == "not today"


@proof("rules_reach_their_targets")
def test_an_event_reaches_the_function_that_a_rule_names(account: Account) -> None:
    function = account.function()
    account.rule_to(function.settings.arn, {"source": ["test"]})

    account.rules.put_events(Entries=[{"Source": "test", "DetailType": "d", "Detail": '{"a": 1}'}])

    until(lambda: json.loads(function.invoke("{}").payload)["calls"] > 1)


@proof("topics_reach_their_subscribers")
def test_a_message_reaches_the_function_that_a_topic_names(account: Account) -> None:
    function = account.function()
    topics = aws_client("sns", "us-east-1")
    topic = topics.create_topic(Name="topic")["TopicArn"]
    topics.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=function.settings.arn)

    topics.publish(TopicArn=topic, Message="hello")
    until(lambda: is_idle([function]))

    assert json.loads(function.invoke("{}").payload)["calls"] > 1


@proof("mails_are_shown")
@pytest.mark.usefixtures("account")
def test_a_mail_is_shown() -> None:
    told: list[Activity] = []

    with heard_by(told.append):
        aws_client("ses", "us-east-1").send_email(
            Source="a@example.com",
            Destination={"ToAddresses": ["b@example.com"]},
            Message={"Subject": {"Data": "Hello"}, "Body": {"Text": {"Data": "you"}}},
        )

    assert [(one.kind, one.target) for one in told] == [("mail", "b@example.com")]


@proof("buckets_reach_their_targets")
def test_an_object_reaches_the_function_that_its_bucket_names(account: Account) -> None:
    function = account.function()
    buckets = aws_client("s3", "us-east-1")
    buckets.create_bucket(Bucket="bucket")
    told = {"LambdaFunctionArn": function.settings.arn, "Events": ["s3:ObjectCreated:*"]}
    buckets.put_bucket_notification_configuration(
        Bucket="bucket", NotificationConfiguration={"LambdaFunctionConfigurations": [told]}
    )

    buckets.put_object(Bucket="bucket", Key="a/b", Body=b"c")
    until(lambda: is_idle([function]))

    assert json.loads(function.invoke("{}").payload)["calls"] > 1


@proof("delete_markers_are_events")
def test_a_delete_marker_is_an_event(account: Account) -> None:
    buckets, queue = aws_client("s3", "us-east-1"), account.queue()
    arn = account.queues.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    buckets.create_bucket(Bucket="bucket")
    buckets.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Enabled"})
    told = {"QueueArn": arn, "Events": ["s3:ObjectRemoved:*"]}
    buckets.put_bucket_notification_configuration(
        Bucket="bucket", NotificationConfiguration={"QueueConfigurations": [told]}
    )

    buckets.put_object(Bucket="bucket", Key="a", Body=b"c")
    buckets.delete_object(Bucket="bucket", Key="a")

    names = [one["Records"][0]["eventName"] for one in account.messages(queue, 2) if "Records" in one]
    assert names == ["ObjectRemoved:DeleteMarkerCreated"]


def test_a_disabled_rule_invokes_nothing(account: Account) -> None:
    function = account.function()
    account.rules.disable_rule(Name=account.rule_to(function.settings.arn, {"source": ["test"]}))

    account.rules.put_events(Entries=[{"Source": "test", "DetailType": "d", "Detail": "{}"}])

    assert json.loads(function.invoke("{}").payload)["calls"] == 1


def reader_of_events(account: Account, pattern: dict[str, Any]) -> Callable[[], list[Any]]:
    """Connect a queue to a rule, and return a function that reads it; rules write to a queue at once."""
    queues: Any = aws_client("sqs", "us-east-1")
    name = f"reader_of_events-{uuid.uuid4()}"
    url = queues.create_queue(QueueName=name)["QueueUrl"]
    account.rule_to(f"arn:aws:sqs:us-east-1:123456789012:{name}", pattern)

    def read() -> list[Any]:
        found = queues.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        return [json.loads(one["Body"])["detail"] for one in found]

    return read


@proof("changes_of_parameters_are_events")
def test_a_rule_matches_each_change_of_a_parameter(account: Account) -> None:
    name = f"/of/{uuid.uuid4()}"
    read = reader_of_events(account, {"source": ["aws.ssm"], "detail": {"name": [name]}})
    parameters: Any = aws_client("ssm", "us-east-1")

    parameters.put_parameter(Name=name, Value="1", Type="String")
    parameters.put_parameter(Name=name, Value="2", Type="String", Overwrite=True)
    parameters.delete_parameter(Name=name)
    parameters.put_parameter(Name=name, Value="3", Type="String")
    parameters.delete_parameters(Names=[name])

    assert sorted(one["operation"] for one in read()) == ["Create", "Create", "Delete", "Delete", "Update"]


@proof("values_of_parameters_have_a_limit")
def test_a_value_that_is_larger_than_its_tier_allows_is_refused(account: Account) -> None:
    parameters: Any = aws_client("ssm", "us-east-1")
    name = f"/of/{uuid.uuid4()}"
    sizes = {"Standard": 4096, "Advanced": 8192, "Intelligent-Tiering": 8192}

    for tier, most in sizes.items():
        parameters.put_parameter(Name=f"{name}/{tier}", Value="x" * most, Type="String", Tier=tier)
        with pytest.raises(ClientError, match=f"maximum parameter value of {most}"):
            parameters.put_parameter(Name=f"{name}/too-large/{tier}", Value="x" * (most + 1), Type="String", Tier=tier)
    with pytest.raises(ClientError, match="Standard tier"):
        parameters.put_parameter(Name=f"{name}/usual", Value="x" * 4097, Type="String")


@proof("values_of_parameters_name_no_other")
def test_a_value_that_would_name_another_parameter_is_refused(account: Account) -> None:
    parameters: Any = aws_client("ssm", "us-east-1")
    name = f"/of/{uuid.uuid4()}"

    parameters.put_parameter(Name=f"{name}/good", Value="{ {a} } \\u007b{a}}", Type="String")
    with pytest.raises(ClientError, match="can't nest another parameter"):
        parameters.put_parameter(Name=f"{name}/bad", Value="Hello {{name}}", Type="String")


@proof("changes_of_tags_are_events")
def test_a_rule_matches_each_change_of_the_tags_of_a_state_machine(account: Account) -> None:
    machine = account.machine(PASS)
    read = reader_of_events(
        account, {"source": ["aws.tag"], "resources": [machine], "detail": {"changed-tag-keys": ["mine"]}}
    )
    states: Any = aws_client("stepfunctions", "us-east-1")

    states.tag_resource(resourceArn=machine, tags=[{"key": "mine", "value": "1"}])
    states.untag_resource(resourceArn=machine, tagKeys=["mine"])

    assert sorted(one["tags"].get("mine", "") for one in read()) == ["", "1"]


@proof("calls_take_turns")
def test_calls_to_tables_take_turns(
    account: Account, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    name = account.table()
    # Without the patch, a second call soon enters; with it, none does.
    patience = HANG_GUARD if request.node.callspec.params["account"] else 0.02
    another = threading.Event()
    inside: list[int] = []
    busy: list[int] = []
    original: Any = DynamoDBBackend.put_item

    def put_item(*arguments: Any, **settings: Any) -> Any:
        inside.append(1)
        if len(inside) > 1:
            another.set()
        another.wait(patience)
        busy.append(len(inside))
        inside.pop()
        return original(*arguments, **settings)

    monkeypatch.setattr(DynamoDBBackend, "put_item", put_item)
    together(lambda: account.tables.put_item(TableName=name, Item={"pk": {"S": "a"}}), 4)

    assert busy == [1, 1, 1, 1]


def test_one_of_several_conditional_writes_wins(account: Account, impatient_threads: None) -> None:
    name = account.table()

    def put(key: str) -> Any:
        item = {"pk": {"S": key}}
        return account.tables.put_item(TableName=name, Item=item, ConditionExpression="attribute_not_exists(pk)")

    for key in map(str, range(20)):
        results = together(lambda key=key: put(key), 4)
        assert sum(isinstance(result, dict) for result in results) == 1
