"""The wait slots in DynamoDB: one item per pool, holding a set of leases as numbers.

A lease's number sorts by its expiry: milliseconds since 1970, followed by digits that tell leases of the same
millisecond apart.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.aws.storage.table import Item, Table, milliseconds_of, seconds_of
from stepwire.engine.ports import Lease

_HAS_A_FREE_SLOT: Final = "attribute_not_exists(leases) OR size(leases) < :most OR contains(leases, :number)"
_ITEM_RETENTION: Final = timedelta(days=1)  # longer than any lease; then DynamoDB's TTL removes an unused pool
_NUMBERS_PER_MILLISECOND: Final = 100_000  # more than the largest `Lease.number`


class DynamoDbWaitSlots(Struct, frozen=True):
    """`WaitSlots` in a DynamoDB table."""

    table: Table

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
        values = {
            ":lease": {"NS": [_number(lease)]},
            ":most": {"N": str(most)},
            ":number": {"N": _number(lease)},
            ":expires": {"N": str(seconds_of(lease.until + _ITEM_RETENTION))},
        }
        expression = "ADD leases :lease SET expires_at = :expires"
        found = self.table.update(_key(pool), expression, _HAS_A_FREE_SLOT, values)
        return [] if found is None else found["leases"]["NS"]

    def _remove(self, pool: str, numbers: list[str]) -> None:
        self.table.update(_key(pool), "DELETE leases :leases", "", {":leases": {"NS": numbers}})


def _number(lease: Lease) -> str:
    return str(milliseconds_of(lease.until) * _NUMBERS_PER_MILLISECOND + lease.number)


def _expiry_of(number: str) -> int:
    return int(number) // _NUMBERS_PER_MILLISECOND


def _key(pool: str) -> Item:
    return {"pk": {"S": pool}, "sk": {"S": "waits"}}
