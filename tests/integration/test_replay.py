"""Replaying the dead-letter queue delivers its messages to their tasks, or says why it cannot."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from stepwire_cli.extras import parts
from stepwire_cli.operate import dead_letters
from stepwire_cli.operate.dead_letters import Fate, Replay, Stack, stack_named
from stepwire_local import never
from stepwire_local.account.isolation import REGION
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.recorded import recorded
from tests.server.clients import ModernClient
from tests.template.chosen import ON
from tests.template.document import resource

TOOL = "wait_and_echo"
LONG = {"message": "hello", "seconds": 600}
ENDED = "Step Functions Execution Status Change"


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    """The root template, where EventBridge and the stream deliver nothing."""
    quiet = {"WaitSeconds": "0", "REPAIR_AFTER_SECONDS": "3600", "STATE_AFTER_SECONDS": "0", "EventBus": "default"}
    with deployed(ROOT / "stack.yaml", never, **ON, **quiet) as stack:
        for mapping in stack.stack.deployments[0].world.mappings:
            mapping.stop()
        yield stack


def streams_client() -> Any:
    """Return a client of the stream; moto does not serve endpoints with an account id."""
    session: Any = boto3.Session()
    return session.client("dynamodbstreams", REGION, config=Config(account_id_endpoint_mode="disabled"))


class Session:
    """Creates clients of the stack's account; its streams fail with an error if one is given."""

    def __init__(self, stack: Deployed, error: str | None = None) -> None:
        self._stack = stack
        self._error = error

    def client(self, service: str) -> Any:
        if service != "dynamodbstreams":
            return self._stack.stack.client(service)
        client = streams_client()
        if self._error:
            stubber = Stubber(client)
            stubber.add_client_error("get_shard_iterator", self._error)
            stubber.activate()
        return client


@dataclass(frozen=True)
class Queue:
    """A dead-letter queue of the stack, for one test."""

    stack: Deployed
    url: str

    def send(self, body: object) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.stack.stack.client("sqs").send_message(QueueUrl=self.url, MessageBody=text)

    def replay(self, session: Session | None = None, **how: bool) -> list[tuple[str, Fate]]:
        """Replay the queue; return the outcome of each message."""
        names = self.stack.stack.physical_ids
        functions = ("ExecutionEventsFunction", "ExpirationsFunction", "CatalogFunction", "StatusChangesFunction")
        queues = {part.QUEUE: names[part.QUEUE] for part in parts("letters")}
        found = Stack(self.url, *(names[function] for function in functions), queues=queues)
        run = Replay(found, session or Session(self.stack), **how).run()
        return [(letter.about, letter.fate) for letter in run]

    def left(self) -> int:
        """Return the number of messages, including invisible ones."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        sqs = self.stack.stack.client("sqs")
        counts = sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return sum(int(count) for count in counts.values())


@pytest.fixture
def queue(stack: Deployed, monkeypatch: pytest.MonkeyPatch) -> Queue:
    monkeypatch.setattr(dead_letters, "WAIT", 0)
    return Queue(stack, stack.stack.client("sqs").create_queue(QueueName=f"replay-{uuid.uuid4()}")["QueueUrl"])


def let_expire(stack: Deployed, function: str = "ExpirationsFunction") -> dict[str, Any]:
    """Expire the existing tasks, and return the dead letter that Lambda writes if the function fails for good."""
    dynamodb, streams = stack.stack.client("dynamodb"), streams_client()
    arn = dynamodb.describe_table(TableName=stack.stack.physical_ids["TasksTable"])["Table"]["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    stack.stack.expire(at=datetime.now(UTC) + timedelta(days=3))
    start = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    records = streams.get_records(ShardIterator=start["ShardIterator"])["Records"]
    removed = [one["dynamodb"]["SequenceNumber"] for one in records if one["eventName"] == "REMOVE"]
    where = {"shardId": shard, "startSequenceNumber": removed[0], "endSequenceNumber": removed[-1], "streamArn": arn}
    function_arn = f"arn:aws:lambda:{REGION}:123456789012:function:{stack.stack.physical_ids[function]}"
    context = {"functionArn": function_arn, "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 21}
    return {
        "requestContext": context,
        "DDBStreamBatchInfo": {**where, "batchSize": len(removed)},
    }


def test_an_event_that_was_not_recorded_is_recorded(stack: Deployed, modern: ModernClient, queue: Queue) -> None:
    task_id = modern.call(TOOL, LONG).id_in()
    stack.stop(task_id)
    queue.send(stack.status_event(task_id, "execution_aborted", status="ABORTED"))

    fates = queue.replay()

    assert fates == [(ENDED, Fate.DELIVERED)]
    assert modern.task("get", task_id).result["status"] == "cancelled"
    assert queue.left() == 0


def test_messages_that_fail_again_stay_and_the_rest_is_delivered(
    stack: Deployed, modern: ModernClient, queue: Queue
) -> None:
    task_id = modern.call(TOOL, LONG).id_in()
    stack.stop(task_id)
    queue.send({"detail-type": ENDED, "detail": {}})
    queue.send(stack.status_event(task_id, "execution_aborted", status="ABORTED"))

    fates = queue.replay()

    assert sorted(fate.name for _, fate in fates) == ["DELIVERED", "FAILED"]
    assert modern.task("get", task_id).result["status"] == "cancelled"
    assert queue.left() == 1


def test_a_dry_run_delivers_and_deletes_nothing(stack: Deployed, modern: ModernClient, queue: Queue) -> None:
    task_id = modern.call(TOOL, LONG).id_in()
    queue.send(stack.status_event(task_id, "execution_aborted", status="ABORTED"))

    fates = queue.replay(is_rehearsal=True)

    assert fates == [(ENDED, Fate.WAITING)]
    assert modern.task("get", task_id).result["status"] == "working"
    assert queue.left() == 1


def test_the_execution_of_an_expired_task_is_stopped_although_the_dead_letter_only_names_the_stream_record(
    stack: Deployed, modern: ModernClient, queue: Queue
) -> None:
    task_id = modern.call(TOOL, LONG).id_in()
    queue.send(let_expire(stack))
    assert stack.status_of(task_id) == "RUNNING"

    fates = queue.replay()

    assert [fate for _, fate in fates] == [Fate.DELIVERED]
    assert stack.status_of(task_id) == "ABORTED"
    assert queue.left() == 0


def test_a_lost_change_of_status_is_redelivered(stack: Deployed, modern: ModernClient, queue: Queue) -> None:
    heard = stack.stack.client("sqs").create_queue(QueueName=f"heard-{uuid.uuid4()}")["QueueUrl"]
    events, name = stack.stack.client("events"), heard.rpartition("/")[2]
    events.put_rule(Name=name, EventPattern=json.dumps({"source": ["stepwire"]}))
    events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": f"arn:aws:sqs:{REGION}:123456789012:{name}"}])
    task_id = modern.call(TOOL, LONG).id_in()
    queue.send(let_expire(stack, "StatusChangesFunction"))

    fates = queue.replay()

    assert [fate for _, fate in fates] == [Fate.DELIVERED]
    messages = stack.stack.client("sqs").receive_message(QueueUrl=heard, MaxNumberOfMessages=10)["Messages"]
    details = [json.loads(message["Body"])["detail"] for message in messages]
    assert (task_id, "expired") in [(one["task_id"], one["status"]) for one in details]
    assert stack.status_of(task_id) == "RUNNING", "the dead letter must not be delivered to the other function"


def test_a_change_that_a_webhook_rejected_stays(queue: Queue) -> None:
    queue.send(recorded("task_status_changed"))

    assert queue.replay(forgets_lost=True) == [("Stepwire Task Status Change", Fate.UNHEARD)]
    assert queue.left() == 1


@pytest.mark.parametrize(
    ("kind", "source"), [("Parameter Store Change", "aws.ssm"), ("Tag Change on Resource", "aws.tag")]
)
def test_a_change_of_what_is_registered_is_compiled(queue: Queue, kind: str, source: str) -> None:
    queue.send({"detail-type": kind, "source": source, "detail": {}})

    assert queue.replay() == [(kind, Fate.DELIVERED)]
    assert queue.left() == 0


@pytest.mark.parametrize(
    "error", ["TrimmedDataAccessException", pytest.param("ResourceNotFoundException", marks=pytest.mark.long)]
)
@pytest.mark.parametrize(("forgets", "fate", "left"), [(False, Fate.LOST, 1), (True, Fate.FORGOTTEN, 0)])
def test_a_dead_letter_whose_record_has_expired_is_deleted_only_on_request(
    stack: Deployed, modern: ModernClient, queue: Queue, error: str, forgets: bool, fate: Fate, left: int
) -> None:
    modern.call(TOOL, LONG)
    queue.send(let_expire(stack))

    fates = queue.replay(Session(stack, error), forgets_lost=forgets)

    assert [one for _, one in fates] == [fate]
    assert queue.left() == left


def test_an_unavailable_stream_ends_the_replay(stack: Deployed, modern: ModernClient, queue: Queue) -> None:
    modern.call(TOOL, LONG)
    queue.send(let_expire(stack))

    with pytest.raises(ClientError, match="InternalServerError"):
        queue.replay(Session(stack, "InternalServerError"), forgets_lost=True)

    assert queue.left() == 1


def test_a_wake_up_is_delivered_and_one_of_a_task_that_is_gone_does_no_harm(queue: Queue) -> None:
    queue.send({"owner": "0" * 32, "task_id": "0" * 36})

    assert queue.replay() == [("the next attempt of a task", Fate.DELIVERED)]
    assert queue.left() == 0


@pytest.mark.parametrize("body", ["no JSON", "[]", {"detail-type": ENDED}, {"hello": "world"}])
def test_an_unknown_message_stays_in_the_queue(queue: Queue, body: object) -> None:
    queue.send(body)

    assert queue.replay(forgets_lost=True) == [("?", Fate.UNKNOWN)]
    assert queue.left() == 1


@pytest.mark.parametrize("is_told", [True, False])
def test_the_parts_of_a_deployed_stack_are_found_by_their_names_in_the_template(is_told: bool) -> None:
    session: Any = boto3.Session()
    cloudformation = session.client("cloudformation", region_name="eu-central-1")
    known_parts = {
        "DeadLetters": "https://queue",
        "ExecutionEventsFunction": "events",
        "ExpirationsFunction": "expirations",
        "CatalogFunction": "catalog",
    }
    queues = {part.QUEUE: "https://queue/of/an/extra" for part in parts("letters")}
    others = {"StatusChangesFunction": "status-changes", **queues}
    known_parts |= others if is_told else {}
    stubber = Stubber(cloudformation)
    for name, physical in known_parts.items():
        known = {"LogicalResourceId": name, "ResourceType": "a type", "ResourceStatus": "CREATE_COMPLETE"}
        detail = {**known, "PhysicalResourceId": physical, "LastUpdatedTimestamp": datetime.now(UTC)}
        asked = {"StackName": "the-stack", "LogicalResourceId": name}
        stubber.add_response("describe_stack_resource", {"StackResourceDetail": detail}, asked)

    if not is_told:
        for _ in others:
            stubber.add_client_error("describe_stack_resource", "ValidationError")

    with stubber:
        found = stack_named("the-stack", cloudformation)

    is_there = ("https://queue", "events", "expirations", "catalog")
    assert found == (Stack(*is_there, "status-changes", queues) if is_told else Stack(*is_there))
    assert {resource(name).kind for name in known_parts} == {"AWS::SQS::Queue", "AWS::Serverless::Function"}
