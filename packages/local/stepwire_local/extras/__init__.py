"""The table of the endpoint, as the console reads it: at each look, so it is what is true now."""

from typing import Final

from stepwire.aws.storage.table import Table
from stepwire_local.stack import LocalStack

_TABLE: Final = "TasksTable"


def table_of(stack: LocalStack) -> Table | None:
    """Return the endpoint's table; None: the stack is somebody else's."""
    name = stack.physical_ids.get(_TABLE)
    return None if name is None else Table(name, lambda: stack.client("dynamodb"))
