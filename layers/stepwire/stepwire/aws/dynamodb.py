"""The store on DynamoDB: one item a task, under its owner, and every write conditional on the version read.

Reads are strongly consistent: what a caller was told is there is there (X8). `stepwire.aws.items` has the shape.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import BotoCoreError, ClientError

from stepwire.aws.items import (
    NEGLECTED_INDEX,
    SHARDS,
    TASK_PREFIX,
    Item,
    item_of,
    key_of,
    milliseconds_of,
    moment_of,
    seconds_of,
    task_key_of,
    task_of,
)
from stepwire.errors import NotAdmitted, SaveConflict, StoreBusy, TaskExists
from stepwire.ports import Followed, KeyClaim, NeglectedPage, TaskPage
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.task import Task
from stepwire.tasks.usage import RECLAIM_PAUSE, Limits, Usage, admitted, is_idle

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_IS_NEW: Final = "attribute_not_exists(pk)"
_IS_AS_LOADED: Final = "version = :version"
# A call that is repeated may make a task anew that was taken back: another one, though its id and version are the same.
_IS_THIS_ONE: Final = "created_at = :created_at"
_IS_IN_VAIN: Final = "task_id = :instead"
_IS_WANTED: Final = "attribute_not_exists(cancelled)"
# Clients may not use an id twice, but some do: what was cancelled then had a task.
_IS_OF_AN_EARLIER_CALL: Final = "(attribute_exists(task_id) AND task_id <> :task_id)"
_IS_RESERVED: Final = "contains(active, :text)"
_IS_LONG_UNRECLAIMED: Final = "attribute_exists(pk) AND (attribute_not_exists(reclaimed_at) OR reclaimed_at <= :before)"
_IS_IDLE: Final = "(attribute_not_exists(paced_until) OR paced_until <= :now)"
_IS_IN_PACE: Final = "paced_until > :now AND paced_until <= :horizon"
_HAS_A_SLOT: Final = "(attribute_not_exists(active) OR (size(active) < :most AND NOT contains(active, :text)))"
_FAILED: Final = SaveConflict()
# The caller turns from idle to busy, or back, at most once in a while; more than this is a fault of ours.
_MOST_TRIES: Final = 5
_PAGE: Final = 100  # tasks
_BOOKMARK: Final = {"pk": {"S": "sweep"}, "sk": {"S": "bookmark"}}  # no principal is written so
_USAGE_KEPT: Final = timedelta(days=31)  # longer than any task


@dataclass(frozen=True)
class DynamoDbTaskStore:
    """Tasks in a DynamoDB table. The client is built when the first call needs it."""

    table_name: str
    build_client: "Callable[[], DynamoDBClient]"

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self.build_client()

    def create(self, task: Task) -> Task:
        """Write a new task."""
        created = replace(task, version=1)
        item = item_of(created)
        try:
            self._client.put_item(
                TableName=self.table_name,
                Item=item,
                ConditionExpression=_IS_NEW,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            # The very same item is our own: an earlier try was heard, and its answer was lost.
            if error.response.get("Item") != item:
                raise _unless_condition_failed(error, TaskExists()) from None
        return created

    def claim_key(
        self, owner: Principal, digest: str, claim: KeyClaim, instead: TaskId | None = None
    ) -> KeyClaim | None:
        """Let an idempotency key stand for a task, unless it stands for one already."""
        replaced: dict[str, Any] = (
            {} if instead is None else {"ExpressionAttributeValues": {":instead": {"S": instead}}}
        )
        try:
            self._client.put_item(
                TableName=self.table_name,
                Item={**_key_key(owner, digest), **_claim_item(claim)},
                ConditionExpression=_IS_NEW if instead is None else f"{_IS_NEW} OR {_IS_IN_VAIN}",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **replaced,
            )
        except ClientError as error:
            if _unless_condition_failed(error, _FAILED) is not _FAILED:
                raise
            found = _claim_of(cast(Item, error.response.get("Item") or {}))
            # The very same is our own: an earlier try was heard, and its answer was lost.
            return None if (found.task_id, found.claimed_at) == (claim.task_id, claim.claimed_at) else found
        return None

    def keyed(self, owner: Principal, digest: str) -> KeyClaim | None:
        """Find the claim of an idempotency key."""
        found = self._client.get_item(TableName=self.table_name, Key=_key_key(owner, digest), ConsistentRead=True)
        item = cast(Item | None, found.get("Item"))
        return None if item is None else _claim_of(item)

    def reserve(self, key: TaskKey, limits: Limits, at: datetime) -> None:
        """Count a task among the active ones of its owner."""
        usage = Usage()
        for _ in range(_MOST_TRIES):
            try:
                self._client.update_item(**self._reservation(key, limits, usage, at))
            except ClientError as error:
                if _unless_condition_failed(error, _FAILED) is not _FAILED:
                    raise
                usage = usage_of(cast(Item, error.response.get("Item") or {}))
                if key.task_id in usage.active:
                    return
                refusal = admitted(usage, limits, key.task_id, at)
                if not isinstance(refusal, Usage):
                    raise NotAdmitted(refusal) from None
            else:
                return
        raise StoreBusy

    def _reservation(self, key: TaskKey, limits: Limits, usage: Usage, at: datetime) -> dict[str, Any]:
        """Write the one conditional update that counts a task.

        A busy caller's pace goes on from where it is, so that calls at one time all count; an idle one's begins now.
        """
        now, pace = milliseconds_of(at), limits.pace // timedelta(milliseconds=1)
        values: dict[str, Any] = {
            ":id": {"SS": [key.task_id]},
            ":text": {"S": key.task_id},
            ":most": {"N": str(limits.active)},
            ":now": {"N": str(now)},
            ":expires": {"N": str(seconds_of(at + _USAGE_KEPT))},
        }
        if is_idle(usage, at):
            paced, condition = ":next", _IS_IDLE
            values[":next"] = {"N": str(now + pace)}
        else:
            paced, condition = "paced_until + :pace", _IS_IN_PACE
            values |= {":pace": {"N": str(pace)}, ":horizon": {"N": str(now + 60_000 - pace)}}
        return {
            "TableName": self.table_name,
            "Key": _usage_key(key.owner),
            "UpdateExpression": f"SET paced_until = {paced}, expires_at = :expires ADD active :id",
            "ConditionExpression": f"{condition} AND {_HAS_A_SLOT}",
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def release(self, owner: Principal, task_ids: frozenset[TaskId]) -> None:
        """Count tasks no more."""
        try:
            self._client.update_item(
                TableName=self.table_name,
                Key=_usage_key(owner),
                UpdateExpression="DELETE active :ids",
                ExpressionAttributeValues={":ids": {"SS": sorted(task_ids)}},
            )
        except (ClientError, BotoCoreError) as error:
            raise StoreBusy from error

    def begin_reclaim(self, owner: Principal, at: datetime) -> bool:
        """Remember that slots are reclaimed now, unless that was tried lately."""
        now = milliseconds_of(at)
        try:
            self._client.update_item(
                TableName=self.table_name,
                Key=_usage_key(owner),
                UpdateExpression="SET reclaimed_at = :now",
                ConditionExpression=_IS_LONG_UNRECLAIMED,
                ExpressionAttributeValues={
                    ":now": {"N": str(now)},
                    ":before": {"N": str(now - RECLAIM_PAUSE // timedelta(milliseconds=1))},
                },
            )
        except (ClientError, BotoCoreError) as error:
            if isinstance(error, ClientError) and _unless_condition_failed(error, _FAILED) is _FAILED:
                return False
            raise StoreBusy from error
        return True

    def unreserve(self, key: TaskKey, limits: Limits) -> None:
        """Undo a reservation: only who takes the slot back takes back the pace, so that once is enough."""
        try:
            self._client.update_item(
                TableName=self.table_name,
                Key=_usage_key(key.owner),
                UpdateExpression="SET paced_until = paced_until - :pace DELETE active :id",
                ConditionExpression=_IS_RESERVED,
                ExpressionAttributeValues={
                    ":id": {"SS": [key.task_id]},
                    ":text": {"S": key.task_id},
                    ":pace": {"N": str(limits.pace // timedelta(milliseconds=1))},
                },
            )
        except (ClientError, BotoCoreError) as error:
            if isinstance(error, ClientError) and _unless_condition_failed(error, _FAILED) is _FAILED:
                return
            raise StoreBusy from error

    def several(self, owner: Principal, task_ids: frozenset[TaskId]) -> Mapping[TaskId, Task]:
        """Read several tasks."""
        keys: Any = [key_of(TaskKey(owner, task_id)) for task_id in sorted(task_ids)]
        wanted: dict[str, Any] = {self.table_name: {"Keys": keys, "ConsistentRead": True}}
        tasks: dict[TaskId, Task] = {}
        for _ in range(_MOST_TRIES):  # one answer holds 16 MB, and what it has no room for is asked for again
            answer = self._client.batch_get_item(RequestItems=wanted)
            found = (task_of(item) for item in cast(list[Item], answer["Responses"].get(self.table_name, [])))
            tasks |= {task.task_id: task for task in found}
            wanted = cast(dict[str, Any], answer.get("UnprocessedKeys") or {})
            if not wanted:
                return tasks
        raise StoreBusy

    def load(self, key: TaskKey) -> Task | None:
        """Read a task."""
        response = self._client.get_item(TableName=self.table_name, Key=key_of(key), ConsistentRead=True)
        item = response.get("Item")
        return task_of(cast(Item, item)) if item else None

    def load_followed(self, key: TaskKey, request: str) -> Followed:
        """Read a task, and whether a request that follows it was cancelled: one call for both."""
        request_key = _request_key(key.owner, request)
        answer = self._client.batch_get_item(
            RequestItems={self.table_name: {"Keys": [key_of(key), request_key], "ConsistentRead": True}}
        )
        if answer.get("UnprocessedKeys"):
            raise StoreBusy
        found_items = cast(list[Item], answer["Responses"].get(self.table_name, []))
        items = {item["sk"]["S"]: item for item in found_items}
        found = items.get(TASK_PREFIX + key.task_id)
        is_cancelled = "cancelled" in items.get(request_key["sk"]["S"], {})
        return Followed(task_of(found) if found else None, is_cancelled)

    def begin_request(self, owner: Principal, request: str, task_id: TaskId, until: datetime) -> bool:
        """Remember which task does the work of a request, unless it was cancelled."""
        try:
            self._client.put_item(
                TableName=self.table_name,
                Item={
                    **_request_key(owner, request),
                    "task_id": {"S": task_id},
                    "expires_at": {"N": str(seconds_of(until))},
                },
                ConditionExpression=f"{_IS_WANTED} OR {_IS_OF_AN_EARLIER_CALL}",
                ExpressionAttributeValues={":task_id": {"S": task_id}},
            )
        except ClientError as error:
            if _unless_condition_failed(error, _FAILED) is not _FAILED:
                raise
            return False
        return True

    def cancel_request(self, owner: Principal, request: str, until: datetime) -> TaskId | None:
        """Remember that a request was cancelled, and give the task that does its work."""
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
        """Write a task that nobody else has saved since."""
        saved = replace(task, version=task.version + 1)
        try:
            self._client.put_item(
                TableName=self.table_name,
                Item=item_of(saved),
                ConditionExpression=_IS_AS_LOADED,
                ExpressionAttributeValues={":version": {"N": str(task.version)}},
            )
        except ClientError as error:
            raise _unless_condition_failed(error, SaveConflict()) from None
        return saved

    def delete(self, task: Task) -> bool:
        """Remove a task that nobody else has saved since."""
        created_at = {"N": str(milliseconds_of(task.created_at))}
        try:
            self._client.delete_item(
                TableName=self.table_name,
                Key=key_of(task.key),
                ConditionExpression=f"{_IS_AS_LOADED} AND {_IS_THIS_ONE}",
                ExpressionAttributeValues={":version": {"N": str(task.version)}, ":created_at": created_at},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if _unless_condition_failed(error, _FAILED) is not _FAILED:
                raise
            return "Item" not in error.response
        return True

    def neglected(self, since: datetime, after: str | None) -> NeglectedPage:
        """List some tasks that go on and that nobody has looked after since then: some of each shard that has more."""
        places: dict[str, Item | None] = dict.fromkeys(SHARDS) if after is None else json.loads(after)
        keys, more = list[TaskKey](), dict[str, Item]()
        for shard, last in places.items():
            start: dict[str, Any] = {} if last is None else {"ExclusiveStartKey": last}
            found = self._client.query(
                TableName=self.table_name,
                IndexName=NEGLECTED_INDEX,
                # `open` is a word of DynamoDB's own.
                KeyConditionExpression="#open = :shard AND checked_at <= :since",
                ExpressionAttributeNames={"#open": "open"},
                ExpressionAttributeValues={":shard": {"S": shard}, ":since": {"N": str(milliseconds_of(since))}},
                Limit=_PAGE // len(SHARDS),
                **start,
            )
            keys += [task_key_of(cast(Item, item)) for item in found["Items"]]
            if "LastEvaluatedKey" in found:
                more[shard] = cast(Item, found["LastEvaluatedKey"])
        return NeglectedPage(tuple(keys), json.dumps(more) if more else None)

    def bookmark(self) -> str | None:
        """Give where the list of the neglected was left."""
        found = self._client.get_item(TableName=self.table_name, Key=_BOOKMARK, ConsistentRead=True)
        item = cast(Item | None, found.get("Item"))
        return item["after"]["S"] if item else None

    def keep_bookmark(self, after: str | None) -> None:
        """Remember where the list of the neglected is left."""
        if after is None:
            self._client.delete_item(TableName=self.table_name, Key=_BOOKMARK)
        else:
            self._client.put_item(TableName=self.table_name, Item={**_BOOKMARK, "after": {"S": after}})

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        """Read some of an owner's tasks, newest first: ids sort by age."""
        start: dict[str, Any] = {"ExclusiveStartKey": key_of(TaskKey(owner, after))} if after else {}
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
        return TaskPage(tasks, task_key_of(last).task_id if last else None)


def _unless_condition_failed(error: ClientError, expected: Exception) -> Exception:
    return expected if error.response.get("Error", {}).get("Code") == "ConditionalCheckFailedException" else error


def usage_of(item: Item) -> Usage:
    """Read what a caller uses; an empty item means nothing."""
    paced, reclaimed = (
        moment_of(int(item[name]["N"]) / 1000) if name in item else None for name in ("paced_until", "reclaimed_at")
    )
    return Usage(frozenset(map(TaskId, item.get("active", {}).get("SS", ()))), paced, reclaimed)


def _claim_item(claim: KeyClaim) -> Item:
    return {
        "task_id": {"S": claim.task_id},
        "call": {"S": claim.call_digest},
        "claimed_at": {"N": str(milliseconds_of(claim.claimed_at))},
        "expires_at": {"N": str(seconds_of(claim.expires_at))},
    }


def _claim_of(item: Item) -> KeyClaim:
    # An earlier version wrote the key together with its task: without a time, it was long ago.
    claimed_at = moment_of(int(item["claimed_at"]["N"]) / 1000) if "claimed_at" in item else moment_of(0)
    expires_at = moment_of(int(item["expires_at"]["N"]))
    return KeyClaim(TaskId(item["task_id"]["S"]), item["call"]["S"], claimed_at, expires_at)


def _key_key(owner: Principal, digest: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": f"key#{digest}"}}


def _usage_key(owner: Principal) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": "usage"}}


def _request_key(owner: Principal, request: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": f"request#{request}"}}
