"""What `stepwire upgrade --with` says of blocked callers, before it lets them in."""

from packages.command.tests.operated import OWNER
from packages.command.tests.table import TableOfAnEndpoint
from stepwire.extras.callers.storage import Block, DynamoDbBlocks
from stepwire.principal import Principal

OTHER = Principal("0" * 32)


def test_blocked_callers_are_counted_until_none_is_left(table: TableOfAnEndpoint) -> None:
    blocks, counts = DynamoDbBlocks(table.table), list[dict[str, str]]()
    for change in (lambda: blocks.block(OWNER, Block()), lambda: blocks.block(OTHER, Block())):
        change()
        counts.append(table.seen("callers"))
    for one in (OWNER, OTHER):
        blocks.unblock(one)
    counts.append(table.seen("callers"))

    assert counts == [{"blocked callers": "1"}, {"blocked callers": "2"}, {}]
