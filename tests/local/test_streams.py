"""The stream of a table: what its records say, how they get to a function, and where they end if they do not."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from local import ExpiredItem, LocalStack, TemplateError, after, at_once, never
from tests.local.polling import until

TEMPLATE = Path(__file__).parent / "streams" / "template.yaml"
LONG_AGO = str(int(time.time()) - 3600)
REMOVED_BY_TTL = '{"userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}}'


class Table:
    """The table of a stack, and what became of its changes."""

    def __init__(self, stack: LocalStack) -> None:
        self.stack = stack
        self.name = stack.outputs["Table"]
        self.client = stack.client("dynamodb")

    def put(self, name: str, **attributes: Any) -> None:
        self.client.put_item(TableName=self.name, Item={"pk": {"S": name}, **attributes})

    def put_together(self, *names: str) -> None:
        """Put items so that one batch has them all: in one call, while the reader waits for its turn."""
        puts = [{"Put": {"TableName": self.name, "Item": {"pk": {"S": name}}}} for name in names]
        self.client.transact_write_items(TransactItems=puts)

    def delete(self, name: str) -> None:
        self.client.delete_item(TableName=self.name, Key={"pk": {"S": name}})

    def names(self) -> set[str]:
        return {item["pk"]["S"] for item in self.client.scan(TableName=self.name)["Items"]}

    def batches(self) -> list[list[dict[str, Any]]]:
        """Return the records of each invocation that there was, once all is processed."""
        self.stack.drain()
        return self._messages("Seen")

    def named(self) -> list[list[str]]:
        """Return the names of the items of each invocation, once all is processed."""
        return [[record["dynamodb"]["Keys"]["pk"]["S"] for record in batch] for batch in self.batches()]

    def records(self) -> list[dict[str, Any]]:
        """Return the records in the order that the function was given them, once all is processed."""
        return [record for batch in self.batches() for record in batch]

    def letters(self) -> list[dict[str, Any]]:
        self.stack.drain()
        return self._messages("Lost")

    def _messages(self, queue: str) -> list[Any]:
        bodies: list[Any] = []
        request = {"QueueUrl": self.stack.outputs[queue], "MaxNumberOfMessages": 10, "VisibilityTimeout": 60}
        while received := self.stack.client("sqs").receive_message(**request).get("Messages"):
            bodies += [json.loads(message["Body"]) for message in received]
        return bodies


Serve = Callable[..., Table]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stacks:

        def served(**parameters: str) -> Table:
            return Table(stacks.enter_context(LocalStack(TEMPLATE, parameters=parameters)))

        yield served


def test_a_record_says_what_aws_says(serve: Serve) -> None:
    table = serve()
    before = int(time.time())

    table.put("a", n={"N": "1"}, m={"M": {"l": {"L": [{"BOOL": True}, {"NULL": True}]}}}, b={"B": b"hi"})
    (record,) = table.records()

    assert before <= record["dynamodb"].pop("ApproximateCreationDateTime") <= time.time()
    assert record["dynamodb"].pop("SequenceNumber").isdigit()
    assert record["dynamodb"].pop("SizeBytes") > 0
    assert len(record.pop("eventID")) == 32
    assert record == {
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "eventSourceARN": table.stack.outputs["Stream"],
        "dynamodb": {
            "Keys": {"pk": {"S": "a"}},
            "NewImage": {
                "pk": {"S": "a"},
                "n": {"N": "1"},
                "m": {"M": {"l": {"L": [{"BOOL": True}, {"NULL": True}]}}},
                "b": {"B": "aGk="},
            },
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }


def test_each_change_has_its_record(serve: Serve) -> None:
    table = serve()

    table.put("a", n={"N": "1"})
    table.put("a", n={"N": "2"})
    table.put("a", n={"N": "2"})
    table.delete("a")
    table.delete("a")
    records = table.records()

    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    _, modified, removed = (record["dynamodb"] for record in records)
    assert (modified["OldImage"]["n"], modified["NewImage"]["n"]) == ({"N": "1"}, {"N": "2"})
    assert removed["OldImage"]["n"] == {"N": "2"}
    assert "NewImage" not in removed
    assert "userIdentity" not in records[2]
    numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    ("view", "images"),
    [
        ("KEYS_ONLY", set[str]()),
        ("NEW_IMAGE", {"NewImage"}),
        ("OLD_IMAGE", {"OldImage"}),
        ("NEW_AND_OLD_IMAGES", {"NewImage", "OldImage"}),
    ],
)
def test_a_record_shows_what_the_stream_is_to_show(serve: Serve, view: str, images: set[str]) -> None:
    table = serve(View=view)

    table.put("a")
    table.put("a", n={"N": "1"})

    assert {"NewImage", "OldImage"} & set(table.records()[1]["dynamodb"]) == images


def test_changes_arrive_in_their_order(serve: Serve) -> None:
    table = serve()

    for number in range(40):
        table.put("ab"[number % 2], n={"N": str(number)})

    numbers = [int(record["dynamodb"]["NewImage"]["n"]["N"]) for record in table.records()]
    assert numbers == list(range(40))


def test_a_batch_holds_no_more_than_its_size(serve: Serve) -> None:
    table = serve()

    table.put_together(*(f"{number:02}" for number in range(25)))

    assert [len(batch) for batch in table.batches()] == [10, 10, 5]


def test_a_batch_holds_no_more_than_an_event_can(serve: Serve) -> None:
    table = serve(View="NEW_IMAGE")
    text = {"S": "é" * 190_000}  # six bytes each in JSON, as it is written here
    items = [{"PutRequest": {"Item": {"pk": {"S": name}, "text": text}}} for name in "abcdefg"]

    table.client.batch_write_item(RequestItems={table.name: items})

    counts: Any = table.batches()
    assert sum(counts) == 7
    assert len(counts) == 2
    assert not table.letters()


def test_a_transaction_that_fails_leaves_no_record(serve: Serve) -> None:
    table = serve()
    table.put("a")
    put = {"Put": {"TableName": table.name, "Item": {"pk": {"S": "b"}}}}
    key = {"TableName": table.name, "Key": {"pk": {"S": "a"}}}
    check = {"ConditionCheck": {**key, "ConditionExpression": "attribute_not_exists(pk)"}}

    with pytest.raises(table.client.exceptions.TransactionCanceledException):
        table.client.transact_write_items(TransactItems=[put, check])
    table.put("c")

    assert [name for names in table.named() for name in names] == ["a", "c"]


def test_a_failure_is_tried_again_from_the_item_that_failed(serve: Serve) -> None:
    table = serve()

    table.put_together("a", "shy", "c")

    assert table.named() == [["a", "shy", "c"], ["shy", "c"], ["shy", "c"]]
    assert not table.letters()


def test_a_failure_that_is_raised_is_tried_again_with_the_whole_batch(serve: Serve) -> None:
    table = serve(Reports="no")

    table.put_together("a", "shy", "c")

    assert table.named() == [["a", "shy", "c"]] * 3
    assert not table.letters()


def test_what_fails_for_good_is_given_up_and_said_so(serve: Serve) -> None:
    table = serve()

    table.put_together("a", "poison", "c")
    table.stack.drain()
    table.put("d")
    records = table.records()
    (letter,) = table.letters()

    assert records[-1]["dynamodb"]["Keys"] == {"pk": {"S": "d"}}
    first, last = (record["dynamodb"] for record in records[1:3])
    moment = datetime.fromtimestamp(first["ApproximateCreationDateTime"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert letter.pop("timestamp").endswith("Z")
    assert len(letter["requestContext"].pop("requestId")) == 36
    assert letter["DDBStreamBatchInfo"].pop("shardId").startswith("shardId-")
    assert letter == {
        "requestContext": {
            "functionArn": table.stack.outputs["Listener"],
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 3,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
        "version": "1.0",
        "DDBStreamBatchInfo": {
            "startSequenceNumber": first["SequenceNumber"],
            "endSequenceNumber": last["SequenceNumber"],
            "approximateArrivalOfFirstRecord": moment,
            "approximateArrivalOfLastRecord": moment,
            "batchSize": 2,
            "streamArn": table.stack.outputs["Stream"],
        },
    }


def test_a_batch_that_is_split_loses_the_bad_item_only(serve: Serve) -> None:
    table = serve(Reports="no", Bisects="true", Retries="0")

    table.put_together("a", "b", "poison", "d")
    named = table.named()
    (letter,) = table.letters()

    assert named == [["a", "b", "poison", "d"], ["a", "b"], ["poison", "d"], ["poison"], ["d"]]
    assert letter["DDBStreamBatchInfo"]["batchSize"] == 1
    assert letter["responseContext"]["functionError"] == "Unhandled"
    assert letter["requestContext"]["approximateInvokeCount"] == 1


def test_what_is_too_old_is_given_up(serve: Serve) -> None:
    table = serve(Reports="no", Retries="-1", MaxAge="0")

    table.put("poison")
    (letter,) = table.letters()

    assert letter["requestContext"]["condition"] == "RecordAgeExceeded"


@pytest.mark.parametrize(
    ("pattern", "arrived"),
    [
        ("{}", ["INSERT a", "INSERT b", "MODIFY b", "REMOVE a"]),
        ('{"eventName": ["REMOVE", "MODIFY"]}', ["MODIFY b", "REMOVE a"]),
        ('{"dynamodb": {"Keys": {"pk": {"S": [{"prefix": "a"}]}}}}', ["INSERT a", "REMOVE a"]),
        ('{"dynamodb": {"OldImage": {"n": {"N": ["1"]}}}}', ["REMOVE a"]),
        ('{"dynamodb": {"NewImage": {"n": {"N": [{"exists": false}]}}}}', ["INSERT b", "REMOVE a"]),
        ('{"dynamodb": {"NewImage": {"n": {"N": [{"numeric": [">", 0]}]}}}}', []),
        ('{"dynamodb": {"SizeBytes": [{"numeric": [">", 0, "<", 100000]}]}, "eventName": ["MODIFY"]}', ["MODIFY b"]),
        ('{"eventName": [{"anything-but": ["INSERT"]}]}', ["MODIFY b", "REMOVE a"]),
        (
            '{"$or": [{"eventName": ["REMOVE"]}, {"dynamodb": {"NewImage": {"n": {"N": ["2"]}}}}]}',
            ["MODIFY b", "REMOVE a"],
        ),
        (REMOVED_BY_TTL, []),
    ],
)
def test_a_filter_lets_through_what_it_matches(serve: Serve, pattern: str, arrived: list[str]) -> None:
    table = serve(Filter=pattern)

    table.put("a", n={"N": "1"})
    table.put("b")
    table.put("b", n={"N": "2"})
    table.delete("a")

    seen = [f"{record['eventName']} {record['dynamodb']['Keys']['pk']['S']}" for record in table.records()]
    assert seen == arrived


def test_an_expired_item_is_removed_by_the_service(serve: Serve) -> None:
    table = serve(Filter=REMOVED_BY_TTL)
    table.put("old", expires_at={"N": LONG_AGO})
    table.put("deleted", expires_at={"N": LONG_AGO})
    table.put("young", expires_at={"N": str(int(time.time()) + 3600)})
    table.put("eternal")
    table.delete("deleted")

    removed = table.stack.expire()
    (record,) = table.records()

    assert removed == 1
    assert table.names() == {"young", "eternal"}
    assert (record["eventName"], record["dynamodb"]["OldImage"]["pk"]) == ("REMOVE", {"S": "old"})
    assert record["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def test_a_sweep_can_be_made_for_another_moment(serve: Serve) -> None:
    table = serve()
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    table.put("soon", expires_at={"N": str(int(soon.timestamp()))})

    assert table.stack.expire(at=soon - timedelta(seconds=1)) == 0
    assert table.stack.expire(at=soon) == 1
    assert table.names() == set()


@pytest.mark.parametrize("value", [{"S": LONG_AGO}, {"N": "0"}, {"N": "1e80"}, {"NULL": True}])
def test_what_is_no_time_never_expires(serve: Serve, value: Any) -> None:
    table = serve()
    table.put("a", expires_at=value)

    assert table.stack.expire() == 0


def test_expired_items_stay_for_good_unless_a_policy_is_given() -> None:
    assert LocalStack(TEMPLATE).expiry is never


def test_a_policy_says_when_expired_items_go(serve: Serve) -> None:
    table = serve()
    table.put("old", expires_at={"N": LONG_AGO})
    asked: list[ExpiredItem] = []

    def in_an_hour(item: ExpiredItem) -> Iterable[float]:
        asked.append(item)
        return after(7200)(item)

    table.stack.expiry = in_an_hour
    until(lambda: asked)
    assert asked[0].attributes == {"pk": {"S": "old"}, "expires_at": {"N": LONG_AGO}}
    assert table.names() == {"old"}

    table.stack.expiry = at_once
    until(lambda: not table.names())


def test_nothing_is_carried_or_removed_when_the_stack_has_stopped() -> None:
    before = machinery()

    with LocalStack(TEMPLATE, parameters={"Retries": "-1"}, expiry=at_once) as stack:
        Table(stack).put("poison")
        assert machinery() == before + 2
        with pytest.raises(TimeoutError):
            stack.drain(within=0.1)

    until(lambda: machinery() == before)


def machinery() -> int:
    return sum(thread.name in ("stream", "expiry") for thread in threading.enumerate())


class Bench:
    """Changes the template of these tests, and says what comes of it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "template.yaml"
        text = TEMPLATE.read_text(encoding="utf-8").replace("CodeUri: listener", f"CodeUri: {TEMPLATE.parent}/listener")
        self._text = text

    def with_mapping(self, before: str, now: str) -> LocalStack:
        assert before in self._text
        self._path.write_text(self._text.replace(before, now), encoding="utf-8")
        return LocalStack(self._path)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ("StartingPosition: TRIM_HORIZON", "StartingPosition: AT_TIMESTAMP", "StartingPosition must be one of"),
        ("FunctionName: !Ref Listener", "FunctionName: nobody", "nobody is not a function"),
        ("BatchSize: 10", "BatchSize: 10001", "BatchSize is 10001"),
        ("Pattern: !Ref Filter", "Pattern: '{'", "is no pattern: "),
        ("Pattern: !Ref Filter", """Pattern: '{"eventName": "REMOVE"}'""", "is no pattern: "),
        ("Pattern: !Ref Filter", """Pattern: '{"eventName": [{"like": "R%"}]}'""", "an unknown operator: like"),
        ("EventSourceArn: !GetAtt Table.StreamArn", "EventSourceArn: !GetAtt Table.Nothing", "no attribute Nothing"),
        ("      StreamSpecification: {StreamViewType: !Ref View}\n", "", "no attribute StreamArn"),
        (
            "EventSourceArn: !GetAtt Table.StreamArn",
            "EventSourceArn: arn:aws:dynamodb:us-east-1:123456789012:table/other/stream/x",
            "no stream of a table of this template",
        ),
    ],
)
def test_a_mapping_that_is_wrong_stops_the_start(bench: Bench, before: str, now: str, words: str) -> None:
    with pytest.raises(TemplateError, match=words), bench.with_mapping(before, now):
        pass


@pytest.mark.parametrize(
    ("before", "now", "note"),
    [
        (
            "BatchSize: 10",
            "ParallelizationFactor: 2",
            "Mapping: AWS::Lambda::EventSourceMapping ignores ParallelizationFactor",
        ),
        (
            "EventSourceArn: !GetAtt Table.StreamArn",
            "EventSourceArn: !GetAtt Seen.Arn",
            "Mapping: events of the service sqs do not arrive",
        ),
        (
            "Destination: !GetAtt Lost.Arn",
            "Destination: arn:aws:sns:us-east-1:123456789012:topic",
            "Mapping: what fails does not go to arn:aws:sns:us-east-1:123456789012:topic, which is no queue",
        ),
        (
            "Pattern: !Ref Filter",
            """Pattern: '{"dynamodb": {"NewImage": {"n": {"N": [{"numeric": ["=", 1]}]}}}}'""",
            "Mapping: numeric matches no number of an item: compare it as a string",
        ),
    ],
)
def test_what_a_mapping_does_not_do_here_is_reported(bench: Bench, before: str, now: str, note: str) -> None:
    with bench.with_mapping(before, now) as stack:
        assert note in stack.not_served


def test_a_mapping_that_is_not_enabled_carries_nothing(bench: Bench) -> None:
    with bench.with_mapping("BatchSize: 10", "Enabled: false") as stack:
        table = Table(stack)
        table.put("a")

        assert table.batches() == []


def test_a_function_of_sam_names_its_stream_as_an_event(tmp_path: Path) -> None:
    template = yaml.safe_load(_SAM.replace("CODE", f"{TEMPLATE.parent}/listener"))
    path = tmp_path / "template.yaml"
    path.write_text(yaml.safe_dump(template), encoding="utf-8")

    with LocalStack(path) as stack:
        table = Table(stack)
        table.put_together("a", "poison")

        assert table.named() == [["a", "poison"], ["poison"]]
        assert len(table.letters()) == 1


_SAM = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      StreamSpecification: {StreamViewType: KEYS_ONLY}
  Listener:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: CODE
      Handler: app.handler
      Runtime: python3.13
      Environment: {Variables: {QUEUE_URL: {Ref: Seen}, REPORTS: "yes"}}
      Events:
        Changes:
          Type: DynamoDB
          Properties:
            Stream: {"Fn::GetAtt": [Table, StreamArn]}
            StartingPosition: LATEST
            BatchSize: 10
            MaximumRetryAttempts: 1
            FunctionResponseTypes: [ReportBatchItemFailures]
            FilterCriteria: {Filters: [{Pattern: '{"eventName": ["INSERT"]}'}]}
            DestinationConfig: {OnFailure: {Type: SQS, Destination: {"Fn::GetAtt": [Lost, Arn]}}}
  Seen: {Type: AWS::SQS::Queue}
  Lost: {Type: AWS::SQS::Queue}
Outputs:
  Table: {Value: {Ref: Table}}
  Seen: {Value: {Ref: Seen}}
  Lost: {Value: {Ref: Lost}}
"""
