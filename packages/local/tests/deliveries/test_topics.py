"""What is published to a topic reaches its subscribers: functions, queues, and URLs on this machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from packages.local.tests.applications import Application, arn, function, resource, served
from stepwire_local.stack import FunctionError

TOPIC = {"Ref": "Topic"}
PUBLISHES = """
import boto3
import os

def handler(event, context):
    return boto3.client("sns").publish(TopicArn=os.environ["TOPIC"], Message=event)["MessageId"]
"""


def listener(**properties: Any) -> dict[str, Any]:
    """Return a function with an event of type SNS."""
    return function(Events={"Said": {"Type": "SNS", "Properties": {"Topic": TOPIC, **properties}}})


def publisher(*policies: Any) -> dict[str, Any]:
    return function("publishes", Policies=list(policies), Environment={"Variables": {"TOPIC": TOPIC}})


def publish(application: Application, message: str, topic: str = "Topic", **more: Any) -> None:
    application.stack.client("sns").publish(TopicArn=application.stack.physical_ids[topic], Message=message, **more)


def attribute(value: str) -> dict[str, Any]:
    return {"kind": {"DataType": "String", "StringValue": value}}


def test_a_function_gets_what_another_publishes(tmp_path: Path) -> None:
    topic = resource("SNS::Topic", DisplayName="Orders")
    policy = {"SNSPublishMessagePolicy": {"TopicName": {"Fn::GetAtt": ["Topic", "TopicName"]}}}
    resources = {"Topic": topic, "Listener": listener(), "Publisher": publisher(policy)}

    with served(tmp_path, resources, {"publishes/app.py": PUBLISHES}) as application:
        message_id = application.stack.invoke("Publisher", "hello")
        ((record,),) = [event["Records"] for event in application.seen("Listener")]
        arn_of_topic = application.stack.physical_ids["Topic"]

    sns = record["Sns"]
    assert record["EventSource"] == "aws:sns"
    assert record["EventSubscriptionArn"].startswith(f"{arn_of_topic}:")
    assert (sns["MessageId"], sns["TopicArn"], sns["Message"]) == (message_id, arn_of_topic, "hello")
    assert (sns["Subject"], sns["MessageAttributes"]) == (None, {})
    assert {"SigningCertUrl", "UnsubscribeUrl", "Timestamp", "Type"} <= sns.keys()
    assert [(one.kind, one.source, one.target) for one in application.told] == [("topic", "Topic", "Listener")]


def test_a_role_without_the_permission_cannot_publish(tmp_path: Path, refusals: list[str]) -> None:
    resources = {"Topic": resource("SNS::Topic"), "Publisher": publisher()}

    with (
        served(tmp_path, resources, {"publishes/app.py": PUBLISHES}) as application,
        pytest.raises(FunctionError, match=r"AuthorizationError.*is not authorized to perform: sns:Publish"),
    ):
        application.stack.invoke("Publisher", "hello")
    refusals.clear()


@pytest.mark.parametrize(("allowed", "status"), [(True, "SUCCEEDED"), (False, "FAILED")])
def test_a_state_machine_publishes_if_its_role_may(
    tmp_path: Path, refusals: list[str], allowed: bool, status: str
) -> None:
    parameters = {"TopicArn": TOPIC, "Message": {"order.$": "$.order"}, "Subject": "An order"}
    state = {"Type": "Task", "Resource": "arn:aws:states:::sns:publish", "Parameters": parameters, "End": True}
    machine = {
        "Definition": {"StartAt": "Say", "States": {"Say": state}},
        "Policies": [
            {"Statement": {"Effect": "Allow", "Action": "sns:Publish", "Resource": TOPIC if allowed else "x"}}
        ],
    }
    resources = {
        "Topic": resource("SNS::Topic"),
        "Listener": listener(),
        "Machine": resource("Serverless::StateMachine", **machine),
    }

    with served(tmp_path, resources) as application:
        workflows = application.stack.client("stepfunctions")
        given = {"stateMachineArn": application.stack.physical_ids["Machine"], "input": '{"order": 7}'}
        execution = workflows.start_execution(**given)["executionArn"]
        while (described := workflows.describe_execution(executionArn=execution))["status"] == "RUNNING":
            pass
        seen = application.seen("Listener")

    assert described["status"] == status
    assert len(refusals) == (not allowed)
    refusals.clear()
    assert [json.loads(event["Records"][0]["Sns"]["Message"]) for event in seen] == [{"order": 7}] * allowed


def test_a_queue_gets_the_message_in_its_envelope_or_raw(tmp_path: Path) -> None:
    raw = {"Protocol": "sqs", "TopicArn": TOPIC, "Endpoint": arn("Raw"), "RawMessageDelivery": True}
    resources = {
        "Topic": resource("SNS::Topic", Subscription=[{"Protocol": "sqs", "Endpoint": arn("Wrapped")}]),
        "Wrapped": resource("SQS::Queue"),
        "Raw": resource("SQS::Queue"),
        "Plain": resource("SNS::Subscription", **raw),
        "Policy": resource("SNS::TopicPolicy", Topics=[TOPIC], PolicyDocument={}),
    }

    with served(tmp_path, resources) as application:
        publish(application, '"hello"', Subject="Said", MessageAttributes=attribute("order"))
        (wrapped,), plain = application.messages("Wrapped"), application.messages("Raw")

    assert plain == ["hello"]
    assert (wrapped["Type"], wrapped["Message"], wrapped["Subject"]) == ("Notification", '"hello"', "Said")
    assert wrapped["MessageAttributes"] == {"kind": {"Type": "String", "Value": "order"}}


@pytest.mark.parametrize(
    ("properties", "messages", "passed"),
    [
        ({"FilterPolicy": {"kind": ["order"]}}, {"a": "order", "b": "bill"}, ["a"]),
        ({"FilterPolicy": {"size": [{"numeric": [">", 3]}]}, "FilterPolicyScope": "MessageBody"}, {}, ['{"size": 5}']),
    ],
)
def test_a_filter_lets_through_what_it_names(
    tmp_path: Path, properties: dict[str, Any], messages: dict[str, str], passed: list[str]
) -> None:
    resources = {"Topic": resource("SNS::Topic"), "Listener": listener(**properties)}

    with served(tmp_path, resources) as application:
        for text, kind in messages.items():
            publish(application, text, MessageAttributes=attribute(kind))
        for text in ('{"size": 2}', '{"size": 5}'):
            publish(application, text)
        seen = application.seen("Listener")

    assert [event["Records"][0]["Sns"]["Message"] for event in seen] == passed


class Posted(BaseHTTPRequestHandler):
    """Keeps what is posted to it; it refuses the first post."""

    got: list[tuple[str, dict[str, Any]]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.got.append((self.headers["x-amz-sns-message-type"], json.loads(body)))
        self.send_response(200 if len(self.got) > 1 else 500)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the library gives it
        """Print nothing."""


@pytest.fixture
def posts() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """Serve a URL; yield it and what was posted there."""
    got: list[tuple[str, dict[str, Any]]] = []
    server = HTTPServer(("127.0.0.1", 0), type("Server", (Posted,), {"got": got}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/said", got
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_url_on_this_machine_gets_a_post_which_is_repeated(
    tmp_path: Path, posts: tuple[str, list[tuple[str, dict[str, Any]]]]
) -> None:
    url, got = posts
    topic = resource("SNS::Topic", Subscription=[{"Protocol": "http", "Endpoint": url}])

    with served(tmp_path, {"Topic": topic}) as application:
        publish(application, "hello")
        application.stack.drain()

    assert [(kind, body["Message"]) for kind, body in got] == [("Notification", "hello")] * 2


def test_a_message_that_reaches_nobody_goes_to_the_dead_letter_queue(tmp_path: Path) -> None:
    gone = "arn:aws:sqs:us-east-1:123456789012:gone"
    redrive = {"RedrivePolicy": {"deadLetterTargetArn": arn("Dead")}}
    subscription = {"TopicArn": TOPIC, "Protocol": "sqs", "Endpoint": gone, "RawMessageDelivery": True, **redrive}
    resources = {
        "Topic": resource("SNS::Topic"),
        "Dead": resource("SQS::Queue"),
        "Gone": resource("SNS::Subscription", **subscription),
    }

    with served(tmp_path, resources) as application:
        publish(application, '"hello"')

        assert application.messages("Dead") == ["hello"]


def test_a_topic_gets_what_a_function_failed_to_process(tmp_path: Path) -> None:
    fails = function("fails", DeadLetterQueue={"Type": "SNS", "TargetArn": TOPIC})
    topic = resource("SNS::Topic", Subscription=[{"Protocol": "sqs", "Endpoint": arn("Dead")}])
    resources = {"Topic": topic, "Dead": resource("SQS::Queue"), "Fails": fails}
    code = "def handler(event, context):\n    raise ValueError(event)"

    with served(tmp_path, resources, {"fails/app.py": code}) as application:
        name = application.stack.physical_ids["Fails"]
        application.stack.client("lambda").invoke(FunctionName=name, InvocationType="Event", Payload='"no"')
        (letter,) = application.messages("Dead")

    assert letter["Message"] == '"no"'
    assert letter["MessageAttributes"]["ErrorMessage"] == {"Type": "String", "Value": "no"}


def test_an_event_that_is_lost_is_said_with_the_function_and_the_cause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = "def handler(event, context):\n    raise ValueError(event)"

    with served(tmp_path, {"Fails": function("fails")}, {"fails/app.py": code}) as application:
        name = application.stack.physical_ids["Fails"]
        application.stack.client("lambda").invoke(FunctionName=name, InvocationType="Event", Payload='"no"')
        application.stack.drain()

    (line,) = [one for one in caplog.messages if "lost" in one]
    assert line == "An event is lost: Fails failed 3 times, and has no DeadLetterQueue. ValueError: no"


@pytest.mark.parametrize(
    ("protocol", "endpoint", "why", "told"),
    [
        ("email", "a@example.com", "only functions, queues and URLs on this machine do", "email is not served"),
        ("https", "https://example.com/said", "only URLs on this machine do", "only URLs on this machine get messages"),
        ("lambda", "arn:aws:lambda:us-east-1:123456789012:function:gone", "no template here has this function", None),
    ],
)
def test_a_subscription_that_gets_nothing_is_named_at_the_start_and_the_rest_is_served(
    tmp_path: Path, protocol: str, endpoint: str, why: str, told: str | None
) -> None:
    subscription = {"TopicArn": TOPIC, "Protocol": protocol, "Endpoint": endpoint}
    resources = {
        "Topic": resource("SNS::Topic"),
        "Nowhere": resource("SNS::Subscription", **subscription),
        "Listener": listener(),
    }

    with served(tmp_path, resources) as application:
        publish(application, "Say yes:\n  https://an.example/yes", Subject="An order")
        (note,) = application.stack.not_served

        assert len(application.seen("Listener")) == 1
    shown = [one.about for one in application.told if one.target == endpoint]
    assert shown == (
        [] if told is None else [f"not delivered: {told}. Subject: An order. Text: Say yes: https://an.example/yes"]
    )
    assert note == f"Nowhere: {protocol} {endpoint} gets no messages: {why}"


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"TopicArn": "arn:aws:sns:us-east-1:123456789012:gone"}, "Topic does not exist"),
        ({"TopicArn": TOPIC, "FilterPolicy": {"kind": "order"}}, "FilterPolicy"),
        ({}, "needs the property 'TopicArn'"),
    ],
)
def test_a_subscription_that_cannot_be_made_is_one_line(tmp_path: Path, properties: dict[str, Any], words: str) -> None:
    subscription = {"Protocol": "sqs", "Endpoint": arn("Queue"), **properties}
    resources = {
        "Topic": resource("SNS::Topic"),
        "Queue": resource("SQS::Queue"),
        "Wrong": resource("SNS::Subscription", **subscription),
    }

    with served(tmp_path, resources) as application:
        (note,) = application.stack.not_served

    assert note.startswith("Wrong: ")
    assert words in note
    assert note.endswith("AWS::SNS::Subscription is not served so.")


def test_changes_of_a_topic_are_taken_over(tmp_path: Path) -> None:
    subscription = {"Protocol": "sqs", "Endpoint": arn("Queue")}
    resources = {"Topic": resource("SNS::Topic"), "Queue": resource("SQS::Queue")}
    template = tmp_path / "template.json"

    with served(tmp_path, resources) as application:
        for subscribed in ([], [subscription], []):
            changed = {**resources, "Topic": resource("SNS::Topic", Subscription=subscribed)}
            template.write_text(json.dumps({"Resources": changed}), encoding="utf-8")
            application.stack.update(application.stack.deployments[0])
            publish(application, '"hello"')

        assert len(application.messages("Queue")) == 1
