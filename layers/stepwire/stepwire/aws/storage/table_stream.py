"""Read the stream of the task table: tasks that DynamoDB deleted when their TTL passed."""

from typing import Any, Final

from stepwire.aws.storage.items import TASK_PREFIX, task_of
from stepwire.json_text import as_object
from stepwire.tasks.task import Task

_BY_TTL: Final = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def expired_task_of(record: dict[str, Any]) -> Task | None:
    """Return the last state of an expired task; None for every other record."""
    item = as_object(record["dynamodb"].get("OldImage"))
    is_task = str(as_object(item.get("sk")).get("S")).startswith(TASK_PREFIX)
    return task_of(item) if is_expiry(record) and is_task else None


def is_expiry(record: dict[str, Any]) -> bool:
    """Tell whether DynamoDB deleted the item because its TTL had passed."""
    identity = as_object(record.get("userIdentity"))
    return record["eventName"] == "REMOVE" and {key: identity.get(key) for key in _BY_TTL} == _BY_TTL
