"""The wait slots in DynamoDB: one item per pool, holding a set of leases as numbers.

A lease's number sorts by its expiry: milliseconds since 1970, followed by digits that tell leases of the same
millisecond apart.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from stepwire.aws.storage.conditions import is_failed_condition, item_found
from stepwire.aws.storage.times import milliseconds_of, seconds_of
from stepwire.engine.ports import Lease

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_HAS_A_FREE_SLOT: Final = "attribute_not_exists(leases) OR size(leases) < :most OR contains(leases, :number)"
_ITEM_RETENTION: Final = timedelta(days=1)  # longer than any lease; then DynamoDB's TTL removes an unused pool
_NUMBERS_PER_MILLISECOND: Final = 100_000  # more than the largest `Lease.number`


class DynamoDbWaitSlots(Struct, frozen=True, dict=True):
    """`WaitSlots` in a DynamoDB table. The client is built on the first call."""

    table_name: str
    build_client: "Callable[[], DynamoDBClient]"

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self.build_client()

    def acquire(self, pool: str, lease: Lease, most: int, at: datetime) -> bool:
        blocking = self._add(pool, lease, most)
        expired = [number for number in blocking if _expiry_of(number) < milliseconds_of(at)]
        if expired:
            self._remove(pool, expired)
            blocking = self._add(pool, lease, most)
        return not blocking

    def release(self, pool: str, lease: Lease) -> None:
        self._remove(pool, [_number(lease)])

    def _add(self, pool: str, lease: Lease, most: int) -> list[str]:
        """Add a lease to a pool that has a free slot, or has the lease; else return the leases that fill the pool."""
        try:
            self._client.update_item(
                TableName=self.table_name,
                Key=_key(pool),
                UpdateExpression="ADD leases :lease SET expires_at = :expires",
                ConditionExpression=_HAS_A_FREE_SLOT,
                ExpressionAttributeValues={
                    ":lease": {"NS": [_number(lease)]},
                    ":most": {"N": str(most)},
                    ":number": {"N": _number(lease)},
                    ":expires": {"N": str(seconds_of(lease.until + _ITEM_RETENTION))},
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if not is_failed_condition(error):
                raise
            return item_found(error)["leases"]["NS"]
        return []

    def _remove(self, pool: str, numbers: list[str]) -> None:
        self._client.update_item(
            TableName=self.table_name,
            Key=_key(pool),
            UpdateExpression="DELETE leases :leases",
            ExpressionAttributeValues={":leases": {"NS": numbers}},
        )


def _number(lease: Lease) -> str:
    return str(milliseconds_of(lease.until) * _NUMBERS_PER_MILLISECOND + lease.number)


def _expiry_of(number: str) -> int:
    return int(number) // _NUMBERS_PER_MILLISECOND


def _key(pool: str) -> dict[str, Any]:
    return {"pk": {"S": pool}, "sk": {"S": "waits"}}
