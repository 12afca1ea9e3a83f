"""A client of the simulated account's DynamoDB that records its calls, with the items and units of each.

The units are computed by DynamoDB's rules from the sizes of the items: consistent reads by 4 KB, eventually consistent
queries by 8 KB, writes by 1 KB. Other reads count as consistent ones.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto.core.models import botocore_stubber
from moto.dynamodb.models.dynamo_type import DynamoType

from tests.simulated.dynamodb import answer, client_answered_by
from tests.simulated.wire import subject_of
from tests.tables import table_behind

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_READ_UNIT: Final = 4096  # bytes
_WRITE_UNIT: Final = 1024  # bytes
Item = Mapping[str, Any]


@dataclass(frozen=True)
class CountedCall:
    """One call to AWS."""

    operation: str
    subject: str
    """The subject: a task, a caller's usage, the wait slots."""
    items: int = 0
    """The number of items read."""
    read: int = 0
    """Read units."""
    written: int = 0
    """Write units."""


def counted_dynamodb_client(calls: list[CountedCall]) -> "DynamoDBClient":
    """Return a client that appends each call to the list."""

    def answer_and_note(event_name: str, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        operation = event_name.rpartition(".")[2]
        response = answer(operation, request) or botocore_stubber(event_name, request)
        calls.append(_call(operation, request, _with_items(operation, request, response)))
        return response

    return client_answered_by(answer_and_note)


def _with_items(operation: str, request: AWSPreparedRequest, response: AWSResponse | None) -> AWSResponse | None:
    """Return a response with the items that were read, also of a query that only counts them: it costs the same."""
    body: Item = json.loads(cast(Any, request.body))
    if operation != "Query" or body.get("Select") != "COUNT":
        return response
    text = json.dumps({**body, "Select": "ALL_ATTRIBUTES"}).encode()
    return answer(
        operation, AWSPreparedRequest(request.method, request.url, request.headers, text, stream_output=False)
    )


def _call(operation: str, request: AWSPreparedRequest, response: AWSResponse | None) -> CountedCall:
    body: Item = json.loads(cast(Any, request.body))
    subject = subject_of(request)
    if operation == "TransactWriteItems":  # each part costs twice its write
        parts = (next(iter(part.values())) for part in body["TransactItems"])
        return CountedCall(operation, subject, written=sum(2 * _units_of(_written(part)) for part in parts))
    if operation in {"PutItem", "UpdateItem", "DeleteItem"}:
        return CountedCall(operation, subject, written=_units_of(_written(body)))
    if operation == "TransactGetItems":  # each item costs twice its read
        items = [one.get("Item", {}) for one in json.loads(response.content if response else b"{}")["Responses"]]
        return CountedCall(
            operation, subject, len(items), sum(2 * max(1, ceil(_size(one) / _READ_UNIT)) for one in items)
        )
    found = _found(json.loads(response.content if response else b"{}"))
    if operation == "Query":  # a query is charged for the sum of its items, other calls for each item
        a_unit = _READ_UNIT if body.get("ConsistentRead") else 2 * _READ_UNIT
        return CountedCall(operation, subject, len(found), max(1, ceil(sum(map(_size, found)) / a_unit)))
    asked = sum(len(one["Keys"]) for one in body.get("RequestItems", {}).values()) or 1
    units = sum(ceil(_size(one) / _READ_UNIT) for one in found)
    return CountedCall(operation, subject, len(found), units + asked - len(found))


def _units_of(item: Item) -> int:
    return max(1, ceil(_size(item) / _WRITE_UNIT))


def _written(body: Item) -> Item:
    """Return the item that a write leaves, or that made its condition fail."""
    if "Item" in body:
        return body["Item"]
    hash_key, range_key = (DynamoType(body["Key"][name]) for name in ("pk", "sk"))
    found = table_behind(body["TableName"]).get_item(hash_key, range_key)
    return found.to_json()["Attributes"] if found else {}


def _found(answered: Item) -> list[Item]:
    lists = answered.get("Responses", {}).values()
    one = [answered["Item"]] if "Item" in answered else list[Item]()
    return [*one, *answered.get("Items", []), *(item for items in lists for item in items)]


def _size(value: Any) -> int:
    """Return the size of a value in bytes: names and texts count, markers of types and structure hardly do."""
    if isinstance(value, Mapping):
        return sum(len(name) + _size(one) for name, one in cast(Item, value).items())
    if isinstance(value, list):
        return sum(_size(one) for one in cast(list[Any], value))
    return len(str(value).encode())
