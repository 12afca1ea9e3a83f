"""The rate of a caller's calls that create no task: part of the same limit, in the same item as that of tasks.

Loaded with the first such call. `task_store` reserves a slot and a part of the rate in one write; here is no slot.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from stepwire.aws.storage.conditions import is_failed_condition, item_found
from stepwire.aws.storage.items import milliseconds_of, moment_of, seconds_of, usage_key
from stepwire.errors import NotAdmitted, StoreBusy
from stepwire.principal import Principal
from stepwire.tasks.usage import Limits, TooFast, Usage, is_idle, pace_after

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_IS_IDLE: Final = "(attribute_not_exists(paced_until) OR paced_until <= :now)"
_IS_IN_PACE: Final = "paced_until > :now AND paced_until <= :horizon"
_MOST_TRIES: Final = 5
_RETENTION: Final = timedelta(days=31)  # as in `task_store`


@dataclass(frozen=True)
class DynamoDbCallRate:
    """The rate in a DynamoDB table. The client is built on the first call."""

    table_name: str
    build_client: "Callable[[], DynamoDBClient]"

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self.build_client()

    def count(self, owner: Principal, limits: Limits, at: datetime) -> None:
        """Count a call, or refuse it."""
        usage = Usage()
        for _ in range(_MOST_TRIES):
            try:
                self._client.update_item(**self._counting(owner, limits, usage, at))
            except Exception as error:
                if not is_failed_condition(error):
                    raise
                usage = _usage_of(item_found(error))
                decided = pace_after(usage, limits, at)
                if isinstance(decided, TooFast):
                    raise NotAdmitted(decided) from None
            else:
                return
        raise StoreBusy

    def _counting(self, owner: Principal, limits: Limits, usage: Usage, at: datetime) -> dict[str, Any]:
        """Return the update: a busy caller's rate goes on, so that concurrent calls all count; an idle one's begins."""
        now, pace = milliseconds_of(at), limits.pace // timedelta(milliseconds=1)
        values = {":now": {"N": str(now)}, ":expires": {"N": str(seconds_of(at + _RETENTION))}}
        if is_idle(usage, at):
            paced, condition = ":next", _IS_IDLE
            values[":next"] = {"N": str(now + pace)}
        else:
            paced, condition = "paced_until + :pace", _IS_IN_PACE
            values |= {":pace": {"N": str(pace)}, ":horizon": {"N": str(now + 60_000 - pace)}}
        return {
            "TableName": self.table_name,
            "Key": usage_key(owner),
            "UpdateExpression": f"SET paced_until = {paced}, expires_at = :expires",
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }


def _usage_of(item: dict[str, Any]) -> Usage:
    paced = item.get("paced_until")
    return Usage(paced_until=None if paced is None else moment_of(int(paced["N"]) / 1000))
