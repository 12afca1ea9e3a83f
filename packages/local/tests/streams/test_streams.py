"""The stream of a table: the content of its records, their delivery to a function, and the records that fail."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from packages.local.tests.changes import TEMPLATE, Table
from stepwire_local import ExpiredItem, LocalStack, after, at_once, never
from tests.waiting import until

LONG_AGO = str(int(time.time()) - 3600)
REMOVED_BY_TTL = '{"userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}}'


Serve = Callable[..., Table]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stacks:

        def served(**parameters: str) -> Table:
            return Table(stacks.enter_context(LocalStack(TEMPLATE, parameters=parameters)))

        yield served


def test_a_record_has_the_fields_of_aws(serve: Serve) -> None:
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
def test_a_record_has_the_images_of_the_stream_view_type(serve: Serve, view: str, images: set[str]) -> None:
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


def test_a_batch_has_at_most_its_configured_size(serve: Serve) -> None:
    table = serve()

    table.put_together(*(f"{number:02}" for number in range(25)))

    assert [len(batch) for batch in table.batches()] == [10, 10, 5]


def test_a_batch_does_not_exceed_the_size_of_an_event(serve: Serve) -> None:
    table = serve(View="NEW_IMAGE")
    text = {"S": "é" * 190_000}  # each takes six bytes in JSON
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


def test_a_reported_failure_is_retried_from_the_failed_item(serve: Serve) -> None:
    table = serve()

    table.put_together("a", "shy", "c")

    assert table.named() == [["a", "shy", "c"], ["shy", "c"], ["shy", "c"]]
    assert not table.letters()


def test_a_raised_failure_is_retried_with_the_whole_batch(serve: Serve) -> None:
    table = serve(Reports="no")

    table.put_together("a", "shy", "c")

    assert table.named() == [["a", "shy", "c"]] * 3
    assert not table.letters()


def test_a_batch_that_always_fails_is_dropped_and_reported(serve: Serve) -> None:
    table = serve()

    table.put_together("a", "poison", "c")
    table.stack.drain()
    table.put("d")
    records = table.records()
    (letter,) = table.letters()

    assert records[-1]["dynamodb"]["Keys"] == {"pk": {"S": "d"}}
    first, last = (record["dynamodb"] for record in records[1:3])
    begin, end = (  # the second of the clock may have changed between the two
        datetime.fromtimestamp(one["ApproximateCreationDateTime"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for one in (first, last)
    )
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
            "approximateArrivalOfFirstRecord": begin,
            "approximateArrivalOfLastRecord": end,
            "batchSize": 2,
            "streamArn": table.stack.outputs["Stream"],
        },
    }


def test_bisecting_a_batch_drops_the_bad_item_only(serve: Serve) -> None:
    table = serve(Reports="no", Bisects="true", Retries="0")

    table.put_together("a", "b", "poison", "d")
    named = table.named()
    (letter,) = table.letters()

    assert named == [["a", "b", "poison", "d"], ["a", "b"], ["poison", "d"], ["poison"], ["d"]]
    assert letter["DDBStreamBatchInfo"]["batchSize"] == 1
    assert letter["responseContext"]["functionError"] == "Unhandled"
    assert letter["requestContext"]["approximateInvokeCount"] == 1


def test_records_above_the_maximum_age_are_dropped(serve: Serve) -> None:
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
def test_only_records_that_match_a_filter_are_delivered(serve: Serve, pattern: str, arrived: list[str]) -> None:
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


def test_expiry_can_be_run_for_another_time(serve: Serve) -> None:
    table = serve()
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    table.put("soon", expires_at={"N": str(int(soon.timestamp()))})

    assert table.stack.expire(at=soon - timedelta(seconds=1)) == 0
    assert table.stack.expire(at=soon) == 1
    assert table.names() == set()


@pytest.mark.parametrize("value", [{"S": LONG_AGO}, {"N": "0"}, {"N": "1e80"}, {"NULL": True}])
def test_a_ttl_that_is_not_a_time_never_expires(serve: Serve, value: Any) -> None:
    table = serve()
    table.put("a", expires_at=value)

    assert table.stack.expire() == 0


def test_expired_items_are_kept_unless_a_policy_is_given() -> None:
    assert LocalStack(TEMPLATE).expiry is never


def test_a_policy_decides_when_expired_items_are_removed(serve: Serve) -> None:
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


def test_a_stopped_stack_delivers_and_removes_nothing() -> None:
    of_others = machinery()

    with LocalStack(TEMPLATE, parameters={"Retries": "-1"}, expiry=at_once) as stack:
        Table(stack).put("poison")
        own = machinery() - of_others
        assert len(own) == 2
        with pytest.raises(TimeoutError):
            stack.drain(within=0.1)

    until(lambda: not own & machinery())


def machinery() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name in ("stream", "expiry")}
