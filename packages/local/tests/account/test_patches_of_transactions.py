"""Transactions of DynamoDB write all or nothing, at the cost of their own items, thanks to a patch of moto."""

from typing import Any, Final

import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.models.table import Table

from packages.local.tests.proving import proof
from packages.local.tests.simulated import Account

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long

BY_RANGE: Final = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
}


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": "same"}, "sk": {"S": name}}


def parts(table: str) -> list[dict[str, Any]]:
    """Return a part of each kind: one creates, one replaces, one changes and one deletes an item."""
    one: dict[str, Any] = {"UpdateExpression": "ADD members :m", "ExpressionAttributeValues": {":m": {"SS": ["y"]}}}
    return [
        {"Put": {"TableName": table, "Item": key("new")}},
        {"Put": {"TableName": table, "Item": {**key("replaced"), "is": {"S": "after"}}}},
        {"Update": {"TableName": table, "Key": key("changed"), **one}},
        {"Delete": {"TableName": table, "Key": key("deleted")}},
    ]


def refused(table: str) -> dict[str, Any]:
    return {"ConditionCheck": {"TableName": table, "Key": key("none"), "ConditionExpression": "attribute_exists(pk)"}}


def filled(account: Account) -> str:
    """Return a new table with a stream and three items."""
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    name = account.table(StreamSpecification=stream, **BY_RANGE)
    for item in (
        {**key("replaced"), "is": {"S": "before"}},
        {**key("changed"), "members": {"SS": ["x"]}},
        {**key("deleted"), "is": {"S": "there"}},
    ):
        account.tables.put_item(TableName=name, Item=item)
    return name


def items(account: Account, table: str) -> list[Any]:
    found = account.tables.scan(TableName=table)["Items"]
    return sorted(found, key=lambda item: item["sk"]["S"])


def test_a_transaction_that_fails_leaves_every_item_as_it_was(account: Account) -> None:
    table = filled(account)
    before = items(account, table)

    with pytest.raises(account.tables.exceptions.TransactionCanceledException):
        account.tables.transact_write_items(TransactItems=[*parts(table), refused(table)])

    assert items(account, table) == before
    account.tables.transact_write_items(TransactItems=parts(table))
    assert [item["sk"]["S"] for item in items(account, table)] == ["changed", "new", "replaced"]


@pytest.mark.parametrize("part", [{"TableName": "none", "Key": key("a")}, {"Key": {"other": {"S": "a"}}}])
def test_a_part_that_cannot_be_done_leaves_the_others_undone(account: Account, part: dict[str, Any]) -> None:
    table = filled(account)
    before = items(account, table)

    with pytest.raises(ClientError):
        account.tables.transact_write_items(TransactItems=[*parts(table), {"Delete": {"TableName": table, **part}}])

    assert items(account, table) == before


@proof("transactions_copy_what_they_write")
def test_a_transaction_copies_no_table(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(account)
    copied: list[object] = []

    def counted(self: Any, memo: Any) -> Any:
        copied.append(self)
        return self

    monkeypatch.setattr(Table, "__deepcopy__", counted, raising=False)

    account.tables.transact_write_items(TransactItems=parts(table))

    assert copied == []
