"""For the tests of the template: the partitions of lines. No parameter switches them on or off."""

from typing import Final

OFF: Final[dict[str, str]] = {}
ON: Final[dict[str, str]] = {}
QUEUES: Final[tuple[str, ...]] = ()
VARIABLES: Final[dict[str, str]] = {}
ACTIONS: Final[tuple[str, ...]] = ()
WITH_TASKS: Final = ("lines", "line#*")
"""Partitions that are written in the transactions of tasks."""
PARTITIONS: Final = {
    "ExecutionEventsFunction.FindTheNextInLine": ["?" * 32, *WITH_TASKS],
    "ExpirationsFunction.GiveTurnsToTheNextInLine": [*WITH_TASKS],
    "SweepFunction.MendLines": [*WITH_TASKS],
}
"""Of the table, which a statement of a policy may reach."""
WILDCARDS: Final[dict[str, str]] = {}
