"""The record of a caller's changes in DynamoDB: one item for the record, and one for each change.

    pk  the caller's principal   sk  "events#record"             number, since, until, expires_at
    pk  the caller's principal   sk  "change#" + 15 digits       change, at, expires_at

A change is written only if its number is free, and numbers follow one another. So a reader that has seen a number has
seen all before it. The numbers of a record begin with the time at which it was opened, in milliseconds: an older record
of the same caller has smaller ones.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, cast

from msgspec import Struct

from stepwire.aws.storage.table import Item, Table, milliseconds_of, moment_of, seconds_of
from stepwire.codec import decode, encode
from stepwire.errors import StoreBusy
from stepwire.principal import Principal
from stepwire.subscriptions.events import LARGEST_NUMBER, RETENTION, SLACK, Change, Head, Recorded

RECORD: Final = "events#record"
_CHANGE: Final = "change#"
_DIGITS: Final = len(str(LARGEST_NUMBER))
_MOST_TRIES: Final = 200  # numbers that other writers have taken
_IS_FREE: Final = "attribute_not_exists(pk)"
_IS_AS_SEEN: Final = "attribute_not_exists(pk) OR #until = :seen"
_IS_BEHIND: Final = "#number < :number"
_BEGIN: Final = "SET #number = :number, since = :since, #until = :until, expires_at = :expires_at"
_GO_ON: Final = "SET #until = :until, expires_at = :expires_at"
_RESERVED: Final = ("number", "until")
"""Attributes with words of DynamoDB's for names."""


class DynamoDbEventStore(Struct, frozen=True):
    """`EventStore` in a DynamoDB table."""

    table: Table

    def open_record(self, owner: Principal, at: datetime, until: datetime) -> Head:
        item, end = self.table.get(_record_key(owner)), until + SLACK
        # Kept longer than it records, so that its cursors are known to be old and not foreign.
        values = {":until": _number(milliseconds_of(end)), ":expires_at": _number(seconds_of(end + RETENTION))}
        if item is not None and _moment(item, "until") > at:
            if _moment(item, "until") < until:
                self._update(owner, _GO_ON, values)
            return _head(item)
        head = Head(milliseconds_of(at), at)
        seen = _number(0) if item is None else item["until"]
        values |= {":number": _number(head.number), ":since": _number(milliseconds_of(at)), ":seen": seen}
        if self._update(owner, _BEGIN, values, _IS_AS_SEEN):
            return head
        return _head(cast(Item, self.table.get(_record_key(owner))))  # another request has opened it just now

    def _update(self, owner: Principal, expression: str, values: Item, condition: str = "") -> bool:
        """Update the record if a condition holds; return whether it does."""
        names = [name for name in _RESERVED if f"#{name}" in expression]
        return self.table.update_if(_record_key(owner), expression, condition, values, names)

    def head(self, owner: Principal, at: datetime) -> Head | None:
        item = self.table.get(_record_key(owner))
        return None if item is None or _moment(item, "until") <= at else _head(item)

    def append(self, owner: Principal, head: Head, changes: Sequence[Change]) -> None:
        number = head.number
        for change in changes:
            number = self._append(owner, number, change)
        self._update(owner, "SET #number = :number", {":number": _number(number)}, _IS_BEHIND)

    def _append(self, owner: Principal, last: int, change: Change) -> int:
        """Write a change with the next free number, and return the number."""
        text = encode(change)
        for number in range(last + 1, last + 1 + _MOST_TRIES):
            item: Item = {
                **_change_key(owner, number),
                "change": {"S": text},
                "at": _number(milliseconds_of(change.at)),
                "expires_at": _number(seconds_of(change.at + RETENTION)),
            }
            found = self.table.put(item, _IS_FREE)
            if found is None or found.get("change") == item["change"]:  # ours; else another writer's
                return number
        raise StoreBusy

    def read(self, owner: Principal, after: int, most: int) -> Sequence[Recorded]:
        page = self.table.client.query(
            TableName=self.table.name,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":pk": {"S": owner},
                ":first": _change_key(owner, after + 1)["sk"],
                ":last": _change_key(owner, LARGEST_NUMBER)["sk"],
            },
            ConsistentRead=True,
            Limit=most,
        )
        return [_recorded(item) for item in cast(list[Item], page["Items"])]


def _record_key(owner: Principal) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": RECORD}}


def _change_key(owner: Principal, number: int) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": f"{_CHANGE}{number:0{_DIGITS}}"}}


def _recorded(item: Item) -> Recorded:
    return Recorded(int(item["sk"]["S"].removeprefix(_CHANGE)), decode(item["change"]["S"], Change))


def _head(item: Item) -> Head:
    return Head(int(item["number"]["N"]), _moment(item, "since"))


def _moment(item: Item, name: str) -> datetime:
    return moment_of(int(item[name]["N"]))


def _number(value: int) -> Item:
    return {"N": str(value)}
