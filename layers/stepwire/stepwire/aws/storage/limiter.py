"""What callers use: the slots of their active tasks, the rate at which they call, and the slots of waiting requests.

    pk  the caller's principal    sk  "usage#" + the number of the shard, from 0
    active  the ids of the tasks that hold a slot
    paced_until, reclaimed_at  epoch milliseconds; the latter of the first shard only
    pk  a pool of wait slots      sk  "waits"
    leases  numbers that sort by expiry: milliseconds since 1970, and digits that tell leases of a millisecond apart
    rests_until, refused_until, refusals  of one caller's pool: `stepwire.tasks.limiter` says what they mean
    wanted_until, wanted_by  of the pool of all: until when those get no slot that rest longer than until `wanted_by`

A call that takes no slot counts against the same rate (`count`).
`stepwire.tasks.limiter` divides the limits into shards. The rule: each write changes one item, under the condition that
the item's own share of the limits has room; so writes never conflict, and the shares add up to the limits.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, cast

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from stepwire.aws.storage.table import Item, Table, in_milliseconds, in_seconds, refused_item
from stepwire.codec import MILLISECOND, milliseconds_of, moment_of
from stepwire.engine.ports import Lease, SlotTaken
from stepwire.errors import StoreBusy
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.limiter import (
    RECLAIM_PAUSE,
    Limits,
    Refused,
    SlotsTaken,
    Usage,
    admit,
    admit_anywhere,
    count_call,
    home_of,
    pause_after,
)
from stepwire.tasks.task import AFTER_ANY_TASK

USAGE: Final = "usage"
# A caller changes between idle and busy rarely; more retries than this mean a fault of ours.
MOST_TRIES: Final = 5
_IS_IDLE: Final = "(attribute_not_exists(paced_until) OR paced_until <= :now)"
_IS_IN_PACE: Final = "paced_until > :now AND paced_until <= :horizon"
_HAS_A_SLOT: Final = "(attribute_not_exists(active) OR (size(active) < :most AND NOT contains(active, :text)))"
_IS_RESERVED: Final = "contains(active, :text)"
_MAY_RECLAIM: Final = "attribute_exists(pk) AND (attribute_not_exists(reclaimed_at) OR reclaimed_at <= :before)"
_IS_NOT_REFUSED: Final = "(attribute_not_exists(refused_until) OR refused_until <= :now)"
_RESTS_LEAST: Final = "attribute_not_exists(wanted_until) OR wanted_until <= :now OR wanted_by >= :rests"
_HAS_A_FREE_SLOT: Final = "attribute_not_exists(leases) OR size(leases) < :most OR contains(leases, :number)"
_POOL_RETENTION: Final = timedelta(days=1)  # longer than any lease; then DynamoDB's TTL removes an unused pool
_NUMBERS_PER_MILLISECOND: Final = 100_000  # more than the largest `Lease.number`


class CallerUsage(Struct, frozen=True):
    """`ActiveSlots` and `CallRate` in a DynamoDB table."""

    table: Table

    def reserve(self, key: TaskKey, limits: Limits, at: datetime) -> int | Refused:
        home = home_of(key.task_id, limits)
        refusal = self._count_in(home, key.owner, limits.share(home), at, key.task_id)
        if refusal is None:
            return home
        if limits.shards == 1:
            return refusal
        for _ in range(MOST_TRIES):
            shard = admit_anywhere(self._shards_of(key.owner), limits, key.task_id, at)
            if isinstance(shard, Refused):
                return shard
            if self._count_in(shard, key.owner, limits.share(shard), at, key.task_id) is None:
                return shard
        raise StoreBusy

    def _shards_of(self, owner: Principal) -> dict[int, Usage]:
        """Return what is used of all shards: at most 10,000 ids, which one response has room for."""
        found = self.table.client.query(
            TableName=self.table.name,
            KeyConditionExpression="pk = :owner AND begins_with(sk, :prefix)",
            ExpressionAttributeValues={":owner": {"S": owner}, ":prefix": {"S": USAGE}},
            ConsistentRead=True,
        )
        items = cast(list[Item], found["Items"])
        return {int(item["sk"]["S"].removeprefix(f"{USAGE}#")): usage_of(item) for item in items}

    def count(self, owner: Principal, limits: Limits, at: datetime) -> Refused | None:
        first = milliseconds_of(at) % limits.shards  # the shards have their turns, by the millisecond
        refusals = list[Refused]()
        for shard in (*range(first, limits.shards), *range(first)):
            refusal = self._count_in(shard, owner, limits.share(shard), at)
            if refusal is None:
                return None
            refusals.append(refusal)
        return min(refusals, key=lambda one: one.retry_after)

    def _count_in(
        self, shard: int, owner: Principal, share: Limits, at: datetime, task_id: TaskId | None = None
    ) -> Refused | None:
        """Count one more call and, for a task, take a slot; return None, or why the shard has no room."""
        if task_id is not None and not share.active:  # a set that is not there yet has no size to compare
            return SlotsTaken()
        usage = Usage()
        for _ in range(MOST_TRIES):
            found = self._add_call(usage_key(owner, shard), share, usage, at, task_id)
            if found is None:
                return None
            usage = usage_of(found)
            if task_id in usage.active:
                return None
            decided = count_call(usage, share, at) if task_id is None else admit(usage, share, task_id, at)
            if isinstance(decided, Refused):
                return decided
        raise StoreBusy

    def _add_call(self, key: Item, share: Limits, usage: Usage, at: datetime, task_id: TaskId | None) -> Item | None:
        """Write a call, and the slot of a task, if the owner's usage is this; return None, or the item if it is not.

        A busy caller's theoretical arrival time is increased, so that concurrent calls all count; an idle one's is set.
        """
        pace, now = share.rate.pace // MILLISECOND, milliseconds_of(at)
        values: Item = {":now": {"N": str(now)}, ":expires": in_seconds(at + AFTER_ANY_TASK)}
        if usage.paced_until is None or usage.paced_until <= at:
            paced, condition = ":next", _IS_IDLE
            values[":next"] = {"N": str(now + pace)}
        else:
            paced, condition = "paced_until + :pace", _IS_IN_PACE
            values |= {":pace": {"N": str(pace)}, ":horizon": {"N": str(now + share.rate.burst // MILLISECOND - pace)}}
        update = f"SET paced_until = {paced}, expires_at = :expires"
        if task_id is not None:
            update, condition = f"{update} ADD active :id", f"{condition} AND {_HAS_A_SLOT}"
            values |= {":id": {"SS": [task_id]}, ":text": {"S": task_id}, ":most": {"N": str(share.active)}}
        return self.table.update(key, update, condition, values)

    def release(self, owner: Principal, task_ids: frozenset[TaskId], shard: int = 0) -> None:
        self._changes(owner, shard, "DELETE active :ids", "", {":ids": {"SS": sorted(task_ids)}})

    def begin_reclaim(self, owner: Principal, at: datetime) -> bool:
        now = milliseconds_of(at)
        return self._changes(
            owner,
            0,
            "SET reclaimed_at = :now",
            _MAY_RECLAIM,
            {":now": {"N": str(now)}, ":before": {"N": str(now - RECLAIM_PAUSE // MILLISECOND)}},
        )

    def unreserve(self, key: TaskKey, limits: Limits, shard: int = 0) -> None:
        # The rate is given back only in the write that frees the slot, so that doing it again is harmless.
        self._changes(
            key.owner,
            shard,
            "SET paced_until = paced_until - :pace DELETE active :id",
            _IS_RESERVED,
            {
                ":id": {"SS": [key.task_id]},
                ":text": {"S": key.task_id},
                ":pace": {"N": str(limits.share(shard).rate.pace // MILLISECOND)},
            },
        )

    def _changes(self, owner: Principal, shard: int, update: str, condition: str, values: Item) -> bool:
        """Write an update, and return whether its condition held."""
        try:
            return self.table.update(usage_key(owner, shard), update, condition, values) is None
        except (ClientError, BotoCoreError) as error:
            raise StoreBusy from error


def usage_key(owner: Principal, shard: int = 0) -> Item:
    """Return the primary key of the item with what a caller uses of a shard of the limits."""
    return {"pk": {"S": owner}, "sk": {"S": f"{USAGE}#{shard}"}}


def usage_of(item: Item) -> Usage:
    """Return a caller's usage from its item, which may be empty."""
    active = frozenset(map(TaskId, item.get("active", {}).get("SS", ())))
    return Usage(active, _moment_in(item, "paced_until"), _moment_in(item, "reclaimed_at"))


class DynamoDbWaitSlots(Struct, frozen=True):
    """`WaitSlots` in a DynamoDB table."""

    table: Table

    def acquire(
        self, pool: str, lease: Lease, most: int, at: datetime, rests_until: datetime | None = None
    ) -> SlotTaken | Refused:
        added, item = self._add(pool, lease, most, at, rests_until)
        now = milliseconds_of(at)
        expired = [number for number in _leases_of(item) if int(number) // _NUMBERS_PER_MILLISECOND < now]
        if not added and expired:
            self._change(pool, "DELETE leases :leases", {":leases": {"NS": expired}})
            added, item = self._add(pool, lease, most, at, rests_until)
        if not added:
            until = _moment_in(item, "refused_until")
            return Refused(until - at if until and until > at else pause_after(0))
        others = set(_leases_of(item)) - {*expired, _number(lease)}
        return SlotTaken(len(others), _moment_in(item, "rests_until"), int(item.get("refusals", {}).get("N", 0)))

    def refuse(self, pool: str, lease: Lease, until: datetime, refusals: int) -> None:
        values = {":until": in_milliseconds(until), ":refusals": {"N": str(refusals)}}
        update = "SET refused_until = :until, refusals = :refusals DELETE leases :leases"
        self._change(pool, update, {":leases": {"NS": [_number(lease)]}, **values})

    def release(self, pool: str, lease: Lease, rests_until: datetime | None = None) -> None:
        rest = "" if rests_until is None else "SET rests_until = :rests "
        values = {} if rests_until is None else {":rests": in_milliseconds(rests_until)}
        update = f"{rest}DELETE leases :leases REMOVE refused_until, refusals"
        self._change(pool, update, {":leases": {"NS": [_number(lease)]}, **values})

    def want(self, pool: str, rests_until: datetime | None, at: datetime, until: datetime) -> None:
        values = {":rests": _rest(rests_until, at), ":now": in_milliseconds(at), ":until": in_milliseconds(until)}
        update = "SET wanted_until = :until, wanted_by = :rests"
        self.table.update_if(_pool_key(pool), update, _RESTS_LEAST, values)

    def _add(self, pool: str, lease: Lease, most: int, at: datetime, rests_until: datetime | None) -> tuple[bool, Item]:
        """Add a lease to a pool that has a free slot, or has the lease; return whether it was, and the pool's item."""
        values = {
            ":rests": _rest(rests_until, at),
            ":lease": {"NS": [_number(lease)]},
            ":most": {"N": str(most)},
            ":number": {"N": _number(lease)},
            ":now": in_milliseconds(at),
            ":expires": in_seconds(lease.until + _POOL_RETENTION),
        }
        try:
            answer = self.table.client.update_item(
                TableName=self.table.name,
                Key=_pool_key(pool),
                UpdateExpression="ADD leases :lease SET expires_at = :expires",
                ConditionExpression=f"{_IS_NOT_REFUSED} AND ({_RESTS_LEAST}) AND ({_HAS_A_FREE_SLOT})",
                ExpressionAttributeValues=values,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            return False, refused_item(error)
        return True, cast(Item, answer.get("Attributes", {}))

    def _change(self, pool: str, update: str, values: Item) -> None:
        self.table.update(_pool_key(pool), update, "", values)


def _rest(rests_until: datetime | None, at: datetime) -> Item:
    """Return until when a caller rests, as an attribute's value: 0 for all that do not."""
    return {"N": "0"} if rests_until is None or rests_until <= at else in_milliseconds(rests_until)


def _leases_of(item: Item) -> Sequence[str]:
    return item.get("leases", {}).get("NS", ())


def _moment_in(item: Item, name: str) -> datetime | None:
    return moment_of(int(item[name]["N"])) if name in item else None


def _number(lease: Lease) -> str:
    return str(milliseconds_of(lease.until) * _NUMBERS_PER_MILLISECOND + lease.number)


def _pool_key(pool: str) -> Item:
    return {"pk": {"S": pool}, "sk": {"S": "waits"}}
