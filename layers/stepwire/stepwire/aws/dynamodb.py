"""The store on DynamoDB: one item a task, under its owner, and every write conditional on the version read.

Reads are strongly consistent: what a caller was told is there is there (X8). `stepwire.aws.items` has the shape.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import ClientError

from stepwire.aws.items import TASK_PREFIX, Item, item_of, key_of, seconds_of, task_of
from stepwire.errors import SaveConflict, StoreBusy, TaskExists
from stepwire.ports import Followed, TaskPage
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.task import Task

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_IS_NEW: Final = "attribute_not_exists(pk)"
_IS_AS_LOADED: Final = "version = :version"


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
        return Followed(task_of(found) if found else None, request_key["sk"]["S"] in items)

    def cancel_request(self, owner: Principal, request: str, until: datetime) -> None:
        """Remember that a request was cancelled."""
        item = {**_request_key(owner, request), "expires_at": {"N": str(seconds_of(until))}}
        self._client.put_item(TableName=self.table_name, Item=item)

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

    def delete(self, task: Task) -> None:
        """Remove a task that nobody else has saved since."""
        try:
            self._client.delete_item(
                TableName=self.table_name,
                Key=key_of(task.key),
                ConditionExpression=_IS_AS_LOADED,
                ExpressionAttributeValues={":version": {"N": str(task.version)}},
            )
        except ClientError as error:
            expected = SaveConflict()
            if _unless_condition_failed(error, expected) is not expected:
                raise

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
        return TaskPage(tasks, TaskId(last["sk"]["S"].removeprefix(TASK_PREFIX)) if last else None)


def _unless_condition_failed(error: ClientError, expected: Exception) -> Exception:
    return expected if error.response.get("Error", {}).get("Code") == "ConditionalCheckFailedException" else error


def _request_key(owner: Principal, request: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": f"cancelled#{request}"}}
