"""Tables for tasks in the simulated account, with the keys and the index of the table in template.yaml.

And what their items cost: the size of an item is computed as DynamoDB computes it.
"""

from itertools import count
from typing import Any, Final

from moto.dynamodb.models import dynamodb_backends

from stepwire.aws.storage.table import Item
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.template.document import resource

_SHAPE: Final = ("AttributeDefinitions", "BillingMode", "GlobalSecondaryIndexes", "KeySchema")
_MOST_OF_A_NUMBER: Final = 21  # bytes
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
    """Return moto's object of a table; reading it takes a tenth of the time of a call."""
    return dynamodb_backends[ACCOUNT][REGION].tables[name]


def size_of(item: Item) -> int:
    """Return the size of an item in bytes, as DynamoDB computes it."""
    return sum(len(name.encode()) + _size_of_value(value) for name, value in item.items())


def read_units(item: Item) -> int:
    """Return what a strongly consistent read of an item costs."""
    return -(-size_of(item) // 4096)


def write_units(item: Item) -> int:
    """Return what a write of an item costs, if the item is not larger than the one that it replaces."""
    return -(-size_of(item) // 1024)


def _size_of_value(value: dict[str, Any]) -> int:
    """Return the size of a value; of a number, an upper bound."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return min(_MOST_OF_A_NUMBER, len(content) // 2 + 2)
        case "SS":
            return sum(len(text.encode()) for text in content)
        case "BOOL":
            return 1
        case _:
            raise NotImplementedError(kind)
