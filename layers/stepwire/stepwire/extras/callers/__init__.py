"""One caller: an operator blocks it, and exports and erases what is held of it.

Exporting and erasing are the command's (`stepwire caller`), with the operator's own rights. Here are the list of
blocked callers, which every function that serves callers asks, and the commands that change it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from stepwire.hooks import Extra, Ground

if TYPE_CHECKING:
    from stepwire.aws.storage.table import Table
    from stepwire.background.commands import Commands
    from stepwire.engine.ports import Refuses


def _refuses(table: "Table", report: Callable[[Exception], None]) -> "Refuses":
    from stepwire.extras.callers.blocks import Blocks
    from stepwire.extras.callers.storage import DynamoDbBlocks

    return Blocks(DynamoDbBlocks(table).read, report)


def _commands(ground: Ground) -> "Commands":
    from stepwire.extras.callers.commands import commands_of
    from stepwire.extras.callers.storage import DynamoDbBlocks

    return commands_of(DynamoDbBlocks(ground.table))


EXTRA: Final = Extra(name="callers", refuses=_refuses, commands=_commands)
