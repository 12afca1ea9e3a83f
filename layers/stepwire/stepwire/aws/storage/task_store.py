"""The task store on DynamoDB: a small item per task, under its owner, and every save conditional on the loaded version.

Reads are strongly consistent, so a task can be read as soon as its handle was returned (X8). `items` defines the items.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from stepwire.aws.s3 import LargeResults
from stepwire.aws.storage.items import (
    NEGLECTED_INDEX,
    SHARDS,
    TASK_PREFIX,
    Parts,
    divided,
    item_key,
    task_key_from_item,
    task_of,
)
from stepwire.aws.storage.limiter import CallerUsage
from stepwire.aws.storage.table import Item, Table, in_milliseconds, in_seconds
from stepwire.codec import decode, encode_without, moment_of_seconds
from stepwire.engine.ports import KeyClaim, TaskPage, UncheckedPage, WatchedTask
from stepwire.errors import SaveConflict, StoreBusy, TaskExists
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.task import Task

_IS_NEW: Final = "attribute_not_exists(pk)"
_IS_AS_LOADED: Final = "version = :version"
# A retry may create a task anew after it was taken back: the same id and version, but another task.
_IS_SAME_CREATION: Final = "created_at = :created_at"
_IS_ABANDONED: Final = "task_id = :abandoned"
_IS_NOT_CANCELLED: Final = "attribute_not_exists(cancelled)"
# Clients must not reuse a request id, but some do: the cancelled request had another task.
_IS_OF_AN_EARLIER_CALL: Final = "(attribute_exists(task_id) AND task_id <> :task_id)"
_PAGE: Final = 100  # tasks
_BESIDE_A_CLAIM: Final = ("task_id", "expires_at")  # attributes: of a condition, and of the TTL
_BOOKMARK: Final = {"pk": {"S": "sweep"}, "sk": {"S": "bookmark"}}  # no principal has this form


class DynamoDbTaskStore(Struct, frozen=True):
    """`TaskStore` in a DynamoDB table."""

    table: Table
    parts: Parts
    slots: CallerUsage

    def create(self, task: Task) -> Task:
        stored = divided(replace(task, version=1))
        self.parts.write(stored)
        found = self.table.put(stored.item, _IS_NEW)
        # An identical item is our own: an earlier attempt succeeded, and its response was lost.
        if found is not None and found != stored.item:
            raise TaskExists
        return stored.head

    def claim_key(
        self, owner: Principal, digest: str, claim: KeyClaim, replacing: TaskId | None = None
    ) -> KeyClaim | None:
        item = {
            **_idempotency_item_key(owner, digest),
            "claim": {"S": encode_without(_BESIDE_A_CLAIM, claim)},
            "task_id": {"S": claim.task_id},
            "expires_at": in_seconds(claim.expires_at),
        }
        abandoned = None if replacing is None else {":abandoned": {"S": replacing}}
        found = self.table.put(item, f"{_IS_NEW} OR {_IS_ABANDONED}" if abandoned else _IS_NEW, abandoned)
        other = None if found is None else _claim_of(found)
        # An identical claim is our own: an earlier attempt succeeded, and its response was lost.
        is_own = other is not None and (other.task_id, other.claimed_at) == (claim.task_id, claim.claimed_at)
        return None if is_own else other

    def load_key_claim(self, owner: Principal, digest: str) -> KeyClaim | None:
        item = self.table.get(_idempotency_item_key(owner, digest))
        return None if item is None else _claim_of(item)

    def load_many(self, owner: Principal, task_ids: frozenset[TaskId]) -> Mapping[TaskId, Task]:
        items = self.table.get_all([item_key(TaskKey(owner, task_id)) for task_id in sorted(task_ids)])
        return {task.task_id: task for task in map(task_of, items)}

    def load_all(self, keys: Sequence[TaskKey]) -> Mapping[TaskKey, Task]:
        # Each key once: BatchGetItem refuses a list that has one twice, as of two arms of a race that hold turns.
        items = self.table.get_all([item_key(key) for key in dict.fromkeys(keys)], is_consistent=False)
        return {task.key: task for task in map(task_of, items)}

    def load(self, key: TaskKey) -> Task | None:
        item = self.table.get(item_key(key))
        return None if item is None else task_of(item)

    def load_watched(self, key: TaskKey, request: str) -> WatchedTask:
        request_key = _request_key(key.owner, request)
        answer = self.table.client.batch_get_item(
            RequestItems={self.table.name: {"Keys": [item_key(key), request_key], "ConsistentRead": True}}
        )
        if answer.get("UnprocessedKeys"):
            raise StoreBusy
        found_items = cast(list[Item], answer["Responses"].get(self.table.name, []))
        items = {item["sk"]["S"]: item for item in found_items}
        found = items.get(TASK_PREFIX + key.task_id)
        is_cancelled = "cancelled" in items.get(request_key["sk"]["S"], {})
        return WatchedTask(task_of(found) if found else None, is_cancelled)

    def begin_request(self, owner: Principal, request: str, task_id: TaskId, until: datetime) -> bool:
        found = self.table.put(
            {**_request_key(owner, request), "task_id": {"S": task_id}, "expires_at": in_seconds(until)},
            f"{_IS_NOT_CANCELLED} OR {_IS_OF_AN_EARLIER_CALL}",
            {":task_id": {"S": task_id}},
        )
        return found is None

    def cancel_request(self, owner: Principal, request: str, until: datetime) -> TaskId | None:
        updated = self.table.client.update_item(
            TableName=self.table.name,
            Key=_request_key(owner, request),
            UpdateExpression="SET cancelled = :yes, expires_at = :expires",
            ExpressionAttributeValues={":yes": {"BOOL": True}, ":expires": in_seconds(until)},
            ReturnValues="ALL_NEW",
        )
        found = cast(Item, updated.get("Attributes", {})).get("task_id")
        return None if found is None else TaskId(found["S"])

    def save(self, task: Task) -> Task:
        saved = divided(replace(task, version=task.version + 1))
        self.parts.write(saved)
        if self.table.put(saved.item, _IS_AS_LOADED, {":version": {"N": str(task.version)}}) is not None:
            raise SaveConflict
        return saved.head

    def delete(self, task: Task) -> bool:
        values = {":version": {"N": str(task.version)}, ":created_at": in_milliseconds(task.created_at)}
        return not self.table.delete(item_key(task.key), f"{_IS_AS_LOADED} AND {_IS_SAME_CREATION}", values)

    def unchecked_since(self, since: datetime, after: str | None) -> UncheckedPage:
        """Return a page of tasks that were last checked before then, with tasks from every shard that has more."""
        cursors: dict[str, Item | None] = dict.fromkeys(SHARDS) if after is None else json.loads(after)
        keys, more = list[TaskKey](), dict[str, Item]()
        for shard, last in cursors.items():
            start: dict[str, Any] = {} if last is None else {"ExclusiveStartKey": last}
            found = self.table.client.query(
                TableName=self.table.name,
                IndexName=NEGLECTED_INDEX,
                # `open` is a reserved word of DynamoDB.
                KeyConditionExpression="#open = :shard AND checked_at <= :since",
                ExpressionAttributeNames={"#open": "open"},
                ExpressionAttributeValues={":shard": {"S": shard}, ":since": in_milliseconds(since)},
                Limit=_PAGE // len(SHARDS),
                **start,
            )
            keys += [task_key_from_item(cast(Item, item)) for item in found["Items"]]
            if "LastEvaluatedKey" in found:
                more[shard] = cast(Item, found["LastEvaluatedKey"])
        return UncheckedPage(tuple(keys), json.dumps(more) if more else None)

    def bookmark(self) -> str | None:
        item = self.table.get(_BOOKMARK)
        return None if item is None else item["after"]["S"]

    def save_bookmark(self, after: str | None) -> None:
        if after is None:
            self.table.client.delete_item(TableName=self.table.name, Key=_BOOKMARK)
        else:
            self.table.put({**_BOOKMARK, "after": {"S": after}})

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        """Return a page of an owner's tasks, newest first; ids sort by age."""
        start: dict[str, Any] = {"ExclusiveStartKey": item_key(TaskKey(owner, after))} if after else {}
        response = self.table.client.query(
            TableName=self.table.name,
            KeyConditionExpression="pk = :owner AND begins_with(sk, :prefix)",
            ExpressionAttributeValues={":owner": {"S": owner}, ":prefix": {"S": TASK_PREFIX}},
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit,
            **start,
        )
        last = cast(Item | None, response.get("LastEvaluatedKey"))
        tasks = tuple(task_of(cast(Item, item)) for item in response["Items"])
        return TaskPage(tasks, task_key_from_item(last).task_id if last else None)


def no_large_results() -> LargeResults:
    """Stand for the bucket in a function that has none."""
    raise NotImplementedError("this function neither records ends nor returns results")


def task_store(table: Table, build_large_results: Callable[[], LargeResults] = no_large_results) -> DynamoDbTaskStore:
    """Return the task store in a table; functions that neither record ends nor return results need no bucket."""
    return DynamoDbTaskStore(table, Parts(table, build_large_results), CallerUsage(table))


def _claim_of(item: Item) -> KeyClaim:
    expires_at = moment_of_seconds(int(item["expires_at"]["N"]))
    return decode(item["claim"]["S"], KeyClaim, task_id=item["task_id"]["S"], expires_at=expires_at)


def _idempotency_item_key(owner: Principal, digest: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": f"key#{digest}"}}


def _request_key(owner: Principal, request: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": f"request#{request}"}}
