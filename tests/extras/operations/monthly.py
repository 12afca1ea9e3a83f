"""For benchmarks/cost/idle.py: what the hourly call of the probe costs each month."""

from typing import Final

from benchmarks.cost import calls, prices
from benchmarks.cost.simulation import WHOLE_PROCESSOR, Assumptions
from tests.template.chosen import Stack
from tests.template.document import FUNCTION

MOST: Final = {"ProbeTool": "canary"}
_PROBED: Final = 2.0
"""Seconds that a call of the probe waits, for the sign-in and for a workflow of a second."""
_STATES: Final = 3
"""State transitions of its workflow."""


def _probe(made: Stack) -> float:
    """Return the cost of one plain call each hour, with its workflow, and of the functions that make and answer it."""
    if "ProbeFunction" not in made.all_of(FUNCTION):
        return 0.0
    assumed = Assumptions()
    memory = assumed.background_memory + int(made.properties("McpFunction")["MemorySize"])
    gigabyte_seconds = 2 * assumed.cold_start * WHOLE_PROCESSOR / 1024 + _PROBED * memory / 1024
    every_call = (*calls.PLAIN, *calls.WAIT, *calls.END)
    reads = every_call.count("GetItem")
    return prices.HOURS * (
        prices.LAMBDA_REQUEST.of(3)
        + prices.LAMBDA_SECOND.of(gigabyte_seconds)
        + prices.HTTP_API.of(1)
        + prices.WRITE.of(len(every_call) - reads - every_call.count("StartExecution"))
        + prices.READ.of(reads)
        + prices.TRANSITION.of(_STATES)
        + prices.LOG.of(6 * assumed.audit_line)
    )


PARTS: Final = {"the hourly call of the probe": _probe}
