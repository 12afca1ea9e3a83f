"""The places of requests that wait, in the table: one item a room, with a set of leases, each a number.

A number sorts by when its lease lapses: milliseconds since 1970, then digits that tell leases of one moment apart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from stepwire.aws.items import milliseconds_of, seconds_of
from stepwire.ports import Lease

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_HAS_A_PLACE: Final = "attribute_not_exists(leases) OR size(leases) < :most"
_KEPT: Final = timedelta(days=1)  # longer than any lease; then DynamoDB removes a room that nobody enters
_APART: Final = 100_000  # more than a lease's random number


@dataclass(frozen=True)
class DynamoDbPlaces:
    """Places in a DynamoDB table. The client is built when the first call needs it."""

    table_name: str
    build_client: "Callable[[], DynamoDBClient]"

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self.build_client()

    def take(self, room: str, lease: Lease, most: int, at: datetime) -> bool:
        """Take a place."""
        lapsed = self._taken(room, lease, most, at)
        if lapsed:
            self._remove(room, lapsed)
            lapsed = self._taken(room, lease, most, at)
        return lapsed is None

    def give_back(self, room: str, lease: Lease) -> None:
        """Give a place back."""
        self._remove(room, [_number(lease)])

    def _taken(self, room: str, lease: Lease, most: int, at: datetime) -> list[str] | None:
        """Take a place, and give None; or give the leases that have lapsed, of all those that are in the way."""
        try:
            self._client.update_item(
                TableName=self.table_name,
                Key=_key(room),
                UpdateExpression="ADD leases :lease SET expires_at = :expires",
                ConditionExpression=_HAS_A_PLACE,
                ExpressionAttributeValues={
                    ":lease": {"NS": [_number(lease)]},
                    ":most": {"N": str(most)},
                    ":expires": {"N": str(seconds_of(lease.until + _KEPT))},
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "ConditionalCheckFailedException":
                raise
            item: Any = error.response.get("Item") or {}
            held: list[str] = item.get("leases", {}).get("NS", [])
            return [number for number in held if int(number) // _APART < milliseconds_of(at)]
        return None

    def _remove(self, room: str, numbers: list[str]) -> None:
        self._client.update_item(
            TableName=self.table_name,
            Key=_key(room),
            UpdateExpression="DELETE leases :leases",
            ExpressionAttributeValues={":leases": {"NS": numbers}},
        )


def _number(lease: Lease) -> str:
    return str(milliseconds_of(lease.until) * _APART + lease.number)


def _key(room: str) -> dict[str, Any]:
    return {"pk": {"S": room}, "sk": {"S": "waits"}}
