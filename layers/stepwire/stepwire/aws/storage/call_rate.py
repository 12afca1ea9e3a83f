"""The rate of a caller's calls that create no task: part of the same limit, in the same items as that of tasks.

Loaded with the first such call. `usage` reserves a slot and a part of the rate in one write; here is no slot.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from stepwire.aws.storage.usage import CallerUsage
from stepwire.principal import Principal
from stepwire.tasks.usage import Limits

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoDbCallRate(Struct, frozen=True, dict=True):
    """`CallRate` in a DynamoDB table. The client is built on the first call."""

    table_name: str
    build_client: "Callable[[], DynamoDBClient]"

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self.build_client()

    def count(self, owner: Principal, limits: Limits, at: datetime) -> None:
        CallerUsage(self.table_name, lambda: self._client).count(owner, limits, at)
