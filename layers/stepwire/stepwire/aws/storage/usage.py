"""What a caller uses, in one item: the slots of its active tasks, and the rate at which it calls."""

from datetime import datetime, timedelta
from typing import Any, Final

from stepwire.aws.storage.items import Item, usage_key
from stepwire.aws.storage.times import MILLISECOND, milliseconds_of, moment_of, seconds_of
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId
from stepwire.tasks.usage import Limits, Usage, is_idle

# A caller changes between idle and busy rarely; more retries than this mean a fault of ours.
MOST_TRIES: Final = 5
_IS_IDLE: Final = "(attribute_not_exists(paced_until) OR paced_until <= :now)"
_IS_IN_PACE: Final = "paced_until > :now AND paced_until <= :horizon"
_RETENTION: Final = timedelta(days=31)  # longer than any task


def usage_of(item: Item) -> Usage:
    """Return a caller's usage from its item, which may be empty."""
    paced, reclaimed = (
        moment_of(int(item[name]["N"])) if name in item else None for name in ("paced_until", "reclaimed_at")
    )
    return Usage(frozenset(map(TaskId, item.get("active", {}).get("SS", ()))), paced, reclaimed)


def counting(table_name: str, owner: Principal, limits: Limits, usage: Usage, at: datetime) -> dict[str, Any]:
    """Return the conditional update that counts one more call of an owner whose usage is thought to be this.

    A busy caller's theoretical arrival time is increased, so that concurrent calls all count; an idle one's is set.
    """
    now, pace = milliseconds_of(at), limits.pace // MILLISECOND
    values = {":now": {"N": str(now)}, ":expires": {"N": str(seconds_of(at + _RETENTION))}}
    if is_idle(usage, at):
        paced, condition = ":next", _IS_IDLE
        values[":next"] = {"N": str(now + pace)}
    else:
        paced, condition = "paced_until + :pace", _IS_IN_PACE
        values |= {":pace": {"N": str(pace)}, ":horizon": {"N": str(now + 60_000 - pace)}}
    return {
        "TableName": table_name,
        "Key": usage_key(owner),
        "UpdateExpression": f"SET paced_until = {paced}, expires_at = :expires",
        "ConditionExpression": condition,
        "ExpressionAttributeValues": values,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
