"""The task store on DynamoDB: a small item per task, under its owner, and every save conditional on the loaded version.

Reads are strongly consistent, so a task can be read as soon as its handle was returned (X8). `items` defines the items,
`parts` those beside them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import ClientError
from msgspec import Struct
from msgspec.structs import replace

from stepwire.aws.storage.conditions import is_failed_condition, item_found
from stepwire.aws.storage.items import (
    NEGLECTED_INDEX,
    SHARDS,
    TASK_PREFIX,
    Item,
    item_key,
    task_key_from_item,
    task_of,
)
from stepwire.aws.storage.parts import Parts, divided, no_large_results
from stepwire.aws.storage.times import milliseconds_of, moment_of, moment_of_seconds, seconds_of
from stepwire.aws.storage.usage import MOST_TRIES, CallerUsage
from stepwire.engine.ports import KeyClaim, TaskPage, UncheckedPage, WatchedTask
from stepwire.errors import SaveConflict, StoreBusy, TaskExists
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.task import ResultElsewhere, Task, Terms, ToolResult
from stepwire.tasks.usage import Limits

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from stepwire.aws.storage.large_results import LargeResults

_IS_NEW: Final = "attribute_not_exists(pk)"
_IS_AS_LOADED: Final = "version = :version"
# A retry may create a task anew after it was taken back: the same id and version, but another task.
_IS_SAME_CREATION: Final = "created_at = :created_at"
_IS_ABANDONED: Final = "task_id = :abandoned"
_IS_NOT_CANCELLED: Final = "attribute_not_exists(cancelled)"
# Clients must not reuse a request id, but some do: the cancelled request had another task.
_IS_OF_AN_EARLIER_CALL: Final = "(attribute_exists(task_id) AND task_id <> :task_id)"
_MOST_KEYS: Final = 100  # of one BatchGetItem
_PAGE: Final = 100  # tasks
_BOOKMARK: Final = {"pk": {"S": "sweep"}, "sk": {"S": "bookmark"}}  # no principal has this form


class DynamoDbTaskStore(Struct, frozen=True, dict=True):
    """`TaskStore` in a DynamoDB table. The client is built on the first call, S3's with the first large result."""

    table_name: str
    build_client: "Callable[[], DynamoDBClient]"
    build_large_results: "Callable[[], LargeResults]" = no_large_results
    """Not set in functions that neither record ends nor return results."""

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self.build_client()

    @cached_property
    def _parts(self) -> Parts:
        return Parts(self.table_name, lambda: self._client, lambda: self._large_results)

    @cached_property
    def _large_results(self) -> "LargeResults":
        return self.build_large_results()

    @cached_property
    def _usage(self) -> CallerUsage:
        return CallerUsage(self.table_name, lambda: self._client)

    def create(self, task: Task) -> Task:
        stored = divided(replace(task, version=1))
        self._parts.write(stored)
        try:
            self._client.put_item(
                TableName=self.table_name,
                Item=stored.item,
                ConditionExpression=_IS_NEW,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if not is_failed_condition(error):
                raise
            # An identical item is our own: an earlier attempt succeeded, and its response was lost.
            if item_found(error) != stored.item:
                raise TaskExists from None
        return stored.head

    def terms_of(self, task: Task) -> Terms:
        return self._parts.terms_of(task)

    def result_of(self, task: Task, kept: ResultElsewhere) -> ToolResult:
        return self._parts.result_of(task, kept)

    def claim_key(
        self, owner: Principal, digest: str, claim: KeyClaim, replacing: TaskId | None = None
    ) -> KeyClaim | None:
        values: dict[str, Any] = (
            {} if replacing is None else {"ExpressionAttributeValues": {":abandoned": {"S": replacing}}}
        )
        try:
            self._client.put_item(
                TableName=self.table_name,
                Item={**_idempotency_item_key(owner, digest), **_item_of_claim(claim)},
                ConditionExpression=_IS_NEW if replacing is None else f"{_IS_NEW} OR {_IS_ABANDONED}",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **values,
            )
        except ClientError as error:
            if not is_failed_condition(error):
                raise
            found = _claim_of(item_found(error))
            # An identical claim is our own: an earlier attempt succeeded, and its response was lost.
            return None if (found.task_id, found.claimed_at) == (claim.task_id, claim.claimed_at) else found
        return None

    def load_key_claim(self, owner: Principal, digest: str) -> KeyClaim | None:
        found = self._client.get_item(
            TableName=self.table_name, Key=_idempotency_item_key(owner, digest), ConsistentRead=True
        )
        item = cast(Item | None, found.get("Item"))
        return None if item is None else _claim_of(item)

    def reserve(self, key: TaskKey, limits: Limits, at: datetime, slots: int = 1) -> int:
        return self._usage.reserve(key, limits, at, slots)

    def release(self, owner: Principal, slots: frozenset[str], shard: int = 0) -> None:
        self._usage.release(owner, slots, shard)

    def begin_reclaim(self, owner: Principal, at: datetime) -> bool:
        return self._usage.begin_reclaim(owner, at)

    def unreserve(self, key: TaskKey, limits: Limits, shard: int = 0, slots: int = 1) -> None:
        self._usage.unreserve(key, limits, shard, slots)

    def load_many(self, owner: Principal, task_ids: frozenset[TaskId]) -> Mapping[TaskId, Task]:
        keys = [TaskKey(owner, task_id) for task_id in sorted(task_ids)]
        return {task.task_id: task for task in self._tasks_of(keys, is_consistent=True)}

    def load_all(self, keys: Sequence[TaskKey]) -> Mapping[TaskKey, Task]:
        pages = (keys[start : start + _MOST_KEYS] for start in range(0, len(keys), _MOST_KEYS))
        return {task.key: task for page in pages for task in self._tasks_of(page, is_consistent=False)}

    def _tasks_of(self, keys: Sequence[TaskKey], *, is_consistent: bool) -> Iterator[Task]:
        wanted: dict[str, Any] = {
            self.table_name: {"Keys": [item_key(key) for key in keys], "ConsistentRead": is_consistent}
        }
        for _ in range(MOST_TRIES):  # one response holds 16 MB; the rest is requested again
            answer = self._client.batch_get_item(RequestItems=wanted)
            yield from map(task_of, cast(list[Item], answer["Responses"].get(self.table_name, [])))
            wanted = cast(dict[str, Any], answer.get("UnprocessedKeys") or {})
            if not wanted:
                return
        raise StoreBusy

    def load(self, key: TaskKey) -> Task | None:
        response = self._client.get_item(TableName=self.table_name, Key=item_key(key), ConsistentRead=True)
        item = response.get("Item")
        return task_of(cast(Item, item)) if item else None

    def load_watched(self, key: TaskKey, request: str) -> WatchedTask:
        request_key = _request_key(key.owner, request)
        answer = self._client.batch_get_item(
            RequestItems={self.table_name: {"Keys": [item_key(key), request_key], "ConsistentRead": True}}
        )
        if answer.get("UnprocessedKeys"):
            raise StoreBusy
        found_items = cast(list[Item], answer["Responses"].get(self.table_name, []))
        items = {item["sk"]["S"]: item for item in found_items}
        found = items.get(TASK_PREFIX + key.task_id)
        is_cancelled = "cancelled" in items.get(request_key["sk"]["S"], {})
        return WatchedTask(task_of(found) if found else None, is_cancelled)

    def begin_request(self, owner: Principal, request: str, task_id: TaskId, until: datetime) -> bool:
        try:
            self._client.put_item(
                TableName=self.table_name,
                Item={
                    **_request_key(owner, request),
                    "task_id": {"S": task_id},
                    "expires_at": {"N": str(seconds_of(until))},
                },
                ConditionExpression=f"{_IS_NOT_CANCELLED} OR {_IS_OF_AN_EARLIER_CALL}",
                ExpressionAttributeValues={":task_id": {"S": task_id}},
            )
        except ClientError as error:
            if not is_failed_condition(error):
                raise
            return False
        return True

    def cancel_request(self, owner: Principal, request: str, until: datetime) -> TaskId | None:
        updated = self._client.update_item(
            TableName=self.table_name,
            Key=_request_key(owner, request),
            UpdateExpression="SET cancelled = :yes, expires_at = :expires",
            ExpressionAttributeValues={":yes": {"BOOL": True}, ":expires": {"N": str(seconds_of(until))}},
            ReturnValues="ALL_NEW",
        )
        found = cast(Item, updated.get("Attributes", {})).get("task_id")
        return None if found is None else TaskId(found["S"])

    def save(self, task: Task) -> Task:
        saved = divided(replace(task, version=task.version + 1))
        self._parts.write(saved)
        try:
            self._client.put_item(
                TableName=self.table_name,
                Item=saved.item,
                ConditionExpression=_IS_AS_LOADED,
                ExpressionAttributeValues={":version": {"N": str(task.version)}},
            )
        except ClientError as error:
            if not is_failed_condition(error):
                raise
            raise SaveConflict from None
        return saved.head

    def delete(self, task: Task) -> bool:
        created_at = {"N": str(milliseconds_of(task.created_at))}
        try:
            self._client.delete_item(
                TableName=self.table_name,
                Key=item_key(task.key),
                ConditionExpression=f"{_IS_AS_LOADED} AND {_IS_SAME_CREATION}",
                ExpressionAttributeValues={":version": {"N": str(task.version)}, ":created_at": created_at},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if not is_failed_condition(error):
                raise
            return not item_found(error)
        return True

    def unchecked_since(self, since: datetime, after: str | None) -> UncheckedPage:
        """Return a page of tasks that were last checked before then, with tasks from every shard that has more."""
        cursors: dict[str, Item | None] = dict.fromkeys(SHARDS) if after is None else json.loads(after)
        keys, more = list[TaskKey](), dict[str, Item]()
        for shard, last in cursors.items():
            start: dict[str, Any] = {} if last is None else {"ExclusiveStartKey": last}
            found = self._client.query(
                TableName=self.table_name,
                IndexName=NEGLECTED_INDEX,
                # `open` is a reserved word of DynamoDB.
                KeyConditionExpression="#open = :shard AND checked_at <= :since",
                ExpressionAttributeNames={"#open": "open"},
                ExpressionAttributeValues={":shard": {"S": shard}, ":since": {"N": str(milliseconds_of(since))}},
                Limit=_PAGE // len(SHARDS),
                **start,
            )
            keys += [task_key_from_item(cast(Item, item)) for item in found["Items"]]
            if "LastEvaluatedKey" in found:
                more[shard] = cast(Item, found["LastEvaluatedKey"])
        return UncheckedPage(tuple(keys), json.dumps(more) if more else None)

    def bookmark(self) -> str | None:
        found = self._client.get_item(TableName=self.table_name, Key=_BOOKMARK, ConsistentRead=True)
        item = cast(Item | None, found.get("Item"))
        return item["after"]["S"] if item else None

    def save_bookmark(self, after: str | None) -> None:
        if after is None:
            self._client.delete_item(TableName=self.table_name, Key=_BOOKMARK)
        else:
            self._client.put_item(TableName=self.table_name, Item={**_BOOKMARK, "after": {"S": after}})

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        """Return a page of an owner's tasks, newest first; ids sort by age."""
        start: dict[str, Any] = {"ExclusiveStartKey": item_key(TaskKey(owner, after))} if after else {}
        response = self._client.query(
            TableName=self.table_name,
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


def _item_of_claim(claim: KeyClaim) -> Item:
    return {
        "task_id": {"S": claim.task_id},
        "call": {"S": claim.call_digest},
        "claimed_at": {"N": str(milliseconds_of(claim.claimed_at))},
        "expires_at": {"N": str(seconds_of(claim.expires_at))},
    }


def _claim_of(item: Item) -> KeyClaim:
    claimed_at = moment_of(int(item["claimed_at"]["N"]))
    expires_at = moment_of_seconds(int(item["expires_at"]["N"]))
    return KeyClaim(TaskId(item["task_id"]["S"]), item["call"]["S"], claimed_at, expires_at)


def _idempotency_item_key(owner: Principal, digest: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": f"key#{digest}"}}


def _request_key(owner: Principal, request: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": f"request#{request}"}}
