"""Distributed Maps read, batch, tolerate and write as in AWS, thanks to the patches of moto."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from packages.local.tests.proving import proof
from packages.local.tests.simulated import Account
from stepwire_local.account.isolation import REGION
from stepwire_local.account.moto_patches.item_sources import Unreadable, items_of
from stepwire_local.iam.clients import aws_client

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long

CSV = {"InputType": "CSV"}
GIVEN = {"CSVHeaderLocation": "GIVEN", "CSVHeaders": ["a", "b"]}
ECHO = {"Type": "Pass", "End": True}
FAIL_ON_NO = {
    "Look": {"Type": "Choice", "Choices": [{"Variable": "$", "StringEquals": "no", "Next": "Fail"}], "Default": "Echo"},
    "Fail": {"Type": "Fail", "Error": "Item.Refused", "Cause": "it says no"},
    "Echo": ECHO,
}


def distributed(
    states: Mapping[str, Any] | None = None, processor: Mapping[str, Any] | None = None, **settings: Any
) -> dict[str, Any]:
    """Return a Distributed Map state whose children run these states, by default one that gives its input."""
    inner = states or {"Echo": ECHO}
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS", **(processor or {})}
    processed = {"ProcessorConfig": config, "StartAt": next(iter(inner)), "States": inner}
    return {"Type": "Map", "ItemProcessor": processed, "Label": "Each", **settings}


def output(account: Account, state: Mapping[str, Any], given: Any) -> Any:
    """Run a state machine of one state, and return its output."""
    return json.loads(account.ended(account.start(account.machine(state), given))["output"])


def bucket_with(**objects: str) -> str:
    """Create a bucket with some objects, and return its name."""
    s3, name = aws_client("s3", REGION), f"bucket-{len(aws_client('s3', REGION).list_buckets()['Buckets'])}"
    s3.create_bucket(Bucket=name)
    for key, text in objects.items():
        s3.put_object(Bucket=name, Key=key, Body=text.encode())
    return name


@proof("distributed_maps_are_whole")
def test_the_items_of_an_express_map_come_in_batches(account: Account) -> None:
    batcher = {"MaxItemsPerBatchPath": "$.size", "BatchInput": {"colour.$": "$.colour"}}
    state = distributed(ItemsPath="$.items", ItemBatcher=batcher, ItemSelector={"n.$": "$$.Map.Item.Value"})

    batches = output(account, state, {"items": [1, 2, 3], "size": 2, "colour": "red"})

    common = {"BatchInput": {"colour": "red"}}
    assert batches == [{**common, "Items": [{"n": 1}, {"n": 2}]}, {**common, "Items": [{"n": 3}]}]


@pytest.mark.parametrize(
    ("text", "config", "items"),
    [
        ("a,b\n1,2\n3,4\n", {**CSV, "CSVHeaderLocation": "FIRST_ROW", "MaxItems": 1}, [{"a": "1", "b": "2"}]),
        ("1|2\n", {**CSV, **GIVEN, "CSVDelimiter": "PIPE"}, [{"a": "1", "b": "2"}]),
        ('{"n": 1}\n\n{"n": 2}\n', {"InputType": "JSONL"}, [{"n": 1}, {"n": 2}]),
        ('[{"n": 1}, {"n": 2}]', {"InputType": "JSON", "MaxItemsPath": "$.most"}, [{"n": 1}]),
        ('{"data": {"rows": [3]}}', {"InputType": "JSON", "ItemsPointer": "/data/rows"}, [3]),
    ],
)
def test_a_map_reads_its_items_from_s3(account: Account, text: str, config: dict[str, Any], items: list[Any]) -> None:
    bucket = bucket_with(key=text)
    reader = {
        "Resource": "arn:aws:states:::s3:getObject",
        "ReaderConfig": config,
        "Parameters": {"Bucket.$": "$.bucket", "Key": "key"},
    }

    assert output(account, distributed(ItemReader=reader), {"bucket": bucket, "most": 1}) == items


def test_a_map_reads_the_list_of_objects(account: Account) -> None:
    bucket = bucket_with(**{"in/a": "1", "in/b": "22", "out/c": "3"})
    reader = {"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": {"Bucket": bucket, "Prefix": "in/"}}

    listed = output(account, distributed(ItemReader=reader), {})

    assert [(one["Key"], one["Size"]) for one in listed] == [("in/a", 1), ("in/b", 2)]


def test_an_object_that_is_not_there_says_where_to_put_it(account: Account) -> None:
    parameters = {"Bucket": bucket_with(), "Key": "data.json"}
    state = distributed(ItemReader={"Resource": "arn:aws:states:::s3:getObject", "Parameters": parameters})

    described = account.ended(account.start(account.machine(state)))

    assert described["error"] == "States.ItemReaderFailed"
    assert f"{parameters['Bucket']}/data.json" in described["cause"]
    assert "buckets/<bucket>/" in described["cause"]
    assert "--stub S0=answer.json" in described["cause"]


@proof("distributed_maps_keep_their_limits")
def test_a_failed_item_fails_the_map(account: Account) -> None:
    described = account.ended(account.start(account.machine(distributed(FAIL_ON_NO)), ["yes", "no"]))

    assert (described["status"], described["error"]) == ("FAILED", "States.ExceedToleratedFailureThreshold")
    assert "1 of 2 failed" in described["cause"]
    assert "Item.Refused: it says no" in described["cause"]


@pytest.mark.parametrize(
    ("tolerated", "status"),
    [
        ({"ToleratedFailurePercentage": 50}, "SUCCEEDED"),
        ({"ToleratedFailurePercentage": 49}, "FAILED"),
        ({"ToleratedFailureCount": 1}, "SUCCEEDED"),
        ({"ToleratedFailureCount": 1, "ToleratedFailurePercentage": 49}, "FAILED"),
    ],
)
def test_failures_are_tolerated_up_to_a_limit(account: Account, tolerated: dict[str, int], status: str) -> None:
    described = account.ended(account.start(account.machine({**distributed(FAIL_ON_NO), **tolerated}), ["yes", "no"]))

    assert described["status"] == status


@proof("results_are_written")
def test_results_are_written_to_s3(account: Account) -> None:
    bucket = bucket_with()
    writer = {
        "Resource": "arn:aws:states:::s3:putObject",
        "Parameters": {"Bucket": bucket, "Prefix": "results"},
        "WriterConfig": {"OutputType": "JSON", "Transformation": "NONE"},
    }
    state = distributed(FAIL_ON_NO, {"ExecutionType": "STANDARD"}, ResultWriter=writer, ToleratedFailureCount=1)

    written = output(account, state, ["yes", "no"])

    details = written["ResultWriterDetails"]
    files = read(bucket, details["Key"])["ResultFiles"]
    (succeeded,), (failed,) = (read(bucket, files[kind][0]["Key"]) for kind in ("SUCCEEDED", "FAILED"))
    assert details["Bucket"] == bucket
    assert (json.loads(succeeded["Output"]), succeeded["Status"]) == ("yes", "SUCCEEDED")
    assert (failed["Error"], failed["Status"]) == ("Item.Refused", "FAILED")


def read(bucket: str, key: str) -> Any:
    return json.loads(aws_client("s3", REGION).get_object(Bucket=bucket, Key=key)["Body"].read())


def test_the_files_of_an_inventory_are_read() -> None:
    manifest = {
        "fileSchema": "Bucket, Key",
        "destinationBucket": "arn:aws:s3:::inventory",
        "files": [{"key": "part.csv"}],
    }
    files = {("inventory", "part.csv"): b'"data","a.txt"\n'}

    def get(bucket: str, key: str) -> bytes:
        return files[bucket, key]

    assert items_of(json.dumps(manifest), {"InputType": "MANIFEST"}, get) == [{"Bucket": "data", "Key": "a.txt"}]


@pytest.mark.parametrize(
    ("content", "config", "words"),
    [
        ("{}", {"InputType": "JSON"}, "non-iterable"),
        ("a,a\n1,2", {"InputType": "CSV"}, "duplicates"),
        ("x", {"InputType": "PARQUET"}, "PARQUET is not served here"),
        ("not json", {}, "is no JSON"),
    ],
)
def test_what_cannot_be_read_says_why(content: str, config: dict[str, Any], words: str) -> None:
    def get(bucket: str, key: str) -> bytes:
        raise KeyError(bucket, key)

    with pytest.raises(Unreadable, match=words):
        items_of(content, config, get)
