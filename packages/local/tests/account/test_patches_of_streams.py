"""The streams of tables behave as in AWS, thanks to the patches of moto."""

from typing import Any

import pytest
from moto.dynamodb.models import dynamodb_backends

from packages.local.tests.proving import proof
from packages.local.tests.simulated import Account
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.account.isolation import REGION

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long


def table(account: Account) -> str:
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    return account.table(StreamSpecification=stream)


def shard(name: str) -> Any:
    return dynamodb_backends[ACCOUNT][REGION].tables[name].stream_shard


def add(account: Account, name: str, member: str) -> None:
    account.tables.update_item(
        TableName=name,
        Key={"pk": {"S": "a"}},
        UpdateExpression="ADD members :m",
        ExpressionAttributeValues={":m": {"SS": [member]}},
    )


@proof("changes_are_recorded_once")
def test_an_item_that_an_update_creates_is_inserted_once(account: Account) -> None:
    name = table(account)

    add(account, name, "x")
    add(account, name, "x")
    add(account, name, "y")

    inserted, modified = (item.record for item in shard(name).items)
    assert (inserted["eventName"], modified["eventName"]) == ("INSERT", "MODIFY")
    assert inserted["dynamodb"]["NewImage"]["members"] == {"SS": ["x"]}
    assert int(modified["dynamodb"]["SequenceNumber"]) - int(inserted["dynamodb"]["SequenceNumber"]) == 1


def test_only_the_latest_records_are_kept(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwire_local.account.moto_patches.streams._KEPT", 3)
    monkeypatch.setattr("stepwire_local.account.moto_patches.streams._TRIMMED", 2)
    name = table(account)

    for member in "abcdef":
        add(account, name, member)

    kept = shard(name)
    numbers = [int(item.record["dynamodb"]["SequenceNumber"]) for item in kept.items]
    assert numbers == [kept.starting_sequence_number + offset for offset in range(len(numbers))]
    assert len(numbers) == 2
