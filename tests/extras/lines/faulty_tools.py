"""For the catalog of tests/faults: a tool with a limit."""

from typing import Final

from msgspec.structs import replace

from stepwire.extras.lines.limits import Concurrency, Rules
from tests.kits import OPTIONAL, keeping

MOST_AT_ONCE: Final = 1
LIMITED: Final = keeping(replace(OPTIONAL, name="limited"), lines=Concurrency("limited", Rules(most=MOST_AT_ONCE)))
TOOLS: Final = (LIMITED,)
SWEPT: Final = ("Query lines",)
"""The calls with which the sweep begins for it."""
