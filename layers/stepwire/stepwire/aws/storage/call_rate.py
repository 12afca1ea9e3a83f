"""The rate of a caller's calls that create no task: part of the same limit, in the same item as that of tasks.

Loaded with the first such call. `task_store` reserves a slot and a part of the rate in one write; here is no slot.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from stepwire.aws.storage.conditions import is_failed_condition, item_found
from stepwire.aws.storage.usage import MOST_TRIES, counting, usage_of
from stepwire.errors import NotAdmitted, StoreBusy
from stepwire.lean_dataclasses import dataclass
from stepwire.principal import Principal
from stepwire.tasks.usage import Limits, TooFast, Usage, pace_after

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


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
        for _ in range(MOST_TRIES):
            try:
                self._client.update_item(**counting(self.table_name, owner, limits, usage, at))
            except Exception as error:
                if not is_failed_condition(error):
                    raise
                usage = usage_of(item_found(error))
                decided = pace_after(usage, limits, at)
                if isinstance(decided, TooFast):
                    raise NotAdmitted(decided) from None
            else:
                return
        raise StoreBusy
