"""What happens to the objects of a bucket reaches functions, queues, topics, and rules of EventBridge."""

import json
from pathlib import Path
from typing import Any

import pytest

from packages.local.tests.applications import Application, arn, function, resource, served
from tests.waiting import until

BUCKET = {"Ref": "Bucket"}
CREATED = "s3:ObjectCreated:*"
WRITES = """
import boto3
import os

def handler(event, context):
    s3, bucket = boto3.client("s3"), os.environ["BUCKET"]
    s3.put_object(Bucket=bucket, Key=event, Body=b"content")
    s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": event})
    upload = {"Bucket": bucket, "Key": "large"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    part = s3.upload_part(Body=b"part", PartNumber=1, **upload)
    done = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    s3.complete_multipart_upload(MultipartUpload=done, **upload)
    s3.delete_object(Bucket=bucket, Key="copy")
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "large"}]})
"""


def listener(*events: str, rules: tuple[dict[str, str], ...] = ()) -> dict[str, Any]:
    """Return a function with an event of type S3."""
    chosen = {"Filter": {"S3Key": {"Rules": list(rules)}}} if rules else {}
    happened = {"Bucket": BUCKET, "Events": list(events), **chosen}
    return function(Events={"Happened": {"Type": "S3", "Properties": happened}})


def put(application: Application, *keys: str) -> None:
    s3 = application.stack.client("s3")
    for key in keys:
        s3.put_object(Bucket=application.stack.physical_ids["Bucket"], Key=key, Body=b"content")


def names(events: list[Any]) -> list[tuple[str, str]]:
    records = [record for event in events for record in event.get("Records", ())]
    return sorted((one["eventName"], one["s3"]["object"]["key"]) for one in records)


def test_a_function_gets_what_another_does_with_objects(tmp_path: Path) -> None:
    name = "objects-of-a-test"
    writer = function(
        "writes",
        Policies=[{"S3CrudPolicy": {"BucketName": name}}],
        Environment={"Variables": {"BUCKET": name}},
    )
    resources = {
        "Bucket": resource("S3::Bucket", BucketName=name),
        "Listener": listener(CREATED, "s3:ObjectRemoved:Delete"),
        "Writer": writer,
    }

    with served(tmp_path, resources, {"writes/app.py": WRITES}) as application:
        application.stack.invoke("Writer", "in/a file.txt")
        events = application.seen("Listener")

    assert names(events) == [
        ("ObjectCreated:CompleteMultipartUpload", "large"),
        ("ObjectCreated:Copy", "copy"),
        ("ObjectCreated:Put", "in/a+file.txt"),
        ("ObjectRemoved:Delete", "copy"),
        ("ObjectRemoved:Delete", "large"),
    ]
    record = next(one["Records"][0] for one in events if one["Records"][0]["eventName"] == "ObjectCreated:Put")
    assert (record["eventSource"], record["awsRegion"], record["s3"]["bucket"]["name"]) == ("aws:s3", "us-east-1", name)
    assert record["s3"]["object"]["size"] == len("content")
    told = next(one for one in application.told if one.about == "ObjectCreated:Put in/a file.txt")
    assert (told.kind, told.source, told.target) == ("bucket", "Bucket", "Listener")


def test_a_filter_lets_through_keys_with_its_prefix_and_suffix(tmp_path: Path) -> None:
    rules = ({"Name": "prefix", "Value": "in/"}, {"Name": "suffix", "Value": ".csv"})
    resources = {"Bucket": resource("S3::Bucket"), "Listener": listener("s3:ObjectCreated:Put", rules=rules)}

    with served(tmp_path, resources) as application:
        put(application, "in/a.csv", "in/a.txt", "out/a.csv")

        assert names(application.seen("Listener")) == [("ObjectCreated:Put", "in/a.csv")]


def test_queues_and_topics_get_notifications(tmp_path: Path) -> None:
    subscription = {"TopicArn": {"Ref": "Topic"}, "Protocol": "lambda", "Endpoint": arn("Listener")}
    told = {
        "QueueConfigurations": [{"Event": CREATED, "Queue": arn("Queue")}],
        "TopicConfigurations": [{"Event": CREATED, "Topic": {"Ref": "Topic"}}],
    }
    resources = {
        "Bucket": resource("S3::Bucket", NotificationConfiguration=told),
        "Queue": resource("SQS::Queue"),
        "Topic": resource("SNS::Topic"),
        "Subscription": resource("SNS::Subscription", **subscription),
        "Listener": function(),
    }

    with served(tmp_path, resources) as application:
        put(application, "a")
        queued = names(application.messages("Queue"))
        published = [event["Records"][0]["Sns"] for event in application.seen("Listener")]

    assert queued == [("ObjectCreated:Put", "a")]
    sent = [(one["Subject"], json.loads(one["Message"])) for one in published]
    assert [names([message]) for subject, message in sent if subject == "Amazon S3 Notification"] == [queued]


def test_an_object_starts_a_state_machine_through_event_bridge(tmp_path: Path) -> None:
    pattern = {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"bucket": {"name": [BUCKET]}, "object": {"key": [{"suffix": ".csv"}]}},
    }
    machine = {
        "Definition": {"StartAt": "End", "States": {"End": {"Type": "Succeed"}}},
        "Events": {"Uploaded": {"Type": "EventBridgeRule", "Properties": {"Pattern": pattern}}},
    }
    bridge = {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}
    versioned = {"VersioningConfiguration": {"Status": "Enabled"}}
    resources = {
        "Bucket": resource("S3::Bucket", NotificationConfiguration=bridge, **versioned),
        "Machine": resource("Serverless::StateMachine", **machine),
    }

    with served(tmp_path, resources) as application:
        put(application, "a.csv", "a.txt")
        workflows = application.stack.client("stepfunctions")
        arn_of_machine = application.stack.physical_ids["Machine"]
        (one,) = until(lambda: workflows.list_executions(stateMachineArn=arn_of_machine)["executions"])
        given = json.loads(workflows.describe_execution(executionArn=one["executionArn"])["input"])

    detail = given["detail"]
    assert (given["source"], given["detail-type"]) == ("aws.s3", "Object Created")
    assert (detail["object"]["key"], detail["object"]["size"], detail["reason"]) == ("a.csv", 7, "PutObject")
    assert {"etag", "version-id", "sequencer"} <= detail["object"].keys()


def test_a_rule_whose_role_may_not_start_the_state_machine_says_so(
    tmp_path: Path, refusals: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    trust = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}}]}
    target = {"Id": "machine", "Arn": {"Ref": "Machine"}, "RoleArn": arn("Role")}
    machine = {"Definition": {"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}}
    resources = {
        "Role": resource("IAM::Role", AssumeRolePolicyDocument=trust),
        "Rule": resource("Events::Rule", EventPattern={"source": ["test"]}, Targets=[target]),
        "Machine": resource("Serverless::StateMachine", **machine),
    }

    with served(tmp_path, resources) as application:
        entry = {"Source": "test", "DetailType": "d", "Detail": "{}"}
        application.stack.client("events").put_events(Entries=[entry])

    assert "The rule Rule cannot reach Machine" in caplog.text
    assert "is not authorized to perform: states:StartExecution" in caplog.text
    refusals.clear()


GONE = "arn:aws:lambda:us-east-1:123456789012:function:gone"


@pytest.mark.parametrize(
    ("kind", "told", "note"),
    [
        ("Lambda", {"Event": CREATED, "Function": GONE}, f"{GONE} gets no events of the bucket: no template here has"),
        ("Lambda", {"Event": "s3:Nothing:*", "Function": arn("Listener")}, "s3:Nothing:* is no event of S3"),
        ("Queue", {"Event": CREATED, "Queue": "arn:aws:sqs:eu-west-1:1:q"}, "in another Region than us-east-1"),
        (
            "Lambda",
            {
                "Event": CREATED,
                "Function": arn("Listener"),
                "Filter": {"S3Key": {"Rules": [{"Name": "x", "Value": "y"}]}},
            },
            "a rule of its filter is neither a prefix nor a suffix",
        ),
    ],
)
def test_a_notification_that_cannot_be_served_is_named_at_the_start_and_the_rest_is_served(
    tmp_path: Path, kind: str, told: dict[str, Any], note: str
) -> None:
    good = {"Event": CREATED, "Function": arn("Listener")}
    configured: dict[str, list[Any]] = {"LambdaConfigurations": [good]}
    configured.setdefault(f"{kind}Configurations", []).append(told)
    resources = {"Bucket": resource("S3::Bucket", NotificationConfiguration=configured), "Listener": function()}

    with served(tmp_path, resources) as application:
        put(application, "a")
        (noted,) = application.stack.not_served

        assert names(application.seen("Listener")) == [("ObjectCreated:Put", "a")]
    assert noted.startswith("Bucket: ")
    assert note in noted


def test_changes_of_notifications_are_taken_over(tmp_path: Path) -> None:
    told = {"QueueConfigurations": [{"Event": CREATED, "Queue": arn("Queue")}]}
    resources = {"Bucket": resource("S3::Bucket"), "Queue": resource("SQS::Queue")}

    with served(tmp_path, resources) as application:
        for key, properties in (("a", {"NotificationConfiguration": told}), ("b", {})):
            changed = {**resources, "Bucket": resource("S3::Bucket", **properties)}
            (tmp_path / "template.json").write_text(json.dumps({"Resources": changed}), encoding="utf-8")
            application.stack.update(application.stack.deployments[0])
            put(application, key)

        assert names(application.messages("Queue")) == [("ObjectCreated:Put", "a")]
