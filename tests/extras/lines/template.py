"""For the tests of the template: the partitions of lines. No parameter switches them on or off."""

from typing import Final

from tests.template.of_extras import InTemplate

_LINES: Final = ["lines", "line#*"]
TEMPLATE: Final = InTemplate(
    partitions={
        "ExecutionEventsFunction.GiveTurnsToTheNextInLine": _LINES,
        "ExpirationsFunction.GiveTurnsToTheNextInLine": _LINES,
        "OperatorFunction.GiveTurnsToTheNextInLine": _LINES,
        "SweepFunction.MendLines": _LINES,
    },
)
