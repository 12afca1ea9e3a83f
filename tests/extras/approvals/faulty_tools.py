"""For the catalog of tests/faults: a tool whose workflow asks others than its caller."""

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from stepwire.extras.approvals.rules import Approvers, HasScope, People
from tests.kits import OPTIONAL, keeping

APPROVED: Final = keeping(
    replace(OPTIONAL, name="approved"), approvals=Approvers(People((HasScope("finance"),)), remind=timedelta(hours=1))
)
TOOLS: Final = (APPROVED,)
SWEPT: Final = ()
"""The calls with which the sweep begins for it."""
