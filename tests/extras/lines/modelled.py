"""For tests/model: the tools that share a limit, and what their line counts."""

from typing import Final

from msgspec.structs import replace

from stepwire.aws.storage.table import Table
from stepwire.catalog.tools import Tool
from stepwire.extras.lines.limits import Concurrency, Rules, line_key
from stepwire.extras.lines.storage import DynamoDbLines
from tests.kits import keeping

_POOL: Final = "limited"


def tools(plain: Tool, retried: Tool, most: int) -> tuple[Tool, ...]:
    """Return a tool with a limit, and one that is retried and shares it."""
    limit = Concurrency(_POOL, Rules(most=most), shared_with=("limited_retried",))
    return (
        keeping(replace(plain, name="limited"), lines=limit),
        keeping(replace(retried, name="limited_retried"), lines=Concurrency(_POOL)),
    )


def counted(table: Table) -> tuple[int, int]:
    """Return how many turns of the only line are held, and how many runs wait, as it counts them."""
    line = DynamoDbLines(table).line(line_key(_POOL))
    return (0, 0) if line is None else (line.held, line.waiting)
