"""What the stores of the table share: its client, times as attributes, the one expected error of a conditional write.

Times are numbers of milliseconds since 1970, UTC; the TTL attribute `expires_at` is in seconds, rounded up.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from botocore.exceptions import ClientError
from msgspec import Struct

from stepwire.codec import milliseconds_of, seconds_of
from stepwire.errors import StoreBusy

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


Item: TypeAlias = dict[str, Any]
"""An item in the format of DynamoDB's API: {"name": {"S": "text"}, ...}."""

_Answer = TypeVar("_Answer")
UNMET: Final = "ConditionalCheckFailed"
NOT_REFUSED: Final = "None"
_FASTER: Final = frozenset({UNMET, "TransactionConflict"})
_OVERLOADED: Final = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})
_MOST_KEYS: Final = 100  # of one BatchGetItem
_AT_ONCE: Final = 8  # calls; the client has ten connections
_MOST_TRIES: Final = 5  # a response that holds no more of 100 items than a fifth is a fault


def in_milliseconds(moment: datetime) -> Item:
    """Return a time as an attribute's value, in milliseconds."""
    return {"N": str(milliseconds_of(moment))}


def in_seconds(moment: datetime) -> Item:
    """Return a time as the TTL attribute's value, in seconds."""
    return {"N": str(seconds_of(moment))}


class Table(Struct, frozen=True, dict=True):
    """A table, and its client, which is built on the first call."""

    name: str
    build_client: "Callable[[], DynamoDBClient]"

    @cached_property
    def client(self) -> "DynamoDBClient":
        """The client."""
        return self.build_client()

    def get(self, key: Item, *, is_consistent: bool = True) -> Item | None:
        """Return an item; None if there is none."""
        found = self.client.get_item(TableName=self.name, Key=key, ConsistentRead=is_consistent)
        return cast(Item | None, found.get("Item"))

    def get_all(self, keys: Sequence[Item], *, is_consistent: bool = True) -> Iterator[Item]:
        """Yield the items of keys, in any order, without those that do not exist.

        Raises:
            StoreBusy: the table returned only a part of them, several times.
        """
        for start in range(0, len(keys), _MOST_KEYS):
            wanted: Any = {self.name: {"Keys": keys[start : start + _MOST_KEYS], "ConsistentRead": is_consistent}}
            for _ in range(_MOST_TRIES):  # one response holds 16 MB; the rest is requested again
                answer = self.client.batch_get_item(RequestItems=wanted)
                yield from cast(list[Item], answer["Responses"].get(self.name, []))
                wanted = answer.get("UnprocessedKeys")
                if not wanted:
                    break
            else:
                raise StoreBusy

    def get_together(self, keys: Sequence[Item]) -> list[Item | None]:
        """Return items as they were at one moment, in the order of their keys.

        Raises:
            StoreBusy: another writer was faster, or the table is overloaded.
        """
        gets: Any = [{"Get": {"TableName": self.name, "Key": key}} for key in keys]
        try:
            answer = self.client.transact_get_items(TransactItems=gets)
        except ClientError as error:
            refusals_in(error)
            raise StoreBusy from error
        return [cast(Item | None, one.get("Item")) for one in answer["Responses"]]

    def query(
        self, condition: str, values: Item, *, most: int | None = None, page: int | None = None, **more: Any
    ) -> Iterator[Item]:
        """Yield the items that meet a key condition, in their order: all, or so many. A page has at most so many."""
        left = most
        while left is None or left > 0:
            limits = [one for one in (left, page) if one is not None]
            found = self.client.query(
                TableName=self.name,
                KeyConditionExpression=condition,
                ExpressionAttributeValues=values,
                ConsistentRead=True,
                **({"Limit": min(limits)} if limits else {}),
                **more,
            )
            yield from cast(list[Item], found["Items"])
            left = None if left is None else left - len(found["Items"])
            if "LastEvaluatedKey" not in found:
                return
            more["ExclusiveStartKey"] = found["LastEvaluatedKey"]

    def put(self, item: Item, condition: str = "", values: Item | None = None) -> Item | None:
        """Write an item; return None, or the item that does not meet the condition, which may be empty."""
        return _write(self.client.put_item, condition, values, TableName=self.name, Item=item)

    def update(
        self, key: Item, expression: str, condition: str, values: Item, names: Collection[str] = ()
    ) -> Item | None:
        """Update an item; return None, or the item that does not meet the condition, which may be empty.

        `names`: attributes whose names DynamoDB reserves: both texts have them with a # before the name.
        """
        more: dict[str, Any] = {"ExpressionAttributeNames": {f"#{name}": name for name in names}} if names else {}
        more |= {"TableName": self.name, "Key": key, "UpdateExpression": expression}
        return _write(self.client.update_item, condition, values, **more)

    def update_if(self, key: Item, expression: str, condition: str, values: Item, names: Collection[str] = ()) -> bool:
        """Update an item if it meets the condition, and return whether it does."""
        return self.update(key, expression, condition, values, names) is None

    def updated(self, key: Item, expression: str, condition: str, values: Item) -> Item | None:
        """Update an item if it meets the condition, and return it as it is then; None: it does not meet it."""
        try:
            made = self.client.update_item(
                TableName=self.name,
                Key=key,
                UpdateExpression=expression,
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
                ReturnValues="ALL_NEW",
            )
        except ClientError as error:
            refused_item(error)  # raises any other error
            return None
        return cast(Item, made["Attributes"])

    def delete(self, key: Item, condition: str, values: Item) -> Item | None:
        """Delete an item; return None, or the item that does not meet the condition, which may be empty."""
        return _write(self.client.delete_item, condition, values, TableName=self.name, Key=key)

    def transact(self, parts: Sequence[Any]) -> tuple[str, ...]:
        """Make several writes or none; return none, or for each part why it was refused, `NOT_REFUSED` if it was not.

        Raises:
            StoreBusy: the table is overloaded.
        """
        try:
            self.client.transact_write_items(TransactItems=parts)
        except ClientError as error:
            return refusals_in(error)
        return ()


def _write(write: Callable[..., Any], condition: str, values: Item | None, **more: Any) -> Item | None:
    """Make a write; return None, or the item that does not meet the condition."""
    if condition:
        more |= {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    if values:
        more["ExpressionAttributeValues"] = values
    try:
        write(**more)
    except ClientError as error:
        return refused_item(error)
    return None


def refused_item(error: ClientError) -> Item:
    """Return the item that does not meet the condition of a write, empty where there is none; raise any other error.

    The write must have asked for it with `ReturnValuesOnConditionCheckFailure="ALL_OLD"`.
    """
    if error.response.get("Error", {}).get("Code") != "ConditionalCheckFailedException":
        raise error
    return cast(Item, error.response.get("Item") or {})


def refusals_in(error: ClientError) -> tuple[str, ...]:
    """Return why the parts of a transaction were refused, in their order, by a condition or a faster writer.

    Raises:
        StoreBusy: the table is overloaded.
        ClientError: it was refused for another reason, or is another error.
    """
    response: Any = error.response
    reasons = tuple(one.get("Code", NOT_REFUSED) for one in response.get("CancellationReasons", ()))
    if not _OVERLOADED.isdisjoint(reasons):
        raise StoreBusy from error
    if _FASTER.isdisjoint(reasons):
        raise error
    return reasons


def all_of(calls: Iterable[Callable[[], _Answer]]) -> list[_Answer]:
    """Make calls at the same time, and return their answers in order; each is made, also if another one fails.

    Raises:
        Exception: that of the first that failed.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - few requests make several calls at once
    from contextvars import copy_context  # noqa: PLC0415

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        made = [pool.submit(copy_context().run, call) for call in calls]
    return [one.result() for one in made]
