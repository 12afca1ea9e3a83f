"""Which callers an operator has blocked, as `stepwire caller show` says it.

Only read: operators block with `stepwire caller`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from stepwire.extras.callers.storage import Block, DynamoDbBlocks, block_in, record_key
from stepwire.rendering import timestamp
from stepwire_local.extras import Extra, Part, Shown, Stack, table_of


def _blocked(stack: Stack, tasks: Sequence[Shown]) -> Mapping[str, Shown]:
    """Return since when, by whom and why the callers of tasks are blocked; of those who are not, nothing."""
    table = table_of(stack)
    if table is None:
        return {}
    blocked = {one["caller"] for one in tasks} & DynamoDbBlocks(table).read()
    found = {one: _shown(block_in(table.get(record_key(one)))) for one in blocked}
    return {one["taskId"]: found[one["caller"]] for one in tasks if one["caller"] in found}


def _shown(block: Block) -> Shown:
    return {"since": block.since and timestamp(block.since), "operator": block.operator, "reason": block.reason}


EXTRA: Final = Extra(
    part=lambda stack: Part(of_tasks=("blocked", lambda tasks: _blocked(stack, tasks))),
    script=Path(__file__).with_name("callers.js"),
)
