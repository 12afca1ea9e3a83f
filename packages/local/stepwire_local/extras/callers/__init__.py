"""Which callers an operator has blocked, as `stepwire caller show` says it.

Only read: operators block with `stepwire caller`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from stepwire.extras.callers.storage import DynamoDbBlocks, block_in, record_key
from stepwire.principal import Principal
from stepwire.rendering import timestamp
from stepwire_local.console.table import table_of
from stepwire_local.stack import LocalStack


def blocked_among(stack: LocalStack, callers: Iterable[Principal]) -> Mapping[Principal, Mapping[str, Any]]:
    """Return since when, by whom and why each of some callers is blocked; of those who are not, nothing."""
    table = table_of(stack)
    if table is None:
        return {}
    found = frozenset(callers) & DynamoDbBlocks(table).read()
    noted = {one: block_in(table.get(record_key(one))) for one in found}
    return {
        one: {"since": by.since and timestamp(by.since), "operator": by.operator, "reason": by.reason}
        for one, by in noted.items()
    }
