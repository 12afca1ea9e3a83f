"""Tables for tasks in the simulated account, with the keys and the index of the table in template.yaml."""

from itertools import count
from typing import Any, Final

from moto.dynamodb.models import dynamodb_backends

from local.account.engine import ACCOUNT
from local.account.isolation import REGION
from local.iam.clients import aws_client
from tests.template.document import resource

_SHAPE: Final = ("AttributeDefinitions", "BillingMode", "GlobalSecondaryIndexes", "KeySchema")
_numbers = count(1)


def new_table() -> str:
    """Create a table and return its name."""
    name = f"tasks-{next(_numbers)}"
    properties = resource("TasksTable").properties
    shape: dict[str, Any] = {part: properties[part] for part in _SHAPE}
    dynamodb: Any = aws_client("dynamodb", REGION)
    dynamodb.create_table(TableName=name, **shape)
    return name


def table_behind(name: str) -> Any:
    """Return moto's object of a table; reading it takes a tenth of the time of a call.

    Call this again for each read: a transaction that fails replaces the object.
    """
    return dynamodb_backends[ACCOUNT][REGION].tables[name]
