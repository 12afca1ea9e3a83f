"""For the tests of the template: what function status_changes may do for approvers who have events."""

from typing import Final

OFF: Final[dict[str, str]] = {}
ON: Final[dict[str, str]] = {}
QUEUES: Final[tuple[str, ...]] = ()
VARIABLES: Final[dict[str, str]] = {}
ACTIONS: Final[tuple[str, ...]] = ()
WITH_TASKS: Final[tuple[str, ...]] = ()
PARTITIONS: Final = {"StatusChangesFunction.FindApproversWhoListen": ["subscribers#*"]}
"""Of the table, which a statement of a policy may reach."""
WILDCARDS: Final[dict[str, str]] = {}
