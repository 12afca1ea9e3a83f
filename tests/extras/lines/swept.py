"""For benchmarks/cost/calls.py: how the sweep finds that nobody waits."""

from typing import Final

CALLS: Final = ("Query",)
