"""For the tests of the template: what switches the extra off, and what it adds to functions of the core."""

from typing import Final

OFF: Final = {"Events": "off"}
ON: Final = {"Events": "on"}
QUEUES: Final = ("WebhookQueue",)
VARIABLES: Final = {"WEBHOOK_QUEUE": "WebhookQueue"}
"""Of function status_changes, as a stack resolves them."""
ACTIONS: Final[tuple[str, ...]] = ()
"""That function status_changes may do however much is switched off."""
_A_CALLER: Final = "?" * 32
WITH_TASKS: Final[tuple[str, ...]] = ()
"""Partitions that are written in the transactions of tasks."""
PARTITIONS: Final = {
    "StatusChangesFunction.RecordEvents": [_A_CALLER],
    "WebhooksFunction.ReadEvents": [_A_CALLER],
}
"""Of the table, which a statement of a policy may reach."""
WILDCARDS: Final[dict[str, str]] = {}
"""Permissions with a wildcard, and why they cannot be narrower."""
