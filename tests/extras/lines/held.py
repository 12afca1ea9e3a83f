"""For the tests of what is held of a caller: what a line remembers of one whose task has waited there."""

from datetime import datetime
from typing import Final

from stepwire.aws.storage.table import Table
from stepwire.principal import Principal

KINDS: Final = ()
BESIDE: Final = 1  # below the line


def hold(table: Table, owner: Principal, at: datetime) -> None:
    """Store one of everything for a caller, whose task has waited in the line `pool:a`."""
    share = {"pk": {"S": "line#pool:a"}, "sk": {"S": f"share#{owner}"}, "waiting": {"N": "0"}, "round": {"N": "3"}}
    table.put(share)
