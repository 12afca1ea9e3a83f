"""The store on DynamoDB: one item a task, under its owner, and every write conditional on the version read.

    pk  the principal           sk  "task#" + the task's id        expires_at  epoch seconds, the table's TTL

Reads are strongly consistent: what a caller was told is there is there (X8). An item that a later version wrote with
more attributes loses them when this one saves it; so a change of shape raises `format` and is read by both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from botocore.exceptions import ClientError

from stepwire.errors import SaveConflict, TaskExists
from stepwire.json_text import read_back, write
from stepwire.ports import TaskPage
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    Failed,
    ResultInExecution,
    Status,
    Task,
    TaskError,
    ToolResult,
    Work,
    Working,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item: TypeAlias = dict[str, Any]
"""An item as DynamoDB's API writes it: {"name": {"S": "text"}, ...}."""

FORMAT: Final = 1
_PREFIX: Final = "task#"
_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

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
        response = self._client.get_item(TableName=self.table_name, Key=_key_of(key), ConsistentRead=True)
        item = response.get("Item")
        return task_of(cast(Item, item)) if item else None

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
                Key=_key_of(task.key),
                ConditionExpression=_IS_AS_LOADED,
                ExpressionAttributeValues={":version": {"N": str(task.version)}},
            )
        except ClientError as error:
            expected = SaveConflict()
            if _unless_condition_failed(error, expected) is not expected:
                raise

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        """Read some of an owner's tasks, newest first: ids sort by age."""
        start: dict[str, Any] = {"ExclusiveStartKey": _key_of(TaskKey(owner, after))} if after else {}
        response = self._client.query(
            TableName=self.table_name,
            KeyConditionExpression="pk = :owner AND begins_with(sk, :prefix)",
            ExpressionAttributeValues={":owner": {"S": owner}, ":prefix": {"S": _PREFIX}},
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit,
            **start,
        )
        last = cast(Item | None, response.get("LastEvaluatedKey"))
        tasks = tuple(task_of(cast(Item, item)) for item in response["Items"])
        return TaskPage(tasks, TaskId(last["sk"]["S"].removeprefix(_PREFIX)) if last else None)


def item_of(task: Task) -> Item:
    """Write a task as an item."""
    texts = {
        "tool": task.work.tool,
        "state_machine_arn": task.work.state_machine_arn,
        "input": task.work.input,
        "output_schema": task.work.output_schema,
        **_texts_of(task.status),
    }
    numbers = {
        "format": FORMAT,
        "version": task.version,
        "created_at": _milliseconds(task.created_at),
        "last_updated_at": _milliseconds(task.last_updated_at),
        "checked_at": _milliseconds(task.checked_at),
        "ttl_ms": task.ttl // _MILLISECOND,
        "poll_interval_ms": task.poll_interval // _MILLISECOND,
        # Rounded up: DynamoDB may delete from this second on, and no reader may still see the task then.
        "expires_at": -(-_milliseconds(task.expires_at) // 1000),
    }
    return {
        **_key_of(task.key),
        **{name: {"S": value} for name, value in texts.items() if value is not None},
        **{name: {"N": str(value)} for name, value in numbers.items()},
    }


def task_of(item: Item) -> Task:
    """Read a task from its item."""
    return Task(
        owner=Principal(item["pk"]["S"]),
        task_id=TaskId(item["sk"]["S"].removeprefix(_PREFIX)),
        work=Work(
            _text(item, "tool"), _text(item, "state_machine_arn"), _text(item, "input"), _maybe(item, "output_schema")
        ),
        status=_status_of(item),
        created_at=_moment(item, "created_at"),
        last_updated_at=_moment(item, "last_updated_at"),
        ttl=_number(item, "ttl_ms") * _MILLISECOND,
        poll_interval=_number(item, "poll_interval_ms") * _MILLISECOND,
        checked_at=_moment(item, "checked_at"),
        version=_number(item, "version"),
    )


def _texts_of(status: Status) -> Mapping[str, str | None]:
    match status:
        case Working(message):
            return {"status": "working", "message": message}
        case Completed(result, message):
            text = result.text if isinstance(result, ToolResult) else None
            return {"status": _completed(is_error=result.is_error), "message": message, "result": text}
        case Failed(TaskError(code, words, data), message):
            return {"status": "failed", "message": message, "error": write([code, words, data])}
        case Cancelled(message):
            return {"status": "cancelled", "message": message}


def _status_of(item: Item) -> Status:
    message = _maybe(item, "message")
    match _text(item, "status"):
        case "completed" | "completed_with_error" as status:
            is_error = status == _completed(is_error=True)
            text = _maybe(item, "result")
            return Completed(ResultInExecution(is_error) if text is None else ToolResult(text, is_error), message)
        case "failed":
            return Failed(TaskError(*read_back(_text(item, "error"))), message)
        case "cancelled":
            return Cancelled(message)
        case _:
            return Working(message)


def _completed(*, is_error: bool) -> str:
    return "completed_with_error" if is_error else "completed"


def _key_of(key: TaskKey) -> Item:
    return {"pk": {"S": key.owner}, "sk": {"S": _PREFIX + key.task_id}}


def _text(item: Item, name: str) -> str:
    return item[name]["S"]


def _maybe(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None


def _number(item: Item, name: str) -> int:
    return int(item[name]["N"])


def _moment(item: Item, name: str) -> datetime:
    return _EPOCH + _number(item, name) * _MILLISECOND


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND


def _unless_condition_failed(error: ClientError, expected: Exception) -> Exception:
    return expected if error.response.get("Error", {}).get("Code") == "ConditionalCheckFailedException" else error
